//! Energy that the boards' own ledgers booked, beside the model's booking of the same rounds.
//!
//! A round's booking of a board is the difference between its ledgers at the ends of two rounds; the
//! `closed` events of a run have both. A declined order is resting in both books. What a board did of
//! an order without a report, or again after a reset, is unknown to the model: it is counted apart
//! and not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gleaner_shared::energy::{Phase, Snapshot, Spent};
use gleaner_sim::ClientId;
use gleaner_sim::report::plot::number;

use crate::event::{Event, EventKind};
use crate::log::{EventLogError, Line, each_line};

/// Share of the modelled energy by which a ledger may differ from it.
pub const TOLERANCE: f64 = 0.05;

/// Energy of some rounds in both books.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Booked {
    /// Number of rounds of boards.
    pub rounds: u32,
    /// Energy that the model booked, by phase.
    pub model: Spent,
    /// Energy that the ledgers booked, by phase.
    pub board: Spent,
}

impl Booked {
    const fn add(&mut self, other: &Self) {
        self.rounds = self.rounds.saturating_add(other.rounds);
        self.model = self.model.saturating_add(&other.model);
        self.board = self.board.saturating_add(&other.board);
    }

    /// Returns the modelled energy in joules.
    #[must_use]
    pub const fn model_j(&self) -> f64 {
        self.model.total().as_joules()
    }

    /// Returns the energy of the ledgers in joules.
    #[must_use]
    pub const fn board_j(&self) -> f64 {
        self.board.total().as_joules()
    }

    /// Returns by which share of the modelled energy the ledgers differ from it; infinite where the
    /// model booked nothing and a ledger did.
    #[must_use]
    pub fn difference(&self) -> f64 {
        if self.board == self.model {
            return 0.0;
        }
        self.board_j() / self.model_j() - 1.0
    }

    /// Tells whether the books differ by more than [`TOLERANCE`].
    #[must_use]
    pub fn differs(&self) -> bool {
        let (model, board) = (self.model.total().0, self.board.total().0);
        model.abs_diff(board) as f64 > TOLERANCE * model as f64
    }

    /// Returns the phase in which the books differ most.
    #[must_use]
    pub fn worst_phase(&self) -> Phase {
        let by = |phase: Phase| self.model.of(phase).0.abs_diff(self.board.of(phase).0);
        let phases = Phase::IN_TIME.into_iter();
        phases
            .max_by_key(|&phase| by(phase))
            .unwrap_or(Phase::Train)
    }

    /// Describes the difference in words.
    #[must_use]
    pub fn words(&self) -> String {
        let phase = self.worst_phase();
        let mj = |joules: f64| number(1e3 * joules);
        format!(
            "booked {} mJ, modelled {} mJ ({}), most in {}: booked {} mJ, modelled {} mJ",
            mj(self.board_j()),
            mj(self.model_j()),
            percent(self.difference()),
            phase.name(),
            mj(self.board.of(phase).as_joules()),
            mj(self.model.of(phase).as_joules()),
        )
    }
}

/// Writes a difference in percent.
#[must_use]
pub fn percent(difference: f64) -> String {
    match difference.is_finite() {
        true => format!("{:+.1} %", 100.0 * difference),
        false => "not modelled".to_owned(),
    }
}

/// Both books of one board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoardBooks {
    /// Rounds that are compared.
    pub compared: Booked,
    /// Rounds without a report or with a reset, and what a board did without the base station's
    /// knowledge.
    pub apart: Booked,
    /// Rounds in which the board declined its order; they are compared.
    pub declined: u32,
}

/// One round of one board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    /// The ledger's sums after the round, and the model's booking where the log has it.
    closed: Option<(Spent, Option<Spent>)>,
    cut_off: bool,
    declined: bool,
    /// How often the board accepted the order.
    accepted: u32,
    /// The ledger's sums at the start of the round, where the base station did not know them.
    base: Option<Spent>,
}

/// Both books of all boards of a run, from its events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    rounds: BTreeMap<(ClientId, u32), Round>,
    /// The [`Round::base`] of each client's next closed round.
    pending: BTreeMap<ClientId, Spent>,
}

impl Books {
    /// Reads the books of an event log; a missing log is empty.
    ///
    /// # Errors
    /// Names the file and the line.
    pub fn of(events: &Path) -> Result<Self, EventLogError> {
        let mut books = Self::default();
        if events.is_file() {
            for line in each_line(events)? {
                books.read(&line?);
            }
        }
        Ok(books)
    }

    /// Takes a line of the log; rounds that a later session repeats count once.
    pub fn read(&mut self, line: &Line) {
        match line {
            Line::Event { event, .. } => self.note(event),
            Line::Session {
                session_after_round: last,
            } => self.begin_session(*last),
        }
    }

