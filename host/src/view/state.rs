//! State of the view, updated by events and finished rounds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use gleaner_sim::round::{ClientState, RoundLog};
use gleaner_sim::scenario::Scenario;
use gleaner_station::books::{Booked, Books, total};
use gleaner_station::event::{Event, EventKind};
use gleaner_station::fleet_file::FleetFile;

/// Rounds that the estimate is based on.
const ROUNDS: usize = 5;

/// Ends of the newest rounds, for an estimate of the remaining time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundTimes {
    /// Start of the oldest of these rounds, then the end of each.
    ends: VecDeque<Instant>,
}

impl RoundTimes {
    /// Records the end of a round, or the start of the first.
    pub fn mark(&mut self, now: Instant) {
        if self.ends.len() > ROUNDS {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
    }

    /// Estimates the time of `rounds` rounds, including the running one; returns `None` before the
    /// first round ended.
    pub fn left(&self, rounds: usize, now: Instant) -> Option<Duration> {
        let (first, last) = (self.ends.front()?, self.ends.back()?);
        let known = u32::try_from(self.ends.len() - 1).ok()?;
        let mean = last.duration_since(*first).checked_div(known)?;
        let rounds = u32::try_from(rounds).ok()?;
        let running = now.saturating_duration_since(*last).min(mean);
        Some(mean.saturating_mul(rounds).saturating_sub(running))
    }
}

/// Lines of the log that are kept.
const LINES: usize = 8;

/// Activity of a board that failed too often and gets no order.
const SITS_OUT: &str = "sits out";

/// One client on the screen.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields that are named after their value")]
pub struct BoardState {
    pub name: String,
    /// Activity of the client, as a word.
    pub doing: String,
    /// Whether the client is connected or simulated.
    pub present: bool,
    /// Energy in the store, if it is known.
    pub stored_j: Option<f64>,
    pub storage_j: f64,
    /// Energy in the board's ledger and in the model, after the last round.
    pub booked: Booked,
    /// Round and energy in the store, before the first round and after each.
    pub history: Vec<(u32, f64)>,
    pub channel: Option<usize>,
    pub power_w: Option<f64>,
    /// Share of the current transfer or of the epochs that is done.
    pub progress: Option<f64>,
    epochs: u32,
    /// Rounds in which the client participated.
    pub rounds: u32,
}

impl BoardState {
    /// Returns the fill level of the store after each round, in percent.
    pub fn filled(&self) -> Vec<(f64, f64)> {
        let percent = |stored: f64| 100.0 * stored / self.storage_j.max(f64::MIN_POSITIVE);
        let history = self.history.iter();
        history
            .map(|&(round, stored)| (f64::from(round), percent(stored)))
            .collect()
    }
}

/// Everything on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewState {
    /// The clients, in order of their numbers.
    pub boards: Vec<BoardState>,
    /// Number of finished rounds.
    pub round: u32,
    /// Rounds of the run.
    pub total: usize,
    /// Round and accuracy in percent.
    pub accuracy: Vec<(f64, f64)>,
    /// Privacy spent, where noise is added.
    pub epsilon: Option<f64>,
    /// Energy that all clients spent, by the model.
    pub spent_j: f64,
    /// Events of the boards' ledgers.
    pub books: Books,
    /// Energy of all boards in their ledgers and in the model.
    pub booked: Booked,
    /// Ends of the newest rounds.
    pub times: RoundTimes,
    /// The newest lines of the log.
    pub lines: VecDeque<String>,
    /// Address and counts of the listener.
    pub listener: Option<String>,
}

impl ViewState {
    /// Returns the state before the first event.
    #[must_use]
    pub fn new(fleet: &FleetFile, scenario: &Scenario) -> Self {
        let board = |entry: &gleaner_station::fleet_file::Entry| BoardState {
            name: entry.name.clone(),
            doing: match entry.link.is_simulated() {
                true => "simulated".to_owned(),
                false => "not connected".to_owned(),
            },
            present: entry.link.is_simulated(),
            // No event reports the store of a simulated client.
            stored_j: (!entry.link.is_simulated()).then(|| entry.stored(scenario).as_joules()),
            storage_j: entry.store(scenario).capacity.as_joules(),
            booked: Booked::default(),
            history: Vec::new(),
            channel: None,
            power_w: None,
            progress: None,
            epochs: 0,
            rounds: 0,
        };
        Self {
            boards: fleet.clients.iter().map(board).collect(),
            ..Self::default()
        }
    }

