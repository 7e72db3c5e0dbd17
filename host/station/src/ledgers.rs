//! The boards' ledgers beside the model's, over a whole run, from its event log.
//!
//! Harvest and radio energy follow from the order and must agree to the picojoule. Compute energy is
//! booked twice, from the model's cycles and from those the board counted. A board that computes
//! longer waits less, so waiting energy must agree with the model for the board's own computing
//! time.

use gleaner_sim::ClientId;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use gleaner_shared::energy::Snapshot;

use super::event::{EventKind, is_same_waiting, out_of_bounds};
use super::log::Line;
use gleaner_sim::report::plot::number;
use gleaner_sim::report::table::Table;

/// Energy by the model and by the board, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// Energy that the model books.
    pub model_j: f64,
    /// Energy that the board booked.
    pub board_j: f64,
}

impl Pair {
    /// Tells whether both are equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.model_j == self.board_j
    }

    fn add(&mut self, other: Self) {
        self.model_j += other.model_j;
        self.board_j += other.board_j;
    }
}

/// The ledger of one board, or of one of its rounds, beside the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "fields that are named after their value")]
pub struct BoardLedger {
    /// Rounds in which the board reported.
    pub rounds: u32,
    pub harvest: Pair,
    pub radio: Pair,
    pub compute: Pair,
    /// Waiting energy; the model's is for the board's own computing time.
    pub waiting: Pair,
    /// Cycles that the board counted while training.
    pub cycles: u64,
    /// Trained samples, counted once per epoch.
    pub steps: u64,
    /// Rounds in which harvest, radio or waiting differed from the model.
    pub unequal: u32,
}

impl BoardLedger {
    fn add(&mut self, round: &Self) {
        self.rounds = self.rounds.saturating_add(round.rounds);
        self.harvest.add(round.harvest);
        self.radio.add(round.radio);
        self.compute.add(round.compute);
        self.waiting.add(round.waiting);
        self.cycles = self.cycles.saturating_add(round.cycles);
        self.steps = self.steps.saturating_add(round.steps);
        self.unequal = self.unequal.saturating_add(round.unequal);
    }

    /// Returns the counted cycles per sample and epoch.
    #[must_use]
    pub fn cycles_per_sample(&self) -> f64 {
        self.cycles as f64 / self.steps.max(1) as f64
    }
}

/// The ledgers of all boards of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledgers {
    /// The ledger of each client.
    pub boards: BTreeMap<ClientId, BoardLedger>,
    /// Flash wear by client, of boards that report it.
    pub wear: BTreeMap<ClientId, FlashWear>,
    /// Ledgers that the base station refused, by client.
    pub refused: BTreeMap<ClientId, Refused>,
}

/// The refused ledgers of one board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Number of different refused ledgers.
    pub count: u32,
    /// The round of the first, if it came in a round.
    pub round: Option<u32>,
    /// What was impossible about the first.
    pub what: String,
}

impl Refused {
    /// Describes the refused ledgers of a board.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { count, round, what } = self;
        let round = round.map_or_else(String::new, |round| format!(" in round {round}"));
        let first = match count {
            1 => format!("a false ledger{round}"),
            _ => format!("{count} false ledgers, the first{round}"),
        };
        format!("sent {first}: {what}; the base station's booking counts")
    }
}

impl Ledgers {
    /// Sums up a log; rounds that a later session repeated count once.
    ///
    /// # Errors
    /// Returns the first line that cannot be read.
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
            if let Some(what) = refusal(&event.what) {
                let refused = ledgers.refused.entry(event.client).or_insert(Refused {
                    count: 0,
                    round: event.round,
                    what,
                });
                refused.count += 1;
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

    /// Returns the clients whose ledger is wrong: harvest or radio of a counted round differ from the
    /// model, or a ledger was refused.
    #[must_use]
    pub fn mismatched(&self) -> BTreeSet<ClientId> {
        let unequal = self.boards.iter().filter(|(_, ledger)| ledger.unequal > 0);
        let unequal = unequal.map(|(client, _)| *client);
        unequal.chain(self.refused.keys().copied()).collect()
    }
}

/// Returns what is impossible about the ledger of an event, if anything is.
fn refusal(what: &EventKind) -> Option<String> {
    match what {
        EventKind::LedgerRefused {
            field,
            reported,
            least,
            most,
            ..
        } => Some(out_of_bounds(field, *reported, *least, *most)),
        EventKind::LedgerDiffers { expected, found } if !may_follow(expected, found) => {
            Some(format!("{} after {} rounds", found.stored, found.rounds))
        }
        _ => None,
    }
}

/// Tells whether a well-behaved board may have an unexpected ledger, in logs of versions that did not
/// tell refused ledgers apart. It may have computed and sent
/// without the base station's knowledge, before its line was cut or the run was restored from a
/// checkpoint; but its ledger is consistent, starts with its initial energy, and has one income per
/// round.
fn may_follow(expected: &Snapshot, found: &Snapshot) -> bool {
    found.is_consistent()
        && found.initial == expected.initial
        && (found.rounds != expected.rounds || found.harvested == expected.harvested)
}

/// Books an event into the ledger of its round.
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

/// Flash wear of a board, at the first and the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashWear {
    first: Option<Count>,
    last: Count,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    erases: u32,
    closed: u32,
}