    /// Begins a session that continues after a round; 0 is a new run.
    pub fn begin_session(&mut self, last: u32) {
        self.rounds
            .retain(|&(_, round), _| last > 0 && round <= last);
        self.pending.clear();
    }

    /// Takes an event of the run.
    pub fn note(&mut self, event: &Event) {
        if let EventKind::LedgerDiffers { expected, found } = &event.what
            && is_continued(expected, found)
        {
            self.pending.insert(event.client, found.spent);
        }
        if matches!(event.what, EventKind::LedgerRefused { .. }) {
            self.pending.remove(&event.client);
        }
        let Some(round) = event.round else { return };
        let place = self.rounds.entry((event.client, round));
        match &event.what {
            EventKind::Ordered { .. } => place.or_default().accepted += 1,
            EventKind::Absent { declined: true, .. } => place.or_default().declined = true,
            EventKind::Closed {
                ledger,
                model,
                cut_off,
            } => {
                let of_round = place.or_default();
                of_round.closed = Some((ledger.spent, *model));
                of_round.cut_off = *cut_off;
                of_round.base = self.pending.remove(&event.client);
            }
            _ => {}
        }
    }

    /// Returns the books of each board.
    #[must_use]
    pub fn boards(&self) -> BTreeMap<ClientId, BoardBooks> {
        let mut boards: BTreeMap<ClientId, BoardBooks> = BTreeMap::new();
        let mut before = (ClientId::default(), Spent::ZERO);
        for (&(client, _), round) in &self.rounds {
            let Some((ledger, model)) = round.closed else {
                continue;
            };
            if before.0 != client {
                before = (client, Spent::ZERO);
            }
            let last = std::mem::replace(&mut before.1, ledger);
            let Some(model) = model else { continue };
            let books = boards.entry(client).or_default();
            books.declined += u32::from(round.declined);
            let since = |base: &Spent| Booked {
                rounds: 1,
                model,
                board: ledger.saturating_sub(base),
            };
            if round.cut_off || round.accepted > 1 {
                books.apart.add(&since(&last));
                continue;
            }
            let base = round.base.unwrap_or(last);
            books.compared.add(&since(&base));
            books.apart.add(&Booked {
                board: base.saturating_sub(&last),
                ..Booked::default()
            });
        }
        boards
    }
}

/// Tells whether a board continues with a ledger that the base station does not know.
fn is_continued(expected: &Snapshot, found: &Snapshot) -> bool {
    found.is_consistent()
        && found.rounds <= expected.rounds.saturating_add(1)
        && found.age() > expected.age()
}

/// Returns both books of all boards together.
#[must_use]
pub fn total(boards: &BTreeMap<ClientId, BoardBooks>) -> BoardBooks {
    let mut total = BoardBooks::default();
    for books in boards.values() {
        total.compared.add(&books.compared);
        total.apart.add(&books.apart);
        total.declined += books.declined;
    }
    total
}

/// Returns the clients whose books differ by more than [`TOLERANCE`].
#[must_use]
pub fn differing(boards: &BTreeMap<ClientId, BoardBooks>) -> BTreeSet<ClientId> {
    let differing = boards.iter().filter(|(_, it)| it.compared.differs());
    differing.map(|(client, _)| *client).collect()
}

#[cfg(test)]
mod tests {
    use gleaner_shared::units::PicoJoules;

    use super::*;

    const BOARD: ClientId = ClientId(2);

    fn spent(train: u64, sleep: u64) -> Spent {
        let mut spent = Spent::ZERO;
        (spent[Phase::Train], spent[Phase::Sleep]) = (PicoJoules(train), PicoJoules(sleep));
        spent
    }

    /// Returns a ledger that has spent so much in so many rounds.
    fn ledger(rounds: u32, spent: Spent) -> Snapshot {
        let initial = PicoJoules(1_000_000);
        Snapshot {
            initial,
            stored: initial.saturating_sub(spent.total()),
            spent,
            rounds,
            ..Snapshot::default()
        }
    }

    fn event(round: Option<u32>, what: EventKind) -> Line {
        let client = BOARD;
        let event = Event {
            client,
            round,
            what,
        };
        Line::Event { t_s: 0.0, event }
    }

    fn closed(round: u32, board: Spent, model: Spent) -> Line {
        let what = EventKind::Closed {
            ledger: ledger(round, board),
            model: Some(model),
            cut_off: false,
        };
        event(Some(round), what)
    }

    fn cut_off(round: u32, board: Spent, model: Spent) -> Line {
        let what = EventKind::Closed {
            ledger: ledger(round, board),
            model: Some(model),
            cut_off: true,
        };
        event(Some(round), what)
    }

    fn ordered(round: u32) -> Line {
        let what = EventKind::Ordered {
            epochs: 1,
            channel: 0,
            power_w: 0.1,
        };
        event(Some(round), what)
    }

