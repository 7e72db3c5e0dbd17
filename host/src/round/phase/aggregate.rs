//! Phase 4: the next global model, and what the base station learns on the way.

use super::{Collected, Delivery, Planned};
use crate::policy::Order;
use crate::round::fleet::Question;
use crate::round::knowledge::Seen;
use crate::round::{Engine, EngineError, settings};
use crate::scenario::Estimates;
use gleaner_learn::aggregate::{Contribution, aggregate};

/// A round with its new model in place.
pub(in crate::round) struct Aggregated {
    pub(in crate::round) planned: Planned,
    pub(in crate::round) deliveries: Vec<Delivery>,
    /// The divergences the plan was made with.
    pub(in crate::round) planned_delta: Vec<f64>,
}

impl Engine<'_> {
    pub(in crate::round) fn aggregate(
        &mut self,
        Collected {
            planned,
            deliveries,
        }: Collected,
    ) -> Result<Aggregated, EngineError> {
        let seen: Vec<Seen<'_>> = deliveries
            .iter()
            .filter_map(|delivery| {
                let Order { client, epochs, .. } = delivery.order;
                delivery.result.as_ref().ok().map(|update| Seen {
                    client,
                    epochs,
                    update,
                })
            })
            .collect();
        let contributions: Vec<Contribution<'_>> = seen
            .iter()
            .map(|seen| Contribution {
                samples: self.samples[seen.client],
                epochs: seen.epochs,
                model: &seen.update.model,
            })
            .collect();
        let next = aggregate(
            &self.state.model,
            &contributions,
            settings::averaging(self.scenario),
        );
        if next.iter().any(|parameter| !parameter.is_finite()) {
            let rate = self.scenario.learning.learning_rate;
            return Err(EngineError::Diverged {
                round: planned.round,
                rate,
            });
        }
        let start = std::mem::replace(&mut self.state.model, next);
        let planned_delta = self.state.knowledge.delta().to_vec();
        self.learn(&start, &seen)?;
        Ok(Aggregated {
            planned,
            deliveries,
            planned_delta,
        })
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
                // The only participant's model is the global one: it would be asked twice.
                if seen.len() > 1 {
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
