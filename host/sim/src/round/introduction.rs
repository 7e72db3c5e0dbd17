//! Before round 1 every client reports once.

use super::fleet::{Broadcast, Question, Reply};
use super::knowledge::{Seen, Trial};
use super::phase::{Timing, upload_times};
use super::plausible::Heard;
use super::record::{Absence, ClientState};
use super::{Engine, EngineError, RoundLog};
use crate::ClientId;
use crate::policy::Order;
use crate::scenario::Estimates;
use gleaner_cre::optim::power::least_power;

impl Engine<'_> {
    /// Introduces the clients. With exact estimates this is free and leaves no log; from uploads
    /// it is one epoch and one upload of every client, and is booked as round 0.
    pub(super) fn introduce(&mut self) -> Result<Option<RoundLog>, EngineError> {
        let wanted = self.policy.wants_estimates();
        let log = if wanted && self.scenario.cre.estimates == Estimates::Uplink {
            Some(self.introduce_by_upload()?)
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

    /// Every client trains one epoch and uploads on its best channel with the least power that
    /// would meet a round's deadline; nobody is refused, for a client that is never heard could
    /// never be scheduled. The model stays as it is.
    fn introduce_by_upload(&mut self) -> Result<RoundLog, EngineError> {
        let gains = self.channel.round(0)?;
        let instance = self.instance(0, &gains);
        self.open_stores(0);
        let orders: Vec<Order> = (0..self.samples.len())
            .map(|client| {
                let best = |&a: &usize, &b: &usize| {
                    gains.uplink[client][a].total_cmp(&gains.uplink[client][b])
                };
                let channel = (0..instance.channels).max_by(best).unwrap_or(0);
                let slack_s = instance.slack_s(client, 1.0);
                let least = least_power(&instance, client, channel, slack_s);
                Order {
                    client: ClientId::at(client),
                    channel,
                    power_w: least.min(instance.power_max_w),
                    epochs: 1,
                }
            })
            .collect();
        self.state.model = self.fleet.announce(0, &self.state.model)?;
        let model = self.state.model.clone();
        let upload_s = upload_times(&instance, &orders);
        let shortfalls = self.reserve(&orders, instance.downlink_s, &upload_s);
        let broadcast = Broadcast {
            round: 0,
            model: &model,
            orders: &orders,
            downlink_s: instance.downlink_s,
            upload_s: &upload_s,
            shortfalls: &shortfalls,
            wants_loss_after: true,
        };
        let mut doubts = Vec::new();
        let mut replies = Vec::with_capacity(orders.len());
        for (order, reply) in orders.iter().zip(self.fleet.train(&broadcast)?) {
            replies.push(match reply {
                Reply::Trained(update) => {
                    let sorted = self.sort(0, order.client, update, &mut doubts)?;
                    sorted.map_err(|reason| (ClientState::Lost, reason))
                }
                Reply::Lost(reason) => Err((ClientState::Lost, reason)),
                Reply::Declined(reason) => Err((ClientState::Declined, reason)),
            });
        }
        let mut heard: Vec<Heard<'_>> = orders
            .iter()
            .zip(&mut replies)
            .filter_map(|(order, reply)| {
                reply.as_mut().ok().map(|update| Heard {
                    client: order.client,
                    epochs: order.epochs,
                    update,
                })
            })
            .collect();
        let findings = self.examine(&model, &mut heard);
        let seen: Vec<Seen<'_>> = heard.iter().map(Heard::seen).collect();
        let credible = findings.credible(&seen);
        let eta = self.scenario.learning.learning_rate;
        self.state.knowledge.note_reports(eta, &model, &credible);
        self.state.knowledge.observe_uplink(eta, &model, &credible);
        doubts.extend(findings.doubts);
        let mut log = self.blank_log(0, instance.downlink_s);
        doubts.sort_by_key(|doubt| doubt.client);
        log.round.implausible = doubts;
        for (order, reply) in orders.iter().zip(&replies) {
            let timing = Timing::of(&instance, order);
            let (state, absence) = match reply {
                Ok(_) => (ClientState::Trained, None),
                Err((state, reason)) => (*state, Some(reason.clone())),
            };
            let client = order.client;
            match absence {
                None => log.round.participants.push(client),
                Some(reason) => log.round.absent.push(Absence { client, reason }),
            }
            log.round.epochs = 1;
            if state != ClientState::Declined {
                log.round.round_s = log.round.round_s.max(timing.finish_s);
            }
            self.book_order(order, &timing, state, &mut log);
        }
        self.finish_row(&mut log);
        self.fleet.settle(&log, &self.state.model)?;
        Ok(log)
    }
}