    fn books(lines: impl IntoIterator<Item = Line>) -> BoardBooks {
        let mut books = Books::default();
        lines.into_iter().for_each(|line| books.read(&line));
        books.boards().remove(&BOARD).unwrap_or_default()
    }

    #[test]
    fn a_round_is_the_difference_of_two_ledgers() {
        let found = books([
            closed(0, spent(10, 0), spent(10, 0)),
            closed(1, spent(30, 5), spent(10, 5)),
            closed(2, spent(50, 10), spent(10, 5)),
        ]);
        let Booked {
            rounds,
            model,
            board,
        } = found.compared;
        assert_eq!((rounds, model, board), (3, spent(30, 10), spent(50, 10)));
        assert!(found.compared.differs());
        assert_eq!(found.compared.worst_phase(), Phase::Train);
        assert_eq!(found.compared.difference(), 0.5);
        assert_eq!(found.apart, Booked::default());
    }

    #[test]
    fn books_differ_from_five_percent_on() {
        let pair = |model, board| Booked {
            rounds: 1,
            model: spent(model, 0),
            board: spent(board, 0),
        };
        for (model, board, differs) in [
            (0, 0, false),
            (1_000, 1_050, false),
            (1_000, 1_051, true),
            (1_000, 949, true),
            (0, 1, true),
        ] {
            assert_eq!(pair(model, board).differs(), differs, "{model} {board}");
        }
        assert!(pair(0, 1).words().contains("not modelled"));
    }

    #[test]
    fn a_declined_order_is_compared_as_resting() {
        let declined = EventKind::Absent {
            reason: String::new(),
            declined: true,
        };
        let found = books([
            event(Some(1), declined),
            closed(1, spent(0, 7), spent(0, 7)),
        ]);
        assert_eq!((found.declined, found.compared.rounds), (1, 1));
        assert!(!found.compared.differs());
    }

    #[test]
    fn orders_that_were_cut_off_or_repeated_are_apart() {
        let found = books([
            closed(1, spent(20, 5), spent(20, 5)),
            // The line was cut while the board trained, and the base station booked its sleep.
            cut_off(2, spent(20, 11), spent(20, 5)),
            // A reset while it trained: the order was accepted again.
            ordered(3),
            ordered(3),
            closed(3, spent(55, 16), spent(20, 5)),
            ordered(4),
            closed(4, spent(75, 21), spent(20, 5)),
        ]);
        assert_eq!(found.compared.rounds, 2);
        assert_eq!(found.compared.model, spent(40, 10));
        assert_eq!(found.compared.board, spent(40, 10));
        assert_eq!(found.apart.rounds, 2);
        assert_eq!(found.apart.model, spent(40, 10));
        assert_eq!(found.apart.board, spent(35, 11));
    }

    #[test]
    fn what_the_base_station_did_not_know_is_apart_from_the_round_it_shows_up_in() {
        let (known, unknown) = (ledger(1, spent(0, 5)), ledger(1, spent(20, 4)));
        let differs = |found| EventKind::LedgerDiffers {
            expected: known,
            found,
        };
        let lines = |found: Snapshot, after: Spent| {
            books([
                cut_off(1, known.spent, spent(20, 4)),
                event(None, differs(found)),
                closed(2, after, spent(10, 4)),
            ])
        };
        let found = lines(unknown, spent(30, 8));
        assert_eq!(found.compared.board, spent(10, 4));
        assert_eq!(found.apart.board, spent(20, 5));
        // An impossible ledger is not adopted, and nothing is subtracted for it.
        let impossible = Snapshot {
            stored: PicoJoules(7),
            ..unknown
        };
        let found = lines(impossible, spent(10, 9));
        assert_eq!(found.compared.board, spent(10, 4));
    }

    #[test]
    fn a_round_that_is_run_again_counts_as_the_second_time() {
        let session = Line::Session {
            session_after_round: 1,
        };
        let found = books([
            closed(1, spent(10, 0), spent(10, 0)),
            closed(2, spent(90, 0), spent(10, 0)),
            session,
            closed(2, spent(20, 0), spent(10, 0)),
        ]);
        assert_eq!(found.compared.board, found.compared.model);
        assert_eq!(found.compared.rounds, 2);
    }

    #[test]
    fn rounds_of_earlier_versions_are_not_compared() {
        let mut old = closed(1, spent(70, 0), spent(0, 0));
        if let Line::Event { event, .. } = &mut old
            && let EventKind::Closed { model, .. } = &mut event.what
        {
            *model = None;
        }
        let found = books([old, closed(2, spent(80, 0), spent(10, 0))]);
        assert_eq!(found.compared.rounds, 1);
        assert!(!found.compared.differs());
    }
}
