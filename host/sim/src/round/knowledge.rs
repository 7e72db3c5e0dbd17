//! The base station's knowledge of its clients: losses, gradients, and the constants of the bound.

use serde::{Deserialize, Serialize};

use super::fleet::{ExactGradient, Update};
use crate::ClientId;
use gleaner_cre::estimate::{
    Divergence, DivergenceRule, Observation, clip_beta, distance, lipschitz, norm, smoothness,
};

/// The loss gap never reaches zero: the bound divides by it.
const SMALLEST_GAP: f64 = 1e-9;

/// Everything learnt from reports so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knowledge {
    /// Last reported loss of every client that has reported.
    losses: Vec<Option<f64>>,
    /// Last reported gradient norm of every client.
    norms: Vec<f64>,
    /// Last known gradient of every client; empty where no scheduler asks for estimates.
    gradients: Vec<Vec<f64>>,
    /// The model each client last trained from; empty unless gradients come from uploads.
    origins: Vec<Vec<f32>>,
    rho: f64,
    beta: f64,
    divergence: Divergence,
    delta: Vec<f64>,
}

/// One participant's update, with the model it started from and how far it went.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The client that sent the update.
    pub client: ClientId,
    /// Local epochs of the update.
    pub epochs: u32,
    /// The update as it arrived.
    pub update: &'a Update,
}

impl Knowledge {
    /// Returns the knowledge before any report.
    #[must_use]
    pub fn new(clients: usize, rule: DivergenceRule) -> Self {
        Self {
            losses: vec![None; clients],
            norms: vec![0.0; clients],
            gradients: Vec::new(),
            origins: Vec::new(),
            rho: 1.0,
            beta: 1.0,
            divergence: Divergence::new(rule),
            delta: vec![0.0; clients],
        }
    }

    /// Returns the training loss F = sum w_i F_i over the clients that have reported.
    #[must_use]
    pub fn loss(&self, weights: &[f64]) -> Option<f64> {
        let known = || {
            weights
                .iter()
                .zip(&self.losses)
                .filter_map(|(w, loss)| Some((w, (*loss)?)))
        };
        let total: f64 = known().map(|(weight, _)| weight).sum();
        let sum: f64 = known().map(|(weight, loss)| weight * loss).sum();
        (total > 0.0).then(|| sum / total)
    }

    /// Returns the last loss of every client that has reported.
    #[must_use]
    pub fn losses(&self) -> &[Option<f64>] {
        &self.losses
    }

    /// Returns F - F*, kept above zero.
    #[must_use]
    pub fn gap(&self, weights: &[f64], best_loss: f64) -> f64 {
        self.loss(weights)
            .map_or(SMALLEST_GAP, |loss| (loss - best_loss).max(SMALLEST_GAP))
    }

    /// Returns the Lipschitz estimate rho.
    #[must_use]
    pub const fn rho(&self) -> f64 {
        self.rho
    }

    /// Returns the smoothness estimate beta.
    #[must_use]
    pub const fn beta(&self) -> f64 {
        self.beta
    }

    /// Returns the divergences delta_i.
    #[must_use]
    pub fn delta(&self) -> &[f64] {
        &self.delta
    }

    /// Returns the gradient norms.
    #[must_use]
    pub fn norms(&self) -> &[f64] {
        &self.norms
    }

    /// Hears every client once before round 1: losses and norms at the first model.
    pub fn introduce(&mut self, gradients: &[ExactGradient]) {
        for (client, exact) in gradients.iter().enumerate() {
            self.losses[client] = Some(exact.loss);
        }
        self.refresh_norms(gradients);
    }

    /// Takes the gradient norms of all clients.
    pub fn refresh_norms(&mut self, gradients: &[ExactGradient]) {
        for (client, exact) in gradients.iter().enumerate() {
            self.norms[client] = norm(&widen(&exact.gradient));
        }
    }

    /// Starts exact estimates: gradients at the first model, and rho and beta from one trial
    /// step of every client, `steps[i]` = theta_0 - eta grad F_i with what the client sees there.
    pub fn start_oracle(
        &mut self,
        eta: f64,
        model: &[f32],
        gradients: &[ExactGradient],
        trials: &[Trial],
    ) {
        self.gradients = gradients
            .iter()
            .map(|exact| widen(&exact.gradient))
            .collect();
        let global = widen(model);
        let locals: Vec<Vec<f64>> = trials.iter().map(|trial| widen(&trial.model)).collect();
        let ends: Vec<Vec<f64>> = trials
            .iter()
            .map(|trial| widen(&trial.exact.gradient))
            .collect();
        let seen: Vec<Observation<'_>> = (0..trials.len())
            .map(|i| Observation {
                local: &locals[i],
                local_loss: trials[i].exact.loss,
                local_gradient: &ends[i],
                global_loss: gradients[i].loss,
                global_gradient: &self.gradients[i],
            })
            .collect();
        let (rho, beta) = (lipschitz(&global, &seen), smoothness(&global, &seen));
        self.keep(eta, rho, beta);
    }

