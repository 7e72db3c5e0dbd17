//! The boards' ledgers beside the model's, over a whole run, from its event log.
//!
//! Income and upload follow from the order and must agree to the picojoule; computing is booked
//! twice, from the model's cycles and from those the board counted.

use std::collections::BTreeMap;

use super::event::EventKind;
use super::log::Line;

/// What a board booked and what the model did, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// By the model.
    pub model_j: f64,
    /// By the board.
    pub board_j: f64,
}

impl Pair {
    fn add(&mut self, other: Self) {
        self.model_j += other.model_j;
        self.board_j += other.board_j;
    }
}

/// The ledgers of one board, or of one of its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoardLedger {
    /// Rounds in which it reported.
    pub rounds: u32,
    /// Income.
    pub harvest: Pair,
    /// Uploads.
    pub radio: Pair,
    /// Computing.
    pub compute: Pair,
    /// Cycles it counted while training.
    pub cycles: u64,
    /// Samples times epochs.
    pub steps: u64,
}

impl BoardLedger {
    fn add(&mut self, round: &Self) {
        self.rounds += round.rounds;
        self.harvest.add(round.harvest);
        self.radio.add(round.radio);
        self.compute.add(round.compute);
        self.cycles += round.cycles;
        self.steps += round.steps;
    }

    /// Returns the cycles it counted per sample and epoch.
    #[must_use]
    pub fn cycles_per_sample(&self) -> f64 {
        self.cycles as f64 / self.steps.max(1) as f64
    }
}

/// The ledgers of all boards of a run, by client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledgers(pub BTreeMap<u32, BoardLedger>);

impl Ledgers {
    /// Adds up a log; rounds that a later session repeated count once.
    #[must_use]
    pub fn of(lines: &[Line]) -> Self {
        let mut rounds: BTreeMap<(u32, u32), BoardLedger> = BTreeMap::new();
        for line in lines {
            let event = match line {
                Line::Session {
                    session_after_round: last,
                } => {
                    rounds.retain(|&(_, round), _| *last > 0 && round <= *last);
                    continue;
                }
                Line::Event { event, .. } => event,
            };
            let Some(round) = event.round else { continue };
            let place = (event.client, round);
            match &event.what {
                EventKind::Reported(measured) => {
                    let ledger = rounds.entry(place).or_default();
                    ledger.cycles = measured.cycles;
                    ledger.steps = u64::from(measured.samples) * u64::from(measured.epochs);
                }
                EventKind::Reconciled {
                    compute_model_j,
                    compute_board_j,
                    radio_model_j,
                    radio_board_j,
                    harvest_model_j,
                    harvest_board_j,
                } => {
                    let pair = |&model_j: &f64, &board_j: &f64| Pair { model_j, board_j };
                    let ledger = rounds.entry(place).or_default();
                    ledger.rounds = 1;
                    ledger.compute = pair(compute_model_j, compute_board_j);
                    ledger.radio = pair(radio_model_j, radio_board_j);
                    ledger.harvest = pair(harvest_model_j, harvest_board_j);
                }
                _ => {}
            }
        }
        let mut ledgers = Self::default();
        for ((client, _), round) in rounds.iter().filter(|(_, ledger)| ledger.rounds > 0) {
            ledgers.0.entry(*client).or_default().add(round);
        }
        ledgers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::event::{Event, Measured};

    fn line(round: u32, what: EventKind) -> Line {
        let event = Event {
            client: 2,
            round: Some(round),
            what,
        };
        Line::Event { t_s: 0.0, event }
    }

    fn report(round: u32) -> Line {
        line(
            round,
            EventKind::Reported(Box::new(Measured {
                loss_before: 2.0,
                loss_after: 1.0,
                samples: 10,
                epochs: 3,
                cycles: 60,
                cycles_per_sample: 2.0,
                compute_j: 0.5,
                radio_j: 0.25,
                harvest_j: 0.125,
                stored_j: 1.0,
            })),
        )
    }

    fn reconciled(round: u32, radio_board_j: f64) -> Line {
        line(
            round,
            EventKind::Reconciled {
                compute_model_j: 0.75,
                compute_board_j: 0.5,
                radio_model_j: 0.25,
                radio_board_j,
                harvest_model_j: 0.125,
                harvest_board_j: 0.125,
            },
        )
    }

    #[test]
    fn a_round_that_was_reported_or_run_twice_counts_once() {
        let session = |session_after_round| Line::Session {
            session_after_round,
        };
        let lines = [
            session(0),
            report(1),
            report(1),
            reconciled(1, 0.25),
            report(2),
            reconciled(2, 0.25),
            session(1),
            report(2),
            reconciled(2, 0.25),
            report(3),
        ];
        let ledger = Ledgers::of(&lines).0[&2];
        assert_eq!((ledger.rounds, ledger.cycles, ledger.steps), (2, 120, 60));
        assert_eq!((ledger.compute.model_j, ledger.compute.board_j), (1.5, 1.0));
    }
}
