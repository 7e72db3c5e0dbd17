//! What the view knows, gathered from events and finished rounds.

use std::collections::VecDeque;
use std::time::Instant;

use super::pace::Pace;
use gleaner_sim::round::{ClientState, RoundLog};
use gleaner_sim::scenario::Scenario;
use gleaner_station::event::{Event, EventKind};
use gleaner_station::fleet_file::FleetFile;

/// Lines of the log that are kept.
const LINES: usize = 8;

/// One client on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardState {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub doing: String,
    /// Whether it is there.
    pub present: bool,
    /// Joules in its store, where there is one.
    pub stored_j: Option<f64>,
    /// Joules its store can hold.
    pub storage_j: f64,
    /// Joules in its store before the rounds and after each, with the number of the round.
    pub history: Vec<(u32, f64)>,
    /// Its channel in this round.
    pub channel: Option<usize>,
    /// Its power in this round.
    pub power_w: Option<f64>,
    /// Share of the running transfer or of the epochs that is done.
    pub progress: Option<f64>,
    /// Epochs ordered.
    epochs: u32,
    /// Rounds it took part in.
    pub rounds: u32,
}

impl BoardState {
    /// Returns how full its store was after each round, in percent.
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
    /// Finished rounds.
    pub round: u32,
    /// All rounds.
    pub total: usize,
    /// Accuracy in percent after rounds.
    pub accuracy: Vec<(f64, f64)>,
    /// Joules spent by all.
    pub spent_j: f64,
    /// When rounds ended.
    pub pace: Pace,
    /// The newest lines of the log.
    pub lines: VecDeque<String>,
    /// Where boards may call in, and what came of the calls.
    pub calls: Option<String>,
}

impl ViewState {
    /// The state before anything happened.
    #[must_use]
    pub fn new(fleet: &FleetFile, scenario: &Scenario) -> Self {
        let board = |entry: &gleaner_station::fleet_file::Entry| BoardState {
            name: entry.name.clone(),
            doing: match entry.link.is_simulated() {
                true => "simulated".to_owned(),
                false => "not connected".to_owned(),
            },
            present: entry.link.is_simulated(),
            // What a simulated client's store holds is not told round by round.
            stored_j: (!entry.link.is_simulated()).then(|| entry.stored(scenario).as_joules()),
            storage_j: entry.store(scenario).capacity.as_joules(),
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

    /// Rounds begin.
    pub fn start(&mut self, done: usize, total: usize, now: Instant) {
        self.round = u32::try_from(done).unwrap_or(u32::MAX);
        self.total = total;
        self.pace.mark(now);
        self.remember_stores();
    }

    /// Returns the rounds that are to be done.
    pub fn rounds_left(&self) -> usize {
        self.total.saturating_sub(self.round as usize)
    }

    /// Returns what the round is at: the earliest step that a board has not left.
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

    /// Takes a line for the log.
    pub fn note(&mut self, line: String) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Takes note of an event.
    pub fn hear(&mut self, event: &Event) {
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
            EventKind::Sent
            | EventKind::Arrived { .. }
            | EventKind::Absent { .. }
            | EventKind::Flash { .. } => return,
            EventKind::Closed { ledger } => {
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
                board.doing = "lost this round".to_owned();
                board.progress = None;
            }
            EventKind::Uploaded { .. } => {
                board.doing = "delivered".to_owned();
                board.progress = Some(1.0);
            }
            EventKind::Reconciled { .. }
            | EventKind::Crashed { .. }
            | EventKind::LedgerDiffers { .. }
            | EventKind::Implausible { .. }
            | EventKind::Dropped { .. } => {}
        }
        let line = format!("{}: {words}", board.name);
        self.note(line);
    }

    /// Takes a finished round.
    pub fn finish_round(&mut self, log: &RoundLog, now: Instant) {
        self.round = log.round.round;
        self.pace.mark(now);
        self.spent_j = log.round.spent_j;
        if let Some(accuracy) = log.round.accuracy {
            self.accuracy
                .push((f64::from(log.round.round), 100.0 * accuracy));
        }
        // Round 0 introduces the clients; it is none of the rounds to do.
        let counts = log.round.round > 0;
        for (board, row) in self.boards.iter_mut().zip(&log.clients) {
            board.rounds += u32::from(counts && row.state == ClientState::Trained);
            (board.channel, board.power_w, board.progress) = (None, None, None);
            if board.present && board.doing != "simulated" {
                board.doing = "ready".to_owned();
            }
        }
        self.remember_stores();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::ClientId;
    use gleaner_station::fleet_file::template;

    fn hear(state: &mut ViewState, what: EventKind) {
        state.hear(&Event {
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
    fn a_round_is_at_the_earliest_step_that_a_board_has_not_left() {
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
    fn stores_are_remembered_round_by_round() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        state.start(0, 2, Instant::now());
        (state.boards[0].storage_j, state.boards[0].stored_j) = (0.5, Some(0.25));
        state.round = 1;
        state.remember_stores();
        assert_eq!(state.boards[0].history, [(0, 1_000.0), (1, 0.25)]);
        assert_eq!(state.boards[0].filled()[1], (1.0, 50.0));
        assert!(state.boards[2].history.is_empty(), "nobody tells of it");
    }

    #[test]
    fn the_log_keeps_its_newest_lines() {
        let mut state = ViewState::new(&template(), &Scenario::default());
        (0..20).for_each(|n| state.note(n.to_string()));
        assert_eq!(state.lines.len(), LINES);
        assert_eq!(state.lines.back().unwrap(), "19");
    }
}
