//! The introduction: every client reports once before round 1.

use super::fleet::Question;
use super::knowledge::Trial;
use super::phase::Planned;
use super::{Engine, EngineError, RoundLog};
use crate::ClientId;
use crate::policy::{Decision, Order};
use crate::scenario::Estimates;
use gleaner_cre::optim::power::least_power;

impl Engine<'_> {
    /// Introduces the clients. With exact estimates the introduction costs nothing and has no log;
    /// with estimates from uploads it is round 0, with one epoch and one upload of every client.
    pub(super) fn introduce(&mut self) -> Result<Option<RoundLog>, EngineError> {
        let wanted = self.policy.wants_estimates();
        let log = if wanted && self.scenario.cre.estimates == Estimates::Uplink {
            let planned = self.plan_introduction()?;
            Some(self.play(planned)?)
        } else if wanted || self.policy.wants_gradient_norms() {
            self.introduce_exactly(wanted)?;
            None
        } else {
            None
        };
        if wanted {
            self.state.knowledge.refresh_delta(&self.weights);
        }
        self.state.introduced = true;
        Ok(log)
    }

    fn introduce_exactly(&mut self, with_estimates: bool) -> Result<(), EngineError> {
        let model = self.state.model.clone();
        let everybody: Vec<Question<'_>> = (0..self.samples.len())
            .map(|client| Question {
                client: ClientId::at(client),
                model: &model,
            })
            .collect();
        let gradients = self.fleet.gradients(&everybody)?;
        self.state.knowledge.introduce(&gradients);
        if !with_estimates {
            return Ok(());
        }
        let eta = self.scenario.learning.learning_rate;
        let steps: Vec<Vec<f32>> = gradients
            .iter()
            .map(|exact| {
                let step = |(&x, &g): (&f32, &f32)| (f64::from(x) - eta * f64::from(g)) as f32;
                model.iter().zip(&exact.gradient).map(step).collect()
            })
            .collect();
        let questions: Vec<Question<'_>> = steps
            .iter()
            .enumerate()
            .map(|(client, model)| Question {
                client: ClientId::at(client),
                model,
            })
            .collect();
        let seen = self.fleet.gradients(&questions)?;
        let trials: Vec<Trial> = steps
            .into_iter()
            .zip(seen)
            .map(|(model, exact)| Trial { model, exact })
            .collect();
        self.state
            .knowledge
            .start_oracle(eta, &model, &gradients, &trials);
        Ok(())
    }

    /// Plans round 0: every client trains one epoch and uploads on its best channel with the least
    /// power that would meet a round's deadline. No deadline applies, because a client without a
    /// report could never be scheduled, and the model stays as it is.
    fn plan_introduction(&self) -> Result<Planned, EngineError> {
        let gains = self.channel.round(0)?;
        let instance = self.instance(0, &gains);
        let order = |client: usize| {
            let best = |&a: &usize, &b: &usize| {
                gains.uplink[client][a].total_cmp(&gains.uplink[client][b])
            };
            let channel = (0..instance.channels).max_by(best).unwrap_or(0);
            let slack_s = instance.slack_s(client, 1.0);
            let least_w = least_power(&instance, client, channel, slack_s);
            Order {
                client: ClientId::at(client),
                channel,
                power_w: least_w.min(instance.power_max_w),
                epochs: 1,
                bit_rate_bps: None,
            }
        };
        let orders = (0..self.samples.len()).map(order).collect();
        Ok(Planned {
            round: 0,
            instance,
            decision: Decision {
                orders,
                ..Decision::default()
            },
            budgets_j: Vec::new(),
        })
    }
}