    /// Records the start of the rounds.
    pub fn start(&mut self, done: usize, total: usize, now: Instant) {
        self.round = u32::try_from(done).unwrap_or(u32::MAX);
        self.total = total;
        self.times.mark(now);
        self.books.begin_session(self.round);
        self.remember_stores();
        self.update_books();
    }

    /// Updates the boards' energy. The events of a round are here before its log.
    fn update_books(&mut self) {
        let books = self.books.boards();
        self.booked = total(&books).compared;
        for (client, it) in books {
            if let Some(board) = self.boards.get_mut(client.index()) {
                board.booked = it.compared;
            }
        }
    }

    /// Returns the number of remaining rounds.
    pub fn rounds_left(&self) -> usize {
        self.total.saturating_sub(self.round as usize)
    }

    /// Returns the phase of the round: the earliest one that a board is still in.
    pub fn phase(&self) -> &'static str {
        let any = |doing: &str| self.boards.iter().any(|board| board.doing == doing);
        let steps = ["downloading", "training", "uploading"];
        match steps.into_iter().find(|step| any(step)) {
            Some(step) => step,
            None if any("delivered") => "closing",
            None => "planning",
        }
    }

    fn remember_stores(&mut self) {
        for board in &mut self.boards {
            board
                .history
                .extend(board.stored_j.map(|stored| (self.round, stored)));
        }
    }

    /// Adds a line to the log.
    pub fn note(&mut self, line: String) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Updates the state by an event.
    pub fn handle(&mut self, event: &Event) {
        self.books.note(event);
        let Some(board) = self.boards.get_mut(event.client.index()) else {
            return;
        };
        let words = event.what.words();
        match &event.what {
            EventKind::Receiving { have, of } => {
                board.doing = "uploading".to_owned();
                board.progress = Some(f64::from(*have) / f64::from((*of).max(1)));
                return;
            }
            EventKind::Epoch { done } => {
                board.doing = "training".to_owned();
                board.progress = Some(f64::from(*done) / f64::from(board.epochs.max(1)));
                return;
            }
            EventKind::Ordered {
                epochs,
                channel,
                power_w,
            } => {
                board.doing = "training".to_owned();
                board.epochs = *epochs;
                (board.channel, board.power_w) = (Some(*channel), Some(*power_w));
                board.progress = Some(0.0);
                return;
            }
            EventKind::Sending { .. } => {
                board.doing = "downloading".to_owned();
                (board.channel, board.power_w, board.progress) = (None, None, None);
                return;
            }
            EventKind::Decided { .. }
            | EventKind::Sent
            | EventKind::Arrived { .. }
            | EventKind::Absent { .. }
            | EventKind::Flash { .. } => return,
            EventKind::Closed { ledger, .. } => {
                board.stored_j = Some(ledger.stored.as_joules());
                return;
            }
            EventKind::Opened { .. } => {
                board.doing = "greeting".to_owned();
                return;
            }
            EventKind::Reported(measured) => {
                board.stored_j = Some(measured.stored_j);
                board.progress = None;
            }
            EventKind::Connected { .. } => {
                board.doing = "ready".to_owned();
                board.present = true;
            }
            EventKind::Gone { .. } | EventKind::Lost { .. } | EventKind::Refused { .. } => {
                board.doing = "not connected".to_owned();
                board.present = false;
                board.progress = None;
            }
            EventKind::Missing { .. } => {
                board.doing = "no update".to_owned();
                board.progress = None;
            }
            EventKind::SitsOut { .. } => {
                board.doing = SITS_OUT.to_owned();
                board.progress = None;
            }
            EventKind::Uploaded { .. } => {
                board.doing = "delivered".to_owned();
                board.progress = Some(1.0);
            }
            EventKind::Reconciled { .. }
            | EventKind::Crashed { .. }
            | EventKind::Contended { .. }
            | EventKind::LedgerDiffers { .. }
            | EventKind::LedgerRefused { .. }
            | EventKind::Implausible { .. }
            | EventKind::Dropped { .. } => {}
        }
        let line = format!("{}: {words}", board.name);
        self.note(line);
    }

    /// Updates the state by a finished round.
    pub fn finish_round(&mut self, log: &RoundLog, now: Instant) {
        self.round = log.round.round;
        self.times.mark(now);
        self.spent_j = log.round.cumulative_spent_j;
        self.epsilon = log.round.privacy.map(|privacy| privacy.epsilon);
        if let Some(accuracy) = log.round.accuracy {
            self.accuracy
                .push((f64::from(log.round.round), 100.0 * accuracy));
        }
        // Round 0 introduces the clients and does not count.
        let counts = log.round.round > 0;
        for (board, row) in self.boards.iter_mut().zip(&log.clients) {
            board.rounds += u32::from(counts && row.state == ClientState::Trained);
            (board.channel, board.power_w, board.progress) = (None, None, None);
            if board.present && !["simulated", SITS_OUT].contains(&board.doing.as_str()) {
                board.doing = "ready".to_owned();
            }
        }
        self.remember_stores();
        self.update_books();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::ClientId;
    use gleaner_station::fleet_file::template;

    fn hear(state: &mut ViewState, what: EventKind) {
        state.handle(&Event {
            client: ClientId(0),
            round: Some(1),
            what,
        });
    }

    #[test]
    fn a_board_is_followed_from_absence_to_delivery_and_back() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        assert_eq!(state.boards[0].doing, "not connected");
        let ordered = EventKind::Ordered {
            epochs: 4,
            channel: 2,
            power_w: 0.1,
        };
        hear(&mut state, ordered);
        hear(&mut state, EventKind::Epoch { done: 1 });
        assert_eq!(state.boards[0].progress, Some(0.25));
        assert_eq!(state.boards[0].channel, Some(2));
        hear(&mut state, EventKind::Receiving { have: 21, of: 42 });
        assert_eq!(
            (state.boards[0].doing.as_str(), state.boards[0].progress),
            ("uploading", Some(0.5))
        );
        let (bytes, whole) = (39_776, false);
        hear(&mut state, EventKind::Sending { bytes, whole });
        assert_eq!(state.boards[0].channel, None, "of the round before");
        let reason = "unplugged".to_owned();
        hear(&mut state, EventKind::Gone { reason });
        assert!(!state.boards[0].present);
        assert!(state.lines.back().unwrap().contains("unplugged"));
    }

    #[test]
    fn a_board_sits_out_until_its_next_order() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        let reason = "training took too long".to_owned();
        hear(&mut state, EventKind::Missing { reason });
        let (failures, until) = (2, 2);
        hear(&mut state, EventKind::SitsOut { failures, until });
        assert_eq!(state.boards[0].doing, SITS_OUT);
        assert!(state.lines.back().unwrap().contains("until round 2"));
        let (bytes, whole) = (39_776, false);
        hear(&mut state, EventKind::Sending { bytes, whole });
        assert_eq!(state.boards[0].doing, "downloading");
    }

    #[test]
    fn the_phase_is_the_earliest_one_of_a_board() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        let now = Instant::now();
        state.start(0, 3, now);
        assert_eq!((state.phase(), state.rounds_left()), ("planning", 3));
        let (bytes, whole) = (39_776, false);
        hear(&mut state, EventKind::Sending { bytes, whole });
        state.boards[1].doing = "uploading".to_owned();
        assert_eq!(state.phase(), "downloading");
        hear(&mut state, EventKind::Epoch { done: 1 });
        assert_eq!(state.phase(), "training");
        state.boards[0].doing = "delivered".to_owned();
        assert_eq!(state.phase(), "uploading");
        state.boards[1].doing = "delivered".to_owned();
        assert_eq!(state.phase(), "closing");
    }

    #[test]
    fn stores_are_recorded_round_by_round() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        state.start(0, 2, Instant::now());
        (state.boards[0].storage_j, state.boards[0].stored_j) = (0.5, Some(0.25));
        state.round = 1;
        state.remember_stores();
        assert_eq!(state.boards[0].history, [(0, 1_000.0), (1, 0.25)]);
        assert_eq!(state.boards[0].filled()[1], (1.0, 50.0));
        assert!(state.boards[2].history.is_empty(), "a simulated client");
    }

    #[test]
    fn the_log_keeps_its_newest_lines() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        (0..20).for_each(|n| state.note(n.to_string()));
        assert_eq!(state.lines.len(), LINES);
        assert_eq!(state.lines.back().unwrap(), "19");
    }

    #[test]
    fn the_remaining_time_follows_the_newest_rounds() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut times = RoundTimes::default();
        assert_eq!(times.left(10, at(0)), None);
        times.mark(at(0));
        assert_eq!(times.left(10, at(9)), None, "no round is known");
        // A slow first round, then six of ten seconds.
        for end in [100, 110, 120, 130, 140, 150, 160] {
            times.mark(at(end));
        }
        let left = |rounds, seconds| times.left(rounds, at(seconds)).unwrap().as_secs();
        assert_eq!(left(3, 160), 30, "the first round no longer counts");
        assert_eq!(left(3, 164), 26);
        assert_eq!(left(3, 999), 20, "a late round is not worth more than one");
        assert_eq!(left(0, 160), 0);
    }
}
