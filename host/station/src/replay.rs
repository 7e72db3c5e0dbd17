//! A run once more, from its event log: simulated clients stand in for the boards, whoever was
//! absent is absent again, and every model must be the one that arrived.

use std::collections::{BTreeMap, HashMap};

use super::event::{Event, EventKind, loss};
use super::fleet::fingerprint;
use super::log::Line;
use super::stored_updates::StoredUpdates;
use gleaner_learn::train::Tensor;
use gleaner_sim::fleet::FixedFleet;
use gleaner_sim::round::{
    Broadcast, ExactGradient, Fleet, FleetError, Order, Question, Reply, RoundLog, Update,
};

/// What the log says became of every order.
#[derive(Clone, Debug, Default)]
pub struct Record {
    fates: HashMap<(u32, u32), Fate>,
}

#[derive(Clone, Debug, PartialEq)]
enum Fate {
    /// This model came, recomputable or not.
    Arrived {
        model: String,
        exact: bool,
    },
    Absent {
        reason: String,
        declined: bool,
    },
}

impl Record {
    /// Gathers what counted: a later session makes an earlier one's unfinished rounds void.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn of<E>(lines: impl IntoIterator<Item = Result<Line, E>>) -> Result<Self, E> {
        let mut record = Self::default();
        for line in lines {
            match line? {
                Line::Session {
                    session_after_round: last,
                } => {
                    // After 0 rounds the introduction, round 0, comes again as well.
                    record
                        .fates
                        .retain(|&(round, _), _| last > 0 && round <= last);
                }
                Line::Event { event, .. } => record.note(&event),
            }
        }
        Ok(record)
    }

    fn note(&mut self, event: &Event) {
        let fate = match &event.what {
            EventKind::Arrived { model, exact } => Fate::Arrived {
                model: model.clone(),
                exact: *exact,
            },
            EventKind::Absent { reason, declined } => Fate::Absent {
                reason: reason.clone(),
                declined: *declined,
            },
            _ => return,
        };
        if let Some(round) = event.round {
            self.fates.insert((round, event.client), fate);
        }
    }

    /// Returns how many orders it knows of.
    #[must_use]
    pub fn orders(&self) -> usize {
        self.fates.len()
    }

    /// Returns the last round it knows an order of.
    #[must_use]
    pub fn last_round(&self) -> u32 {
        let rounds = self.fates.keys().map(|(round, _)| *round);
        rounds.max().unwrap_or(0)
    }

    /// Returns the clients whose updates cannot be recomputed, and how many those are.
    #[must_use]
    pub fn inexact(&self) -> BTreeMap<u32, usize> {
        let mut clients = BTreeMap::new();
        for ((_, client), fate) in &self.fates {
            if matches!(fate, Fate::Arrived { exact: false, .. }) {
                *clients.entry(*client).or_default() += 1;
            }
        }
        clients
    }
}

/// Simulated clients that repeat a recorded run.
pub struct ReplayFleet {
    fixed: FixedFleet,
    record: Record,
    stored_updates: StoredUpdates,
}

impl ReplayFleet {
    /// Stands in for the clients of a recorded run; what nobody can recompute was kept.
    #[must_use]
    pub const fn new(fixed: FixedFleet, record: Record, stored_updates: StoredUpdates) -> Self {
        Self {
            fixed,
            record,
            stored_updates,
        }
    }

    fn check(
        &mut self,
        broadcast: &Broadcast<'_>,
        order: &Order,
        reply: Reply,
    ) -> Result<Reply, FleetError> {
        let (round, client) = (broadcast.round, order.client);
        let number = u32::try_from(client).unwrap_or(u32::MAX);
        let fate = self.record.fates.remove(&(round, number));
        let (reply, source) = match fate {
            Some(Fate::Arrived { exact: false, .. }) => {
                let after = broadcast.wants_loss_after;
                (self.as_stored(round, number, after)?, "what it sent was")
            }
            _ => (reply, "its order leads to"),
        };
        match (fate, reply) {
            (
                Some(Fate::Absent {
                    reason,
                    declined: true,
                }),
                _,
            ) => Ok(Reply::Declined(reason)),
            (Some(Fate::Absent { reason, .. }), _) => Ok(Reply::Lost(reason)),
            (Some(Fate::Arrived { model, .. }), Reply::Trained(update)) => {
                let found = fingerprint(&update.model);
                if found == model {
                    return Ok(Reply::Trained(update));
                }
                Err(FleetError::Failed(format!(
                    "round {round}, client {client}: model {model} arrived, {source} {found}"
                )))
            }
            (Some(Fate::Arrived { .. }), Reply::Lost(reason) | Reply::Declined(reason)) => {
                Err(FleetError::Failed(format!(
                    "round {round}, client {client}: a model arrived, its order leads to none: {reason}"
                )))
            }
            (None, _) => Err(FleetError::Failed(format!(
                "round {round}, client {client}: the log does not say what became of its order"
            ))),
        }
    }
}

impl ReplayFleet {
    /// Returns what a client sent that cannot be recomputed.
    fn as_stored(&self, round: u32, client: u32, after: bool) -> Result<Reply, FleetError> {
        let failed = |error: &dyn std::fmt::Display| {
            FleetError::Failed(format!("round {round}, client {client}: {error}"))
        };
        let stored = self.stored_updates.read(round, client);
        let stored = stored.map_err(|error| failed(&error))?;
        let model = self.fixed.decode(&stored.bytes);
        Ok(Reply::Trained(Update {
            model: model.map_err(|error| failed(&error))?,
            loss_before: loss(stored.loss_before_q16),
            loss_after: after.then(|| loss(stored.loss_after_q16)),
        }))
    }
}

impl Fleet for ReplayFleet {
    fn samples(&self) -> &[u32] {
        self.fixed.samples()
    }

    fn tensors(&self) -> &[Tensor] {
        self.fixed.tensors()
    }

    fn announce(&mut self, round: u32, model: &[f32]) -> Result<Vec<f32>, FleetError> {
        self.fixed.announce(round, model)
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let replies = self.fixed.train(broadcast)?;
        let orders = broadcast.orders.iter();
        orders
            .zip(replies)
            .map(|(order, reply)| self.check(broadcast, order, reply))
            .collect()
    }

    fn settle(&mut self, log: &RoundLog, _: &[f32]) -> Result<(), FleetError> {
        let told = self.record.fates.keys();
        match told.filter(|(round, _)| *round <= log.round.round).min() {
            None => Ok(()),
            Some((round, client)) => Err(FleetError::Failed(format!(
                "round {round}, client {client}: the log tells of an order that nobody gave"
            ))),
        }
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        self.fixed.gradients(questions)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn arrived(round: u32, model: &str) -> Line {
        Line::Event {
            t_s: 0.0,
            event: Event {
                client: 1,
                round: Some(round),
                what: EventKind::Arrived {
                    model: model.to_owned(),
                    exact: true,
                },
            },
        }
    }

    #[test]
    fn rounds_of_a_crashed_session_count_only_up_to_its_checkpoint() {
        let session = |session_after_round| Line::Session {
            session_after_round,
        };
        let lines = [
            session(0),
            arrived(1, "a"),
            arrived(2, "b"),
            session(1),
            arrived(2, "c"),
        ];
        let Ok(record) = Record::of(lines.map(Ok::<_, Infallible>));
        assert_eq!(record.orders(), 2);
        let fate = |model: &str| Fate::Arrived {
            model: model.to_owned(),
            exact: true,
        };
        assert_eq!(record.fates[&(1, 1)], fate("a"));
        assert_eq!(record.fates[&(2, 1)], fate("c"));
    }
}
