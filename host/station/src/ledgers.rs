//! The boards' ledgers beside the model's, over a whole run, from its event log.
//!
//! Income and radio follow from the order and must agree to the picojoule; computing is booked
//! twice, from the model's cycles and from those the board counted. Who computes longer waits less:
//! waiting must agree with the model's for the time the board itself computed.

use gleaner_sim::ClientId;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use gleaner_shared::energy::Snapshot;

use super::event::{EventKind, is_same_waiting};
use super::log::Line;
use super::wear::Wear;

/// What a board booked and what the model did, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// By the model.
    pub model_j: f64,
    /// By the board.
    pub board_j: f64,
}

impl Pair {
    /// Tells whether both booked the same.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.model_j == self.board_j
    }

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
    /// Waiting; the model's is that of the time the board itself computed.
    pub waiting: Pair,
    /// Cycles it counted while training.
    pub cycles: u64,
    /// Samples times epochs.
    pub steps: u64,
    /// Rounds in which its income, radio or waiting was not the model's.
    pub unequal: u32,
}

impl BoardLedger {
    fn add(&mut self, round: &Self) {
        self.rounds += round.rounds;
        self.harvest.add(round.harvest);
        self.radio.add(round.radio);
        self.compute.add(round.compute);
        self.waiting.add(round.waiting);
        self.cycles += round.cycles;
        self.steps += round.steps;
        self.unequal += round.unequal;
    }

    /// Returns the cycles it counted per sample and epoch.
    #[must_use]
    pub fn cycles_per_sample(&self) -> f64 {
        self.cycles as f64 / self.steps.max(1) as f64
    }
}

/// The ledgers of all boards of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledgers {
    /// By client.
    pub boards: BTreeMap<ClientId, BoardLedger>,
    /// What the run wore of their flash, where they say.
    pub wear: BTreeMap<ClientId, Wear>,
    /// Clients that showed a ledger which cannot be theirs.
    pub false_books: BTreeSet<ClientId>,
}

impl Ledgers {
    /// Adds up a log; rounds that a later session repeated count once.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn of<E>(lines: impl IntoIterator<Item = Result<Line, E>>) -> Result<Self, E> {
        let mut rounds: BTreeMap<(ClientId, u32), BoardLedger> = BTreeMap::new();
        let mut ledgers = Self::default();
        for line in lines {
            let event = match line? {
                Line::Session {
                    session_after_round: last,
                } => {
                    rounds.retain(|&(_, round), _| last > 0 && round <= last);
                    continue;
                }
                Line::Event { event, .. } => event,
            };
            if matches!(event.what, EventKind::Flash { .. }) {
                ledgers
                    .wear
                    .entry(event.client)
                    .or_default()
                    .note(&event.what);
            }
            if let EventKind::LedgerDiffers { expected, found } = &event.what
                && !may_follow(expected, found)
            {
                ledgers.false_books.insert(event.client);
            }
            if let Some(round) = event.round {
                note(&event.what, rounds.entry((event.client, round)));
            }
        }
        for ((client, _), round) in rounds.iter().filter(|(_, ledger)| ledger.rounds > 0) {
            ledgers.boards.entry(*client).or_default().add(round);
        }
        Ok(ledgers)
    }

    /// Returns the clients whose ledger is not what it must be: income or upload of a round that
    /// counted differ from the model's, or the ledger cannot be theirs at all.
    #[must_use]
    pub fn mismatched(&self) -> BTreeSet<ClientId> {
        let unequal = self.boards.iter().filter(|(_, ledger)| ledger.unequal > 0);
        let unequal = unequal.map(|(client, _)| *client);
        unequal.chain(self.false_books.iter().copied()).collect()
    }
}

/// Tells whether an honest board may come to have a ledger that the base station did not expect. It
/// may have computed and sent what the base station never heard of, before its line was cut or the
/// run went back to a checkpoint; but its books add up, begin where it began, and have one income
/// for a round.
fn may_follow(expected: &Snapshot, found: &Snapshot) -> bool {
    found.is_consistent()
        && found.initial == expected.initial
        && (found.rounds != expected.rounds || found.harvested == expected.harvested)
}