impl FlashWear {
    /// Takes the counts of a flash event.
    pub fn note(&mut self, what: &EventKind) {
        if let EventKind::Flash { erases, closed, .. } = *what {
            self.last = Count { erases, closed };
            self.first.get_or_insert(self.last);
        }
    }

    /// Returns the erased sectors per closed round, or `None` if no closed round was written.
    #[must_use]
    pub fn erases_a_round(&self) -> Option<f64> {
        let first = self.first?;
        let rounds = self.last.closed.saturating_sub(first.closed);
        let erases = self.last.erases.saturating_sub(first.erases);
        (rounds > 0).then(|| f64::from(erases) / f64::from(rounds))
    }
}

/// Returns the ledgers of a run as a table.
#[must_use]
pub fn table(ledgers: &Ledgers, name: impl Fn(ClientId) -> String) -> Table {
    let mut table = Table::new(&[
        "board", "rounds", "harvest", "radio", "compute", "modelled", "error", "cycles", "erases",
    ]);
    for (&client, ledger) in &ledgers.boards {
        let Pair { model_j, board_j } = ledger.compute;
        let wear = ledgers
            .wear
            .get(&client)
            .and_then(FlashWear::erases_a_round);
        table.row(vec![
            name(client),
            ledger.rounds.to_string(),
            both(ledger.harvest),
            both(ledger.radio),
            number(1e3 * board_j),
            number(1e3 * model_j),
            format!("{:+.1} %", 100.0 * (board_j / model_j - 1.0)),
            format!("{:.0}", ledger.cycles_per_sample()),
            wear.map_or_else(|| "-".to_owned(), |erases| format!("{erases:.2}")),
        ]);
    }
    table
}

/// Returns one number if both are equal, else both.
fn both(pair: Pair) -> String {
    let (board, model) = (number(1e3 * pair.board_j), number(1e3 * pair.model_j));
    match pair.is_equal() {
        true => board,
        false => format!("{board} NOT {model}"),
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
    fn an_impossible_ledger_is_a_mismatch_and_unreported_spending_is_not() {
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
        for impossible in [sum, gift, income] {
            let found = ledgers([differs(expected, impossible)]);
            assert_eq!(
                found.mismatched(),
                BTreeSet::from([ClientId(2)]),
                "{impossible:?}"
            );
        }
    }

    #[test]
    fn refused_ledgers_are_counted_and_the_first_is_described() {
        let refused = |round, reported| {
            let what = EventKind::LedgerRefused {
                field: "stored".to_owned(),
                reported,
                least: 0,
                most: 430,
                found: after(round),
            };
            line(round, what)
        };
        let found = ledgers([refused(3, 900), refused(4, 800)]);
        assert_eq!(found.mismatched(), BTreeSet::from([ClientId(2)]));
        let Refused { count, round, what } = &found.refused[&ClientId(2)];
        assert_eq!((*count, *round), (2, Some(3)));
        assert_eq!(what, "stored 900 pJ, at most 430 pJ");
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

    #[test]
    fn flash_wear_is_counted_from_the_first_report() {
        let mut wear = FlashWear::default();
        assert_eq!(wear.erases_a_round(), None);
        for (erases, closed) in [(40, 16), (40, 17), (61, 20)] {
            wear.note(&EventKind::Flash {
                erases,
                programs: 9,
                closed,
            });
            wear.note(&EventKind::Sent);
        }
        assert_eq!(wear.erases_a_round(), Some(5.25));
        // A board whose flash was wiped counts from the beginning.
        wear.note(&EventKind::Flash {
            erases: 0,
            programs: 0,
            closed: 0,
        });
        assert_eq!(wear.erases_a_round(), None);
    }

    #[test]
    fn the_table_shows_equal_and_different_ledgers() {
        let pair = |model_j, board_j| Pair { model_j, board_j };
        let text = |radio_j| {
            let ledger = BoardLedger {
                rounds: 1,
                harvest: pair(0.125, 0.125),
                radio: pair(0.25, radio_j),
                compute: pair(0.75, 0.5),
                waiting: pair(0.0, 0.0),
                cycles: 60,
                steps: 30,
                unequal: 0,
            };
            let ledgers = Ledgers {
                boards: BTreeMap::from([(ClientId(2), ledger)]),
                ..Ledgers::default()
            };
            table(&ledgers, |client| format!("pico-{client}")).to_text()
        };
        let equal = text(0.25);
        for words in ["pico-2", " 250 ", "500       750  -33.3 %", "     2  "] {
            assert!(equal.contains(words), "{words} in\n{equal}");
        }
        assert!(text(0.5).contains("500 NOT 250"), "{}", text(0.5));
        let longest = text(0.25).lines().map(str::len).max();
        assert!(longest <= Some(80), "{longest:?}");
    }
}
