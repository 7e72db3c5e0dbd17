//! A run once more, from its event log: simulated clients stand in for the boards, whoever was
//! absent is absent again, and every model must be the one that arrived.

use std::collections::HashMap;

use super::event::{Event, EventKind};
use super::fleet::fingerprint;
use super::log::Line;
use crate::fleet::FixedFleet;
use crate::round::{Broadcast, ExactGradient, Fleet, FleetError, Order, Question, Reply, RoundLog};

/// What the log says became of every order.
#[derive(Clone, Debug, Default)]
pub struct Record {
    fates: HashMap<(u32, u32), Fate>,
}

#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Arrived(String),
    Absent(String),
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
            EventKind::Arrived { model } => Fate::Arrived(model.clone()),
            EventKind::Absent { reason } => Fate::Absent(reason.clone()),
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
}

/// Simulated clients that repeat a recorded run.
pub struct ReplayFleet {
    fixed: FixedFleet,
    record: Record,
}

impl ReplayFleet {
    /// Stands in for the clients of a recorded run.
    #[must_use]
    pub const fn new(fixed: FixedFleet, record: Record) -> Self {
        Self { fixed, record }
    }

    fn check(&mut self, round: u32, order: &Order, reply: Reply) -> Result<Reply, FleetError> {
        let client = order.client;
        let number = u32::try_from(client).unwrap_or(u32::MAX);
        match (self.record.fates.remove(&(round, number)), reply) {
            (Some(Fate::Absent(reason)), _) => Ok(Reply::Lost(reason)),
            (Some(Fate::Arrived(model)), Reply::Trained(update)) => {
                let found = fingerprint(&update.model);
                if found == model {
                    return Ok(Reply::Trained(update));
                }
                Err(FleetError::Failed(format!(
                    "round {round}, client {client}: model {model} arrived, its order leads to \
                     {found}"
                )))
            }
            (Some(Fate::Arrived(_)), Reply::Lost(reason)) => Err(FleetError::Failed(format!(
                "round {round}, client {client}: a model arrived, its order leads to none: {reason}"
            ))),
            (None, _) => Err(FleetError::Failed(format!(
                "round {round}, client {client}: the log does not say what became of its order"
            ))),
        }
    }
}

impl Fleet for ReplayFleet {
    fn samples(&self) -> &[u32] {
        self.fixed.samples()
    }

    fn announce(&mut self, round: u32, model: &[f32]) -> Result<Vec<f32>, FleetError> {
        self.fixed.announce(round, model)
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let replies = self.fixed.train(broadcast)?;
        let orders = broadcast.orders.iter();
        orders
            .zip(replies)
            .map(|(order, reply)| self.check(broadcast.round, order, reply))
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
        assert_eq!(record.fates[&(1, 1)], Fate::Arrived("a".to_owned()));
        assert_eq!(record.fates[&(2, 1)], Fate::Arrived("c".to_owned()));
    }
}
