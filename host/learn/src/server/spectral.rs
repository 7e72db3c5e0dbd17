//! The spectral step: momentum over rounds, and for every layer a step along the orthogonalised momentum
//! whose length follows from the layer's first weights. No setting depends on the network.
//!
//! The orthogonalised momentum is that of Muon (Jordan et al., 2024). The base station takes the step
//! once a round; clients are not involved.

use super::State;
use super::layer::{Layer, distance, length};
use super::orthogonal::orthogonalise;
use crate::aggregate::{Contribution, Rule};
use crate::train::Kernel;

/// Settings of the spectral step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectral {
    /// The clients' learning rate eta: an update over eta tau_i is a gradient.
    pub learning_rate: f64,
    /// The largest share mu of the last momentum that is kept.
    pub momentum: f64,
    /// The length c of a step, relative to a layer's first weights.
    pub step: f64,
    /// The longest gradient, relative to the median of all clients' last ones.
    pub clip: f64,
    /// Whether steps shrink when rounds cancel each other; otherwise q is always 1.
    pub anneal: bool,
}

impl Spectral {
    /// Returns the length ||W_0||_F of every layer's first weights. Where those are all zero it is the
    /// length they are expected to have when drawn from +-1 / sqrt(rows): sqrt(columns / 3).
    pub(super) fn sizes(layers: &[Layer], first: &[f32]) -> Vec<f64> {
        let size = |layer: &Layer| {
            let drawn = length(&first[layer.weights.clone()]);
            if drawn > 0.0 && drawn.is_finite() {
                drawn
            } else {
                (layer.columns as f64 / 3.0).sqrt()
            }
        };
        layers.iter().map(size).collect()
    }

