//! Phase 4: aggregation, the server's step to the next model, and the estimates.

use super::{Collected, Delivery, Planned};
use crate::round::anomaly::Heard;
use crate::round::fleet::Question;
use crate::round::knowledge::Seen;
use crate::round::record::{Anomaly, ClientState};
use crate::round::weigh::Weight;
use crate::round::{Engine, EngineError, State};
use crate::scenario::{AggregationRule, Estimates};
use gleaner_learn::aggregate::{Contribution, Rule};

/// A round with its new model in place.
pub(in crate::round) struct Aggregated {
    pub(in crate::round) planned: Planned,
    pub(in crate::round) deliveries: Vec<Delivery>,
    /// Anomalous updates of the round.
    pub(in crate::round) anomalies: Vec<Anomaly>,
    /// The divergences the plan was made with.
    pub(in crate::round) planned_delta: Vec<f64>,
}

impl Engine<'_> {
    /// Returns the rule of aggregation: the scenario's, or the scheduler's where that is left to it.
    fn rule(&self) -> Rule {
        let auto = self.scenario.aggregation.rule == AggregationRule::Auto;
        match auto && self.policy.wants_nova() {
            true => Rule::Nova,
            false => self.scenario.rule(),
        }
    }

    pub(in crate::round) fn aggregate(
        &mut self,
        Collected {
            planned,
            mut deliveries,
            mut anomalies,
        }: Collected,
    ) -> Result<Aggregated, EngineError> {
        let mut heard: Vec<Heard<'_>> = deliveries
            .iter_mut()
            .filter_map(|Delivery { order, result, .. }| {
                result.as_mut().ok().map(|update| Heard {
                    client: order.client,
                    epochs: order.epochs,
                    update,
                })
            })
            .collect();
        let mut findings = self.examine(&self.state.model, &mut heard);
        let weights = self.weigh(&heard, &mut findings);
        let seen: Vec<Seen<'_>> = heard.iter().map(Heard::seen).collect();
        let credible = findings.credible(&seen);
        anomalies.extend(findings.anomalies);
        let planned_delta = self.state.knowledge.delta().to_vec();
        if planned.is_introduction() {
            let eta = self.scenario.learning.learning_rate;
            let State {
                model, knowledge, ..
            } = &mut self.state;
            knowledge.note_reports(eta, model, &credible);
            knowledge.observe_uplink(eta, model, &credible);
            return Ok(Aggregated {
                planned,
                deliveries,
                anomalies,
                planned_delta,
            });
        }
        let contributions: Vec<(usize, Contribution<'_>)> = seen
            .iter()
            .zip(&weights)
            .map(|(seen, weight)| {
                let contribution = Contribution {
                    samples: self.samples[seen.client.index()],
                    epochs: seen.epochs,
                    model: &seen.update.model,
                    scale: weight.scale,
                    trust: weight.trust,
                };
                (seen.client.index(), contribution)
            })
            .collect();
        let rule = self.rule();
        let State {
            model,
            server,
            privacy: spent,
            ..
        } = &mut self.state;
        let next = match &self.privacy {
            None => self.server.advance(server, rule, model, &contributions),
            Some(privacy) => {
                anomalies.extend(privacy.overlong(model, &contributions));
                let ordered = planned.decision.orders.iter().map(|order| order.client);
                let round = planned.round;
                let movement = privacy.movement(spent, round, ordered, model, &contributions);
                self.server.follow(server, model, movement)
            }
        };
        let start = std::mem::replace(&mut self.state.model, next);
        self.learn(&start, &credible)?;
        self.leave_unused(&mut deliveries);
        leave_untrusted(&mut deliveries, weights);
        Ok(Aggregated {
            planned,
            deliveries,
            anomalies,
            planned_delta,
        })
    }

    /// Marks what arrived as unused where the rule needs more of it: among a few updates the hostile
    /// ones may be the majority, so the model stays as it is.
    fn leave_unused(&self, deliveries: &mut [Delivery]) {
        let needs = self.rule().needs();
        let arrived = deliveries.iter().filter(|one| one.result.is_ok()).count();
        if arrived >= needs {
            return;
        }
        for delivery in deliveries.iter_mut().filter(|one| one.result.is_ok()) {
            let rule = self.scenario.aggregation.rule;
            let reason =
                format!("{arrived} updates arrived, aggregation.rule = \"{rule}\" needs {needs}");
            delivery.result = Err((ClientState::Unused, reason));
        }
    }

    fn learn(&mut self, start: &[f32], seen: &[Seen<'_>]) -> Result<(), EngineError> {
        let eta = self.scenario.learning.learning_rate;
        self.state.knowledge.note_reports(eta, start, seen);
        if !self.policy.wants_estimates() || seen.is_empty() {
            return Ok(());
        }
        match self.scenario.cre.estimates {
            Estimates::Uplink => self.state.knowledge.observe_uplink(eta, start, seen),
            Estimates::Oracle => {
                let model = &self.state.model;
                let mut questions: Vec<Question<'_>> = seen
                    .iter()
                    .map(|seen| Question {
                        client: seen.client,
                        model,
                    })
                    .collect();
                // Without a step of the server's own, the only participant's model is the global one:
                // it would be asked twice.
                if seen.len() > 1 || !self.server.is_plain() {
                    questions.extend(seen.iter().map(|seen| Question {
                        client: seen.client,
                        model: &seen.update.model,
                    }));
                }
                let gradients = self.fleet.gradients(&questions)?;
                let (after, own) = gradients.split_at(seen.len());
                self.state
                    .knowledge
                    .observe_oracle(eta, model, seen, after, own);
            }
        }
        self.state.knowledge.refresh_delta(&self.weights);
        Ok(())
    }
}

/// Marks what arrived without trust as unused.
fn leave_untrusted(deliveries: &mut [Delivery], weights: Vec<Weight>) {
    let arrived = deliveries.iter_mut().filter(|one| one.result.is_ok());
    for (delivery, weight) in arrived.zip(weights) {
        if let Some(reason) = weight.untrusted {
            delivery.result = Err((ClientState::Unused, reason));
        }
    }
}
