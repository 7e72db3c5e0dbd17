//! Vectors of what the base station keeps from round to round: energy accounts, the global
//! model, and the estimates of the loss.

use gleaner_cre::bound::weights;
use gleaner_cre::estimate::{Divergence, DivergenceRule, Observation, lipschitz, smoothness};
use gleaner_learn::aggregate::{Contribution, Rule};
use gleaner_shared::energy::Phase;
use gleaner_shared::units::PicoJoules;
use serde::Deserialize;

use super::compare::{Comparison, Tolerance};
use super::{Unfit, Vector};
use crate::json::nullable;
use gleaner_sim::round::{Account, rest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Queue {
    #[serde(rename = "E_add_j")]
    income_j: f64,
    used_j: Vec<f64>,
    #[serde(rename = "Z_j")]
    queue_j: Vec<f64>,
    cumulative_ok: Vec<bool>,
}

/// Accounts are kept in whole picojoules.
const PICOJOULE: f64 = 1e-12;

impl Vector for Queue {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let rounds = self.used_j.len();
        if self.queue_j.len() != rounds + 1 || self.cumulative_ok.len() != rounds {
            return Err(format!(
                "used_j has {rounds} entries: Z_j needs one more, cumulative_ok as many"
            )
            .into());
        }
        let mut account = Account::default();
        found.number("Z_j", account.queue_j(), self.queue_j[0]);
        let expected = self.queue_j[1..].iter().zip(&self.cumulative_ok);
        for ((round, &used_j), (&queue_j, kept)) in (1u32..).zip(&self.used_j).zip(expected) {
            let mut record = rest(self.income_j);
            record.spent[Phase::Train] = PicoJoules::from_joules(used_j);
            account.book(&record);
            // A round books two amounts, each rounded to the nearest picojoule: after n rounds
            // the queue is at most n picojoules off.
            let off = Tolerance::absolute(f64::from(round) * PICOJOULE);
            found.within("Z_j", account.queue_j(), queue_j, off);
            found.equal("cumulative_ok", &account.within_income(), kept);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Estimation {
    #[serde(rename = "D")]
    samples: Vec<u32>,
    gradients: Vec<Vec<f64>>,
    bias_so_far: f64,
    clients: Vec<usize>,
    theta_start: Vec<f64>,
    theta_local: Vec<Vec<f64>>,
    epochs: Vec<u32>,
    #[serde(rename = "F_local")]
    local_loss: Vec<f64>,
    #[serde(rename = "F_global")]
    global_loss: Vec<f64>,
    #[serde(rename = "grad_local")]
    local_gradient: Vec<Vec<f64>>,
    #[serde(rename = "grad_global")]
    global_gradient: Vec<Vec<f64>>,
    bias: f64,
    delta: Vec<f64>,
    theta_average: Vec<f64>,
    theta_normalised: Vec<f64>,
    #[serde(deserialize_with = "nullable")]
    rho: Option<f64>,
    #[serde(deserialize_with = "nullable")]
    beta: Option<f64>,
}

impl Vector for Estimation {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        if !self.fits_together() {
            return Err(Unfit("lists differ in length".to_owned()));
        }
        let mut divergence = Divergence::with_bias(DivergenceRule::Paper, self.bias_so_far);
        let delta = divergence.estimate(&weights(&self.samples), &self.gradients);
        found.number("bias", divergence.bias(), self.bias);
        found.list("delta", &delta, &self.delta, Tolerance::double());

        let models = self.theta_local.iter().flatten();
        let largest = models.fold(0.0f64, |most, x| most.max(x.abs()));
        let single = Tolerance::single_of(largest);
        let average = self.aggregate(Rule::Mean);
        found.list("theta_average", &average, &self.theta_average, single);
        let normalised = self.aggregate(Rule::Nova);
        found.list(
            "theta_normalised",
            &normalised,
            &self.theta_normalised,
            single,
        );

        let seen: Vec<Observation<'_>> = (0..self.clients.len())
            .map(|i| Observation {
                local: &self.theta_local[i],
                local_loss: self.local_loss[i],
                local_gradient: &self.local_gradient[i],
                global_loss: self.global_loss[i],
                global_gradient: &self.global_gradient[i],
            })
            .collect();
        // At the given average, so that a rounding of ours is not taken for a distance.
        let global = &self.theta_average;
        found.option("rho", lipschitz(global, &seen), self.rho);
        found.option("beta", smoothness(global, &seen), self.beta);
        Ok(())
    }
}

impl Estimation {
    fn fits_together(&self) -> bool {
        let count = self.clients.len();
        let width = self.theta_start.len();
        let rows = [
            &self.gradients,
            &self.theta_local,
            &self.local_gradient,
            &self.global_gradient,
        ];
        self.epochs.len() == count
            && self.local_loss.len() == count
            && self.global_loss.len() == count
            && rows[1..].iter().all(|rows| rows.len() == count)
            && self.gradients.len() == self.samples.len()
            && self.clients.iter().all(|&i| i < self.samples.len())
            && rows
                .iter()
                .all(|rows| rows.iter().all(|row| row.len() == width))
            && self.theta_average.len() == width
    }

    /// Aggregates the models as a round does, in single precision.
    fn aggregate(&self, rule: Rule) -> Vec<f64> {
        let single = |model: &Vec<f64>| -> Vec<f32> { model.iter().map(|&x| x as f32).collect() };
        let models: Vec<Vec<f32>> = self.theta_local.iter().map(single).collect();
        let contributions: Vec<Contribution<'_>> = models
            .iter()
            .zip(&self.clients)
            .zip(&self.epochs)
            .map(|((model, &client), &epochs)| Contribution {
                samples: self.samples[client],
                epochs,
                model,
                scale: 1.0,
                trust: 1.0,
            })
            .collect();
        let next = rule.aggregate(&single(&self.theta_start), &contributions);
        next.into_iter().map(f64::from).collect()
    }
}