    /// Learns from exact losses and gradients of a round's participants at the new model
    /// (`after`), and at their own models (`own`, empty where the only
    /// participant's model is the new one).
    pub fn observe_oracle(
        &mut self,
        eta: f64,
        model: &[f32],
        seen: &[Seen<'_>],
        after: &[ExactGradient],
        own: &[ExactGradient],
    ) {
        for (participant, exact) in seen.iter().zip(after) {
            self.losses[participant.client.index()] = Some(exact.loss);
            self.gradients[participant.client.index()] = widen(&exact.gradient);
        }
        if own.is_empty() {
            return;
        }
        let global = widen(model);
        let locals: Vec<Vec<f64>> = seen.iter().map(|s| widen(&s.update.model)).collect();
        let ends: Vec<Vec<f64>> = own.iter().map(|exact| widen(&exact.gradient)).collect();
        let observations: Vec<Observation<'_>> = (0..seen.len())
            .map(|i| Observation {
                local: &locals[i],
                local_loss: own[i].loss,
                local_gradient: &ends[i],
                global_loss: after[i].loss,
                global_gradient: &self.gradients[seen[i].client.index()],
            })
            .collect();
        let (rho, beta) = (
            lipschitz(&global, &observations),
            smoothness(&global, &observations),
        );
        self.keep(eta, rho, beta);
    }

    /// Learns from uploads alone: g_i ~ (theta_0 - theta_i) / (eta tau) from the difference,
    /// rho from the reported losses, beta as the secant between a client's successive uploads.
    ///
    /// A client's first upload has no predecessor; there beta is the curvature along its step,
    /// 2 (F(theta_i) - F(theta_0) + s ||g||^2) / (s^2 ||g||^2) with s = eta tau.
    pub fn observe_uplink(&mut self, eta: f64, start: &[f32], seen: &[Seen<'_>]) {
        if self.gradients.is_empty() {
            // A client that is lost before it is ever heard counts as one without a direction.
            self.gradients = vec![vec![0.0; start.len()]; self.losses.len()];
            self.origins = vec![Vec::new(); self.losses.len()];
        }
        let (mut rho, mut beta): (Option<f64>, Option<f64>) = (None, None);
        for Seen {
            client,
            epochs,
            update,
        } in seen.iter().copied()
        {
            let step = eta * f64::from(epochs);
            let gradient = difference(start, &update.model, step);
            let length = norm(&gradient);
            let fall = update.loss_after.map(|after| update.loss_before - after);
            if let Some(fall) = fall.filter(|_| length > 0.0) {
                let slope = fall.abs() / (step * length);
                rho = Some(rho.map_or(slope, |rho| rho.max(slope)));
            }
            let curvature = if self.origins[client.index()].is_empty() {
                let descent = step * length * length;
                fall.filter(|_| length > 0.0)
                    .map(|fall| 2.0 * (descent - fall) / (step * descent))
            } else {
                let moved = norm(&difference(start, &self.origins[client.index()], 1.0));
                (moved > 0.0).then(|| distance(&gradient, &self.gradients[client.index()]) / moved)
            };
            if let Some(curvature) = curvature.filter(|curvature| *curvature > 0.0) {
                beta = Some(beta.map_or(curvature, |beta| beta.max(curvature)));
            }
            self.gradients[client.index()] = gradient;
            self.origins[client.index()] = start.to_vec();
            self.losses[client.index()] = Some(update.loss_before);
        }
        self.keep(eta, rho, beta);
    }

    /// Notes what every upload tells for free: the loss before training and the norm of the
    /// mean gradient along the way.
    pub fn note_reports(&mut self, eta: f64, start: &[f32], seen: &[Seen<'_>]) {
        for Seen {
            client,
            epochs,
            update,
        } in seen.iter().copied()
        {
            self.losses[client.index()] = Some(update.loss_before);
            let step = eta * f64::from(epochs);
            self.norms[client.index()] = norm(&difference(start, &update.model, step));
        }
    }

    /// Recomputes the divergences from the gradients.
    pub fn refresh_delta(&mut self, weights: &[f64]) {
        self.delta = self.divergence.estimate(weights, &self.gradients);
    }

    /// Takes new constants where there are any; 0/0 keeps the last.
    fn keep(&mut self, eta: f64, rho: Option<f64>, beta: Option<f64>) {
        self.rho = rho.filter(|rho| rho.is_finite()).unwrap_or(self.rho);
        let positive = beta.filter(|beta| beta.is_finite() && *beta > 0.0);
        self.beta = clip_beta(positive.unwrap_or(self.beta), eta);
    }
}

/// A step a client tried, and what it saw there.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The model after the step.
    pub model: Vec<f32>,
    /// Loss and gradient there.
    pub exact: ExactGradient,
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Returns (a - b) / scale.
fn difference(a: &[f32], b: &[f32], scale: f64) -> Vec<f64> {
    a.iter()
        .zip(b)
        .map(|(&a, &b)| (f64::from(a) - f64::from(b)) / scale)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F(x) = c/2 x^2 in every coordinate: gradient c x, smoothness c.
    fn bowl(curvature: f32, model: &[f32]) -> ExactGradient {
        let loss = model
            .iter()
            .map(|&x| f64::from(curvature * x * x / 2.0))
            .sum();
        ExactGradient {
            loss,
            gradient: model.iter().map(|&x| curvature * x).collect(),
        }
    }

    #[test]
    fn uploads_reveal_gradient_and_curvature_of_a_bowl() {
        let eta = 0.01;
        let start = [1.0f32, -2.0];
        let mut knowledge = Knowledge::new(1, DivergenceRule::Plain);
        let stepped = |from: &[f32], curvature: f32| -> Update {
            let model: Vec<f32> = from.iter().map(|&x| x - 0.01 * curvature * x).collect();
            Update {
                loss_before: bowl(curvature, from).loss,
                loss_after: Some(bowl(curvature, &model).loss),
                model,
            }
        };
        let update = stepped(&start, 4.0);
        knowledge.observe_uplink(
            eta,
            &start,
            &[Seen {
                client: ClientId(0),
                epochs: 1,
                update: &update,
            }],
        );
        assert!(
            (knowledge.beta() - 4.0).abs() < 0.01,
            "{}",
            knowledge.beta()
        );
        let next = [0.5f32, 1.0];
        let update = stepped(&next, 4.0);
        knowledge.observe_uplink(
            eta,
            &next,
            &[Seen {
                client: ClientId(0),
                epochs: 1,
                update: &update,
            }],
        );
        assert!(
            (knowledge.beta() - 4.0).abs() < 0.01,
            "{}",
            knowledge.beta()
        );
        assert!((knowledge.loss(&[1.0]).unwrap() - 2.5).abs() < 1e-6);
    }

    #[test]
    fn a_round_with_one_participant_keeps_the_constants() {
        let model = [0.3f32, 0.4];
        let mut knowledge = Knowledge::new(2, DivergenceRule::Direction);
        let gradients = [bowl(2.0, &model), bowl(5.0, &model)];
        let trials: Vec<Trial> = [2.0f32, 5.0]
            .iter()
            .map(|&c| {
                let model: Vec<f32> = model.iter().map(|&x| x - 0.01 * c * x).collect();
                Trial {
                    exact: bowl(c, &model),
                    model,
                }
            })
            .collect();
        knowledge.introduce(&gradients);
        knowledge.start_oracle(0.01, &model, &gradients, &trials);
        assert!(
            (knowledge.beta() - 5.0).abs() < 1e-3,
            "{}",
            knowledge.beta()
        );
        let (rho, beta) = (knowledge.rho(), knowledge.beta());
        let update = Update {
            model: vec![0.1, 0.1],
            loss_before: 1.0,
            loss_after: None,
        };
        let seen = [Seen {
            client: ClientId(1),
            epochs: 2,
            update: &update,
        }];
        knowledge.observe_oracle(0.01, &[0.1, 0.1], &seen, &[bowl(5.0, &[0.1, 0.1])], &[]);
        assert_eq!((knowledge.rho(), knowledge.beta()), (rho, beta));
        knowledge.refresh_delta(&[0.5, 0.5]);
        assert!(knowledge.delta().iter().all(|delta| delta.is_finite()));
    }
}
