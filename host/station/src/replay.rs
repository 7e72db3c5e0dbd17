//! Replays a run from its event log: simulated clients replace the boards, absent clients are absent
//! again, and every model must equal the one that arrived. Built-in schedulers decide again and must
//! come to the logged orders; of a program the logged orders are taken, and it is not started.

use gleaner_sim::ClientId;
use std::collections::{BTreeMap, HashMap};

use super::decisions::LoggedDecisions;
use super::event::{Event, EventKind, loss};
use super::fleet::fingerprint;
use super::log::Line;
use super::stored_updates::StoredUpdates;
use gleaner_learn::train::Tensor;
use gleaner_sim::fleet::FixedFleet;
use gleaner_sim::round::{
    Broadcast, ExactGradient, Fleet, FleetError, Order, Question, Reply, RoundLog, Update,
};
use gleaner_sim::run::Program;

/// Every order and its outcome, from the log.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Orders by round and client; none in logs of earlier versions.
    orders: BTreeMap<(u32, ClientId), Order>,
    outcomes: HashMap<(u32, ClientId), Outcome>,
}

#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    /// A model of this fingerprint arrived; `exact` if it can be recomputed.
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
    /// Collects outcomes; a later session discards the unfinished rounds of an earlier one.
    ///
    /// # Errors
    /// Returns the first line that cannot be read.
    pub fn of<E>(lines: impl IntoIterator<Item = Result<Line, E>>) -> Result<Self, E> {
        let mut record = Self::default();
        for line in lines {
            match line? {
                Line::Session {
                    session_after_round: last,
                } => {
                    // A session after 0 rounds repeats the introduction, round 0.
                    let is_kept = |round: u32| last > 0 && round <= last;
                    record.outcomes.retain(|&(round, _), _| is_kept(round));
                    record.orders.retain(|&(round, _), _| is_kept(round));
                }
                Line::Event { event, .. } => record.note(&event),
            }
        }
        Ok(record)
    }

    fn note(&mut self, event: &Event) {
        let Some(round) = event.round else { return };
        let outcome = match &event.what {
            &EventKind::Decided {
                channel,
                power_w,
                epochs,
                bit_rate_bps,
            } => {
                let order = Order {
                    client: event.client,
                    channel,
                    power_w,
                    epochs,
                    bit_rate_bps,
                };
                self.orders.insert((round, event.client), order);
                return;
            }
            EventKind::Arrived { model, exact } => Outcome::Arrived {
                model: model.clone(),
                exact: *exact,
            },
            EventKind::Absent { reason, declined } => Outcome::Absent {
                reason: reason.clone(),
                declined: *declined,
            },
            _ => return,
        };
        self.outcomes.insert((round, event.client), outcome);
    }

    /// Returns the number of orders.
    #[must_use]
    pub fn orders(&self) -> usize {
        self.outcomes.len()
    }

    /// Returns the last round with an order.
    #[must_use]
    pub fn last_round(&self) -> u32 {
        let rounds = self.outcomes.keys().map(|(round, _)| *round);
        rounds.max().unwrap_or(0)
    }

    /// Returns the orders of every round as the decisions of a program, which is not started.
    ///
    /// # Errors
    /// Names an order that the log has only the outcome of: it is of an earlier version.
    pub fn decisions(&self, program: &Program) -> Result<LoggedDecisions, FleetError> {
        let undecided = self
            .outcomes
            .keys()
            .filter(|it| !self.orders.contains_key(it));
        if let Some((round, client)) = undecided.min() {
            return Err(FleetError::Failed(format!(
                "round {round}, client {client}: the log has an outcome and no order (`decided`), as \
                 earlier versions wrote it; a run under a program cannot be replayed from it"
            )));
        }
        let mut rounds: BTreeMap<u32, Vec<Order>> = BTreeMap::new();
        for (&(round, _), order) in &self.orders {
            rounds.entry(round).or_default().push(*order);
        }
        Ok(LoggedDecisions::new(rounds, program))
    }

    /// Returns the number of updates per client that cannot be recomputed.
    #[must_use]
    pub fn inexact(&self) -> BTreeMap<ClientId, usize> {
        let mut clients = BTreeMap::new();
        for ((_, client), outcome) in &self.outcomes {
            if matches!(outcome, Outcome::Arrived { exact: false, .. }) {
                *clients.entry(*client).or_default() += 1;
            }
        }
        clients
    }
}

/// Simulated clients that replay a recorded run.
pub struct ReplayFleet {
    fixed: FixedFleet,
    record: Record,
    stored_updates: StoredUpdates,
}

impl ReplayFleet {
    /// Replays a record; updates that cannot be recomputed are read from `stored_updates`.
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
        if let Some(logged) = self.record.orders.get(&(round, client))
            && logged != order
        {
            return Err(FleetError::Failed(format!(
                "round {round}, client {client}: the log orders {}, the replay {}",
                words(logged),
                words(order)
            )));
        }
        let outcome = self.record.outcomes.remove(&(round, client));
        let (reply, source) = match outcome {
            Some(Outcome::Arrived { exact: false, .. }) => {
                let after = broadcast.wants_loss_after;
                (
                    self.as_stored(round, client, after)?,
                    "its stored update is",
                )
            }
            _ => (reply, "the replay leads to"),
        };
        match (outcome, reply) {
            (
                Some(Outcome::Absent {
                    reason,
                    declined: true,
                }),
                _,
            ) => Ok(Reply::Declined(reason)),
            (Some(Outcome::Absent { reason, .. }), _) => Ok(Reply::Lost(reason)),
            (Some(Outcome::Arrived { model, .. }), Reply::Trained(update)) => {
                let found = fingerprint(&update.model);
                if found == model {
                    return Ok(Reply::Trained(update));
                }
                Err(FleetError::Failed(format!(
                    "round {round}, client {client}: model {model} arrived, {source} {found}"
                )))
            }
            (Some(Outcome::Arrived { .. }), Reply::Lost(reason) | Reply::Declined(reason)) => {
                Err(FleetError::Failed(format!(
                    "round {round}, client {client}: a model arrived, the replay leads to none: {reason}"
                )))
            }
            (None, _) => Err(FleetError::Failed(format!(
                "round {round}, client {client}: the log has no outcome of its order"
            ))),
        }
    }

    /// Returns the stored update of a client.
    fn as_stored(&self, round: u32, client: ClientId, after: bool) -> Result<Reply, FleetError> {
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

/// Describes an order without its client.
fn words(order: &Order) -> String {
    let Order {
        channel,
        power_w,
        epochs,
        ..
    } = order;
    format!("{epochs} epochs on channel {channel} with {power_w} W")
}

impl Fleet for ReplayFleet {
    fn samples(&self) -> &[u32] {
        self.fixed.samples()
    }

    fn nonzeros(&self) -> &[u64] {
        self.fixed.nonzeros()
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

    fn settle(&mut self, log: &RoundLog, model: &[f32]) -> Result<(), FleetError> {
        self.fixed.settle(log, model)?;
        let left = self.record.outcomes.keys();
        match left.filter(|(round, _)| *round <= log.round.round).min() {
            None => Ok(()),
            Some((round, client)) => Err(FleetError::Failed(format!(
                "round {round}, client {client}: the log has an order that the replay does not"
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
                client: ClientId(1),
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
        let outcome = |model: &str| Outcome::Arrived {
            model: model.to_owned(),
            exact: true,
        };
        assert_eq!(record.outcomes[&(1, ClientId(1))], outcome("a"));
        assert_eq!(record.outcomes[&(2, ClientId(1))], outcome("c"));
    }
}
