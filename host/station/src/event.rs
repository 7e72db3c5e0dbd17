//! What happens in a fleet, as the log and the live view hear of it.

use gleaner_shared::energy::Snapshot;
use gleaner_shared::wire::message::{Crash, Report};
use serde::{Deserialize, Serialize};

use super::text::printable;
use gleaner_sim::ClientId;

/// Something that happened to one client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The client.
    pub client: ClientId,
    /// The round it was about, if any.
    pub round: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub what: EventKind,
}

impl Event {
    /// Makes what a board says of itself fit to be shown.
    #[must_use]
    pub fn printable(mut self) -> Self {
        match &mut self.what {
            EventKind::Connected { board, build, .. } => {
                *board = printable(board);
                *build = printable(build);
            }
            EventKind::Crashed { place, message, .. } => {
                *place = printable(place);
                *message = printable(message);
            }
            EventKind::Gone { reason }
            | EventKind::Refused { reason, .. }
            | EventKind::Lost { reason }
            | EventKind::Missing { reason }
            | EventKind::Absent { reason, .. } => *reason = printable(reason),
            _ => {}
        }
        self
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A line was opened.
    Opened {
        /// Where the line leads.
        place: String,
    },
    /// The line is gone, or could not be opened.
    Gone {
        /// What the system said.
        reason: String,
    },
    /// A session is open.
    Connected {
        /// The board.
        board: String,
        /// Its image.
        build: String,
        /// Samples in its shard, if it has a good one.
        samples: Option<u32>,
        /// The checksum of its shard.
        shard_crc: Option<u32>,
    },
    /// The board died before this session, and says how.
    Crashed {
        /// What reset it.
        cause: String,
        /// Its starts since its memory was noise.
        boots: u32,
        /// Where in its source it panicked, if it did.
        place: String,
        /// What the panic said.
        message: String,
        /// Where a fault happened; zero if nobody knows.
        pc: u32,
        /// Where the faulting function would have returned to; zero if nobody knows.
        lr: u32,
    },
    /// One side does not want the session.
    Refused {
        /// The reason, in words for log and view.
        reason: String,
        /// How often that was so on this line by now.
        #[serde(default = "once")]
        times: u64,
    },
    /// The session ended.
    Lost {
        /// The reason, in words for log and view.
        reason: String,
    },
    /// How often the board has written its flash since that was new.
    Flash {
        /// Sectors erased.
        erases: u32,
        /// Pages programmed.
        programs: u32,
        /// Closed rounds written down.
        closed: u32,
    },
    /// The board's ledger is not what the base station expected.
    LedgerDiffers {
        /// The base station's.
        expected: Snapshot,
        /// The board's.
        found: Snapshot,
    },
    /// A model is on its way to the board.
    Sending {
        /// Bytes.
        bytes: usize,
        /// Whether it is the whole model and not the change since the last.
        whole: bool,
    },
    /// The model arrived.
    Sent,
    /// The order was accepted.
    Ordered {
        /// Epochs.
        epochs: u32,
        /// The uplink channel.
        channel: usize,
        /// Radiated power.
        power_w: f64,
    },
    /// An epoch is done.
    Epoch {
        /// How many are.
        done: u16,
    },
    /// Training is over.
    Reported(Box<Measured>),
    /// What the client sent cannot be, or differs from what the others send out of all proportion.
    Implausible {
        /// What, in words for log and view.
        what: String,
    },
    /// Part of the update is here.
    Receiving {
        /// Chunks here.
        have: u16,
        /// Chunks in all.
        of: u16,
    },
    /// The update is here.
    Uploaded {
        /// Bytes.
        bytes: usize,
        /// Hash of the bytes.
        hash: String,
    },
    /// The client's task gave the round up.
    Missing {
        /// The reason, in words for log and view.
        reason: String,
    },
    /// The engine has the client's model; replaying the run must find the same.
    Arrived {
        /// Its fingerprint.
        model: String,
        /// Whether a replay can recompute it; otherwise what the client sent is kept.
        #[serde(default = "yes", skip_serializing_if = "is_true")]
        exact: bool,
    },
    /// The engine goes on without the client; replaying the run does, too.
    Absent {
        /// The reason, in words for log and view.
        reason: String,
        /// Whether the client did not begin, for it could not pay.
        #[serde(default, skip_serializing_if = "is_false")]
        declined: bool,
    },
    /// The round is closed with this ledger.
    Closed {
        /// What the base station confirms.
        ledger: Snapshot,
    },
    /// What the board booked in the round beside what the model says.
    Reconciled {
        /// Joules of computing, from the model's cycles.
        compute_model_j: f64,
        /// Joules of computing, from the board's measured cycles.
        compute_board_j: f64,
        /// Joules of the upload, from the model.
        radio_model_j: f64,
        /// Joules of the upload, as the board booked it.
        radio_board_j: f64,
        /// Income, from the model.
        harvest_model_j: f64,
        /// Income, as the board booked it.
        harvest_board_j: f64,
        /// Joules of waiting, from the model and the board's own computing: who computes longer
        /// waits less.
        #[serde(default)]
        waiting_model_j: f64,
        /// Joules of waiting, as the board booked it.
        #[serde(default)]
        waiting_board_j: f64,
    },
    /// News of the client found no room on the way to the log.
    Dropped {
        /// How many since this was last said.
        events: u64,
    },
}

/// An arrival can be recomputed unless the log says otherwise.
const fn yes() -> bool {
    true
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_true(value: &bool) -> bool {
    *value
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What a refusal counts in a log that does not say.
const fn once() -> u64 {
    1
}

/// What a board measured in a round, beside what the model says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Mean loss before.
    pub loss_before: f64,
    /// Mean loss after.
    pub loss_after: f64,
    /// Samples.
    pub samples: u32,
    /// Epochs.
    pub epochs: u16,
    /// Cycles of all epochs.
    pub cycles: u64,
    /// Cycles a sample and epoch.
    pub cycles_per_sample: f64,
    /// Joules the board booked for computing.
    pub compute_j: f64,
    /// Joules the board booked for the upload.
    pub radio_j: f64,
    /// Joules the board booked as income.
    pub harvest_j: f64,
    /// Joules in its store afterwards.
    pub stored_j: f64,
}

impl Measured {
    /// Reads a board's report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let steps = f64::from(report.samples) * f64::from(report.epochs);
        Self {
            loss_before: loss(report.loss_before_q16),
            loss_after: loss(report.loss_after_q16),
            samples: report.samples,
            epochs: report.epochs,
            cycles: report.cycles.0,
            cycles_per_sample: if steps > 0.0 {
                report.cycles.0 as f64 / steps
            } else {
                0.0
            },
            compute_j: report.spent.compute().as_joules(),
            radio_j: report.spent.radio().as_joules(),
            harvest_j: report.harvested.as_joules(),
            stored_j: report.ledger.stored.as_joules(),
        }
    }
}

/// Tells whether two amounts of waiting are the same up to the rounding of times to microseconds.
#[must_use]
pub fn is_same_waiting(model_j: f64, board_j: f64) -> bool {
    (model_j - board_j).abs() <= 1e-4 * model_j.abs() + 1e-11
}

/// Turns a loss in units of 2^-16 into a number.
#[must_use]
pub fn loss(q16: u32) -> f64 {
    f64::from(q16) / f64::from(1u32 << 16)
}

impl From<Crash> for EventKind {
    fn from(crash: Crash) -> Self {
        Self::Crashed {
            cause: crash.cause.to_string(),
            boots: crash.boots,
            place: crash.place.as_str().to_owned(),
            message: crash.message.as_str().to_owned(),
            pc: crash.pc,
            lr: crash.lr,
        }
    }
}

impl EventKind {
    /// Tells whether the event is part of a round's record: what a replay needs, and what the
    /// ledgers are compared by. The first of a kind in a round is never dropped; of all others a
    /// board, or a stranger on its line, can make as many as it likes.
    #[must_use]
    pub const fn is_record(&self) -> bool {
        match self {
            Self::Ordered { .. }
            | Self::Reported(_)
            | Self::Implausible { .. }
            | Self::Uploaded { .. }
            | Self::Missing { .. }
            | Self::Arrived { .. }
            | Self::Absent { .. }
            | Self::Closed { .. }
            | Self::LedgerDiffers { .. }
            | Self::Reconciled { .. } => true,
            Self::Opened { .. }
            | Self::Gone { .. }
            | Self::Connected { .. }
            | Self::Crashed { .. }
            | Self::Refused { .. }
            | Self::Lost { .. }
            | Self::Flash { .. }
            | Self::Sending { .. }
            | Self::Sent
            | Self::Epoch { .. }
            | Self::Receiving { .. }
            | Self::Dropped { .. } => false,
        }
    }

