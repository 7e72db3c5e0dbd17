//! `eafl`: A. Arouj and A. M. Abdelmoniem, "Towards Energy-Aware Federated Learning on
//! Battery-Powered Clients", FedEdge 2022, arXiv 2208.04505; code at github.com/SAYED-Sys-Lab/EAFL.
//!
//! Oort's selection (Lai et al., OSDI 2021) with another reward: f times the client's utility plus
//! 1 - f times the energy it would have left after the round, f = 0.25. Oort's utility is the number
//! of samples times the root mean square of their losses when the client last trained; to the reward
//! comes sqrt(0.1 ln n / o) for one that was last chosen in round o. A share of the places,
//! 0.9 * 0.98^n and at least 0.3, goes to clients never tried, drawn by their number of samples; the
//! others are drawn by reward among those with at least 95 % of the last place's reward.
//!
//! Our reading: utility and remaining energy are each divided by the largest among those who can pay
//! (the code divides by a constant that fits its data set); a client reports its mean loss, which
//! stands for the root mean square; Oort's penalty for clients slower than the preferred round and
//! its pacer have no say where a deadline holds for all; places that stay free are filled at random,
//! as the code does.

use gleaner_shared::rng::Rng;

use super::bids::Bids;
use super::lots;
use crate::policy::{BaselinePower, Decision, Policy, PolicyError, View};

/// The weight f of utility against energy.
const F: f64 = 0.25;
/// Share of the last place's reward that the others need to be drawn.
const CUT_OFF: f64 = 0.95;

/// Scheduling by utility and remaining energy.
#[derive(Clone, Copy, Debug)]
pub struct Eafl {
    /// Transmit power of the clients.
    pub power: BaselinePower,
}

impl Policy for Eafl {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let bids = Bids::payable(view, self.power);
        let able = bids.able();
        let places = able.len().min(view.instance.channels);
        let tried = |client: &usize| view.attendance[*client].last_ordered() > 0;
        let (tried, untried): (Vec<usize>, Vec<usize>) = able.into_iter().partition(tried);
        let exploring = (0.9 * 0.98f64.powi(view.round.min(1_000) as i32)).max(0.3);
        let explored = (exploring * places as f64) as usize;
        let mut rng = lots(view);

        let rewards = rewards(view, &bids, &tried);
        let exploited = (places - explored).min(tried.len());
        let mut chosen = best(&tried, &rewards, exploited, &mut rng);
        let sizes: Vec<f64> = untried
            .iter()
            .map(|&client| f64::from(view.instance.samples[client]))
            .collect();
        let new = draw(&untried, &sizes, places - chosen.len(), &mut rng);
        chosen.extend(new);
        let mut others: Vec<usize> = tried;
        others.retain(|client| !chosen.contains(client));
        rng.shuffle(&mut others);
        chosen.extend(others);
        Ok(bids.seat(&chosen, places))
    }
}

/// Returns the reward of every client that was tried.
fn rewards(view: &View<'_>, bids: &Bids, clients: &[usize]) -> Vec<f64> {
    let utility = |client: usize| {
        let loss = view.losses[client].filter(|loss| loss.is_finite());
        f64::from(view.instance.samples[client]) * loss.unwrap_or(0.0).max(0.0)
    };
    let left_j = |client: usize| {
        let bill_j = bids.least_bill(client).unwrap_or(0.0);
        (view.budgets[client].spendable_j - bill_j).clamp(0.0, f64::MAX)
    };
    let largest = |of: &dyn Fn(usize) -> f64| {
        let all = clients.iter().map(|&client| of(client));
        all.fold(f64::MIN_POSITIVE, f64::max)
    };
    let (most, most_j) = (largest(&utility), largest(&left_j));
    let waited = 0.1 * f64::from(view.round).ln();
    let reward = |&client: &usize| {
        let last = f64::from(view.attendance[client].last_ordered().max(1));
        F * utility(client) / most + (1.0 - F) * left_j(client) / most_j + (waited / last).sqrt()
    };
    clients.iter().map(reward).collect()
}

/// Draws among the clients whose rewards are near the last place's or above.
fn best(clients: &[usize], rewards: &[f64], places: usize, rng: &mut Rng) -> Vec<usize> {
    let mut sorted = rewards.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let Some(last) = places.checked_sub(1).and_then(|place| sorted.get(place)) else {
        return Vec::new();
    };
    let near = |at: &usize| rewards[*at] >= CUT_OFF * last;
    let near: Vec<usize> = (0..clients.len()).filter(near).collect();
    let (names, weights): (Vec<usize>, Vec<f64>) =
        near.iter().map(|&at| (clients[at], rewards[at])).unzip();
    draw(&names, &weights, places, rng)
}

/// Draws so many different clients, each with a chance in proportion to its weight.
fn draw(clients: &[usize], weights: &[f64], number: usize, rng: &mut Rng) -> Vec<usize> {
    let mut left: Vec<(usize, f64)> = clients
        .iter()
        .copied()
        .zip(weights.iter().copied())
        .collect();
    let mut drawn = Vec::new();
    while drawn.len() < number && !left.is_empty() {
        let total: f64 = left.iter().map(|&(_, weight)| weight).sum();
        let mut mark = rng.uniform() * total;
        let at = left.iter().position(|&(_, weight)| {
            mark -= weight;
            mark < 0.0
        });
        // Without any weight, or past the end by rounding, it is the last.
        drawn.push(left.remove(at.unwrap_or(left.len() - 1)).0);
    }
    drawn
}