    /// Takes one step; a round without a target changes neither model nor state.
    ///
    /// 1. g_i = (theta - theta_i) / (eta tau_i); what is not finite is left out.
    /// 2. r = the median over all clients of their last |g_i|, this round's included (of two the lower;
    ///    clients without an update so far and those that did not move are left out);
    ///    g_i <- g_i min(1, clip r / |g_i|).
    /// 3. G = the g_i aggregated by the rule, for the mean sum w_i g_i / sum w_i;
    ///    k <- k + 1; mu = min(momentum, (k - 1) / (k + 2)).
    /// 4. m <- mu m + (1 - mu) G; d = (1 - mu) G + mu m.
    /// 5. v <- v + (|G|^2 - v) / k; q = sqrt(min(1, |d| / sqrt(v))).
    /// 6. For every layer, with O = NS5(d_W): W <- W - c q ||W_0||_F O / ||O||_F and
    ///    b <- b - c q ||W_0||_F sqrt(|b| / |W|) d_b / ||d_b||, where |b| and |W| count values.
    pub(super) fn advance(
        &self,
        kernel: Kernel,
        layers: &[Layer],
        state: &mut State,
        rule: Rule,
        start: &[f32],
        contributions: &[(usize, Contribution<'_>)],
    ) -> Vec<f32> {
        let mut lengths = state.lengths.clone();
        let clipped = self.clip(&mut lengths, start, contributions);
        let movement = rule.movement(start, &clipped);
        let follow = |movement| self.follow(kernel, layers, state, start, movement);
        let Some(next) = movement.and_then(follow) else {
            return start.to_vec();
        };
        state.lengths = lengths;
        next
    }

    /// Parts 3 to 6 with G = -`movement` / eta; `None`, and nothing changed, if that has no length.
    pub(super) fn follow(
        &self,
        kernel: Kernel,
        layers: &[Layer],
        state: &mut State,
        start: &[f32],
        movement: Vec<f64>,
    ) -> Option<Vec<f32>> {
        let mut gradient = movement;
        let scale = -1.0 / self.learning_rate;
        gradient.iter_mut().for_each(|value| *value *= scale);
        let size = length(&gradient);
        if !size.is_finite() {
            return None;
        }
        let share = self.momentum_step(state, &mut gradient, size);
        Some(self.descend(kernel, layers, state, start, share, gradient))
    }

    /// Parts 1 and 2: stores the length of every gradient, and scales the contributions so that their
    /// movements are -eta g_i. Epochs are 1 then, for any rule.
    fn clip<'a>(
        &self,
        lengths: &mut [f64],
        start: &[f32],
        contributions: &[(usize, Contribution<'a>)],
    ) -> Vec<Contribution<'a>> {
        let normalised: Vec<(f64, Contribution<'a>)> = contributions
            .iter()
            .filter_map(|&(client, contribution)| {
                let epochs = f64::from(contribution.epochs.max(1));
                let one = Contribution {
                    epochs: 1,
                    scale: contribution.scale / epochs,
                    ..contribution
                };
                let size = one.scale * distance(one.model, start) / self.learning_rate;
                if !size.is_finite() {
                    return None;
                }
                if let Some(last) = lengths.get_mut(client) {
                    *last = size;
                }
                Some((size, one))
            })
            .collect();
        let longest = self.clip * median(lengths);
        let cut = |(size, one): (f64, Contribution<'a>)| Contribution {
            scale: if size > longest {
                one.scale * (longest / size)
            } else {
                one.scale
            },
            ..one
        };
        normalised.into_iter().map(cut).collect()
    }

    /// Parts 3 to 5: replaces the gradient G, of length `size`, by d and returns q.
    fn momentum_step(&self, state: &mut State, gradient: &mut [f64], size: f64) -> f64 {
        state.steps = state.steps.saturating_add(1);
        let k = f64::from(state.steps);
        let mu = ((k - 1.0) / (k + 2.0)).min(self.momentum);
        for (momentum, value) in state.momentum.iter_mut().zip(gradient.iter_mut()) {
            let fresh = (1.0 - mu) * *value;
            *momentum = mu * *momentum + fresh;
            *value = fresh + mu * *momentum;
        }
        state.mean_square += (size * size - state.mean_square) / k;
        let share = length(gradient) / state.mean_square.sqrt();
        // 0 / 0, if no client has ever moved, is not above 0.
        match share > 0.0 {
            true if self.anneal => share.min(1.0).sqrt(),
            true => 1.0,
            false => 0.0,
        }
    }

    /// Part 6, where `share` is q and `direction` is d.
    fn descend(
        &self,
        kernel: Kernel,
        layers: &[Layer],
        state: &State,
        start: &[f32],
        share: f64,
        mut direction: Vec<f64>,
    ) -> Vec<f32> {
        for layer in layers {
            let weights = &mut direction[layer.weights.clone()];
            orthogonalise(kernel, layer.rows, layer.columns, weights);
        }
        let mut next = start.to_vec();
        for (layer, size) in layers.iter().zip(&state.sizes) {
            let step = self.step * share * size;
            let weights = &direction[layer.weights.clone()];
            take(&mut next[layer.weights.clone()], step, weights);
            let part = layer.bias.len() as f64 / layer.weights.len().max(1) as f64;
            let bias = &direction[layer.bias.clone()];
            take(&mut next[layer.bias.clone()], step * part.sqrt(), bias);
        }
        next
    }
}

/// Moves parameters by `step` against a direction of any length; a zero or non-finite one moves nothing.
fn take(parameters: &mut [f32], step: f64, direction: &[f64]) {
    let norm = length(direction);
    if norm <= 0.0 || !norm.is_finite() {
        return;
    }
    let scale = step / norm;
    for (parameter, value) in parameters.iter_mut().zip(direction) {
        *parameter = (f64::from(*parameter) - scale * value) as f32;
    }
}

/// Returns the median of the lengths above zero (the lower of two), or 0 if there are none.
fn median(lengths: &[f64]) -> f64 {
    let mut known: Vec<f64> = lengths.iter().copied().filter(|x| *x > 0.0).collect();
    known.sort_unstable_by(f64::total_cmp);
    let middle = known.len().saturating_sub(1) / 2;
    known.get(middle).copied().unwrap_or(0.0)
}