    /// Says it in a few words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Opened { place } => format!("opened {place}"),
            Self::Gone { reason } => format!("line gone: {reason}"),
            Self::Connected { board, samples, .. } => match samples {
                Some(samples) => format!("connected: {board}, {samples} samples"),
                None => format!("connected: {board}, no usable shard"),
            },
            Self::Crashed {
                cause,
                boots,
                place,
                message,
                pc,
                lr,
            } => {
                let mut words = format!("it died: {cause}");
                if !place.is_empty() {
                    words += &format!(" at {place}");
                }
                if !message.is_empty() {
                    words += &format!(": {message}");
                }
                if (*pc, *lr) != (0, 0) {
                    words += &format!(", pc {pc:#010x}, lr {lr:#010x}");
                }
                words + &format!(" (start {boots})")
            }
            Self::Refused { reason, times: 1 } => format!("refused: {reason}"),
            Self::Refused { reason, times } => format!("refused {times} times: {reason}"),
            Self::Lost { reason } => format!("session lost: {reason}"),
            Self::Flash {
                erases,
                programs,
                closed,
            } => format!("flash: {erases} erases, {programs} pages, {closed} rounds"),
            Self::LedgerDiffers { expected, found } => format!(
                "ledger differs: {} stored after {} rounds, {} after {} expected",
                found.stored, found.rounds, expected.stored, expected.rounds
            ),
            Self::Sending { bytes, whole } => {
                let what = if *whole { "model" } else { "update" };
                format!("sending {what}, {bytes} bytes")
            }
            Self::Sent => "model arrived".to_owned(),
            Self::Ordered {
                epochs,
                channel,
                power_w,
            } => {
                format!(
                    "{epochs} epochs, channel {channel}, {:.1} mW",
                    power_w * 1e3
                )
            }
            Self::Epoch { done } => format!("{done} epochs done"),
            Self::Reported(measured) => format!(
                "trained: loss {:.4} to {:.4}, {:.0} cycles a sample",
                measured.loss_before, measured.loss_after, measured.cycles_per_sample
            ),
            Self::Implausible { what } => format!("implausible: {what}"),
            Self::Receiving { have, of } => format!("receiving {have}/{of}"),
            Self::Uploaded { bytes, .. } => format!("uploaded {bytes} bytes"),
            Self::Missing { reason } => format!("lost for the round: {reason}"),
            Self::Arrived { .. } => "counted".to_owned(),
            Self::Absent { .. } => "not counted".to_owned(),
            Self::Closed { ledger } => {
                format!("{} stored after {} rounds", ledger.stored, ledger.rounds)
            }
            Self::Dropped { events } => format!("{events} events not logged: too many at once"),
            Self::Reconciled {
                compute_model_j,
                compute_board_j,
                radio_model_j,
                radio_board_j,
                harvest_model_j,
                harvest_board_j,
                waiting_model_j,
                waiting_board_j,
            } => {
                let equal = radio_model_j == radio_board_j
                    && harvest_model_j == harvest_board_j
                    && is_same_waiting(*waiting_model_j, *waiting_board_j);
                let verdict = if equal { "equal" } else { "DIFFERENT" };
                format!(
                    "upload and income {verdict}; computing {:.3} mJ, modelled {:.3} mJ",
                    compute_board_j * 1e3,
                    compute_model_j * 1e3
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::wire::message::ResetCause;

    use super::*;

    #[test]
    fn what_a_board_calls_itself_reaches_log_and_view_without_commands_to_a_terminal() {
        let event = Event {
            client: ClientId(0),
            round: None,
            what: EventKind::Connected {
                board: "pico\x1b]0;owned\x07".to_owned(),
                build: "v1\r\u{202e}".to_owned(),
                samples: Some(1),
                shard_crc: None,
            },
        };
        let event = event.printable();
        let words = event.what.words();
        assert_eq!(words, "connected: pico\\u{1b}]0;owned\\u{7}, 1 samples");
        let line = serde_json::to_value(&event).unwrap();
        assert_eq!(line["build"], "v1\\u{d}\\u{202e}");
    }

    #[test]
    fn the_last_words_of_a_board_are_told_and_command_no_terminal() {
        let crash = Crash {
            cause: ResetCause::Panic,
            boots: 3,
            place: "app.rs:7\x1b[2J".parse().unwrap(),
            message: "no\rsensor".parse().unwrap(),
            pc: 0,
            lr: 0,
        };
        let event = Event {
            client: ClientId(0),
            round: None,
            what: crash.into(),
        };
        let words = event.printable().what.words();
        let shown = "it died: panic at app.rs:7\\u{1b}[2J: no\\u{d}sensor (start 3)";
        assert_eq!(words, shown);
    }

    #[test]
    fn every_event_stands_in_the_manual() {
        let manual = include_str!("../../../docs/reference/formats.md");
        let unknown = serde_json::json!({"event": "?"});
        let listed = serde_json::from_value::<EventKind>(unknown).unwrap_err();
        let listed = listed.to_string();
        // unknown variant `?`, expected one of `opened`, `gone`, ...
        let events: Vec<&str> = listed.split('`').skip(3).step_by(2).collect();
        assert!(events.contains(&"reconciled"), "{listed}");
        for event in events {
            assert!(manual.contains(&format!("| `{event}` |")), "{event}");
        }
    }
}