/// Takes note of what an event says of its round.
fn note(what: &EventKind, of_round: Entry<'_, (ClientId, u32), BoardLedger>) {
    match what {
        EventKind::Reported(measured) => {
            let ledger = of_round.or_default();
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
            waiting_model_j,
            waiting_board_j,
        } => {
            let pair = |&model_j: &f64, &board_j: &f64| Pair { model_j, board_j };
            let ledger = of_round.or_default();
            ledger.rounds = 1;
            ledger.compute = pair(compute_model_j, compute_board_j);
            ledger.radio = pair(radio_model_j, radio_board_j);
            ledger.harvest = pair(harvest_model_j, harvest_board_j);
            ledger.waiting = pair(waiting_model_j, waiting_board_j);
            let waited = is_same_waiting(*waiting_model_j, *waiting_board_j);
            let equal = ledger.radio.is_equal() && ledger.harvest.is_equal() && waited;
            ledger.unequal = u32::from(!equal);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use gleaner_shared::energy::{Phase, Spent};
    use gleaner_shared::units::PicoJoules;

    use super::*;
    use crate::event::{Event, Measured};

    fn line(round: u32, what: EventKind) -> Line {
        let event = Event {
            client: ClientId(2),
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
                waiting_model_j: 2.0,
                waiting_board_j: 2.0,
            },
        )
    }

    fn ledgers(lines: impl IntoIterator<Item = Line>) -> Ledgers {
        let Ok(ledgers) = Ledgers::of(lines.into_iter().map(Ok::<_, Infallible>));
        ledgers
    }

    const fn session(session_after_round: u32) -> Line {
        Line::Session {
            session_after_round,
        }
    }

    fn differs(expected: Snapshot, found: Snapshot) -> Line {
        line(1, EventKind::LedgerDiffers { expected, found })
    }

    fn after(rounds: u32) -> Snapshot {
        let pico = |per_round: u64| PicoJoules(per_round * u64::from(rounds));
        let mut spent = Spent::ZERO;
        (spent[Phase::Train], spent[Phase::Transmit]) = (pico(5), pico(4));
        Snapshot {
            initial: PicoJoules(500),
            stored: PicoJoules(500 + u64::from(rounds)),
            harvested: pico(10),
            spent,
            rounds,
            ..Snapshot::default()
        }
    }

    #[test]
    fn an_upload_that_is_not_the_models_is_a_mismatch_even_where_the_sums_agree() {
        let (high, low) = (reconciled(1, 0.375), reconciled(2, 0.125));
        let found = ledgers([session(0), high, low]);
        assert!(found.boards[&ClientId(2)].radio.is_equal());
        assert_eq!(found.mismatched(), BTreeSet::from([ClientId(2)]));
        // Computing may differ, and a round that was run again counts as the second time.
        let again = [reconciled(1, 0.375), session(0), reconciled(1, 0.25)];
        assert_eq!(ledgers(again).mismatched(), BTreeSet::new());
    }

    #[test]
    fn books_that_an_honest_board_cannot_have_are_a_mismatch_and_unheard_spending_is_not() {
        let expected = after(3);
        let mut spent = Snapshot {
            stored: PicoJoules(expected.stored.0 - 7),
            ..expected
        };
        spent.spent[Phase::Transmit].0 += 7;
        for honest in [spent, after(4), after(2), after(9)] {
            let found = ledgers([differs(expected, honest)]);
            assert_eq!(found.mismatched(), BTreeSet::new(), "{honest:?}");
        }
        let sum = Snapshot {
            stored: PicoJoules(9_999),
            ..expected
        };
        let gift = Snapshot {
            initial: PicoJoules(600),
            stored: PicoJoules(expected.stored.0 + 100),
            ..expected
        };
        let income = Snapshot {
            harvested: PicoJoules(expected.harvested.0 + 100),
            stored: PicoJoules(expected.stored.0 + 100),
            ..expected
        };
        for false_books in [sum, gift, income] {
            let found = ledgers([differs(expected, false_books)]);
            assert_eq!(
                found.mismatched(),
                BTreeSet::from([ClientId(2)]),
                "{false_books:?}"
            );
        }
    }

    #[test]
    fn a_round_that_was_reported_or_run_twice_counts_once() {
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
        let ledger = ledgers(lines).boards[&ClientId(2)];
        assert_eq!((ledger.rounds, ledger.cycles, ledger.steps), (2, 120, 60));
        assert_eq!((ledger.compute.model_j, ledger.compute.board_j), (1.5, 1.0));
    }
}
