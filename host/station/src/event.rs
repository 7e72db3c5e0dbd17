//! Events of a fleet, for the log and the live view.

use gleaner_shared::energy::{Snapshot, Spent};
use gleaner_shared::wire::message::{Crash, Report};
use serde::{Deserialize, Serialize};

use gleaner_files::printable;
use gleaner_sim::ClientId;

/// An event of one client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Number of the client.
    pub client: ClientId,
    /// The round that the event belongs to, if any.
    pub round: Option<u32>,
    /// The kind of event, with its values.
    #[serde(flatten)]
    pub what: EventKind,
}

impl Event {
    /// Escapes control characters in the texts of a board.
    #[must_use]
    pub fn printable(mut self) -> Self {
        match &mut self.what {
            EventKind::Connected { board, build, .. } => {
                *board = printable(board).into_owned();
                *build = printable(build).into_owned();
            }
            EventKind::Opened { place } => *place = printable(place).into_owned(),
            EventKind::Crashed { place, message, .. } => {
                *place = printable(place).into_owned();
                *message = printable(message).into_owned();
            }
            EventKind::Gone { reason }
            | EventKind::Refused { reason, .. }
            | EventKind::Lost { reason }
            | EventKind::Missing { reason }
            | EventKind::Absent { reason, .. } => *reason = printable(reason).into_owned(),
            _ => {}
        }
        self
    }
}

/// A kind of event, with its values. A `reason` is a text for log and view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "fields that are named after their value")]
pub enum EventKind {
    /// A line was opened.
    Opened { place: String },
    /// The line is gone, or could not be opened.
    Gone { reason: String },
    /// A session is open; `samples` and `shard_crc` describe a valid shard.
    Connected {
        board: String,
        build: String,
        samples: Option<u32>,
        shard_crc: Option<u32>,
    },
    /// The board crashed before this session.
    Crashed {
        cause: String,
        /// Starts since the memory was random.
        boots: u32,
        /// Place of a panic in the source; empty without a panic.
        place: String,
        message: String,
        /// Program counter of a fault; zero if unknown.
        pc: u32,
        /// Link register of a fault; zero if unknown.
        lr: u32,
    },
    /// One end refused the session.
    Refused {
        reason: String,
        /// Refusals for this reason on this line so far.
        #[serde(default = "once")]
        times: u64,
    },
    /// Two boards have the client's key: one keeps its line, and the other is refused.
    Contended {
        kept: String,
        refused: String,
        /// Refusals so far.
        times: u64,
    },
    /// The session ended, but the line did not.
    Lost { reason: String },
    /// Wear of the board's flash since it was new: erased sectors and programmed pages.
    Flash {
        erases: u32,
        programs: u32,
        /// Closed rounds that were written.
        closed: u32,
    },
    /// The board's ledger is not what the base station expected, and possible.
    LedgerDiffers { expected: Snapshot, found: Snapshot },
    /// The board's ledger is impossible, and the base station's own booking counts in its place.
    LedgerRefused {
        /// The first amount that is out of its bounds, in picojoules: a field of the ledger, a phase,
        /// or `radio`, `compute` or `waiting` of the round; `sum` is what the ledger accounts for.
        field: String,
        reported: u64,
        least: u64,
        most: u64,
        found: Snapshot,
    },
    /// The scheduler's order to the client. A replay of a run under a program takes it for the
    /// program's decision; not in logs of earlier versions.
    Decided {
        channel: usize,
        power_w: f64,
        epochs: u32,
        /// Bit rate, where the order names one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bit_rate_bps: Option<f64>,
    },
    /// The base station sends a model; `whole` unless only the change since the last model.
    Sending { bytes: usize, whole: bool },
    /// The board has received the model.
    Sent,
    /// The board accepted the order.
    Ordered {
        epochs: u32,
        channel: usize,
        power_w: f64,
    },
    /// The board has trained `done` epochs.
    Epoch { done: u16 },
    /// The board reported the end of training.
    Reported(Box<Measured>),
    /// The client sent impossible or anomalous values.
    Implausible { what: String },
    /// Part of the update arrived, in chunks.
    Receiving { have: u16, of: u16 },
    /// The base station has received the update.
    Uploaded { bytes: usize, hash: String },
    /// The client's task ended the round without an update.
    Missing { reason: String },
    /// The engine has the client's model; a replay must find the same fingerprint.
    Arrived {
        model: String,
        /// Whether a replay can recompute the update; otherwise the update is stored.
        #[serde(default = "yes", skip_serializing_if = "is_true")]
        exact: bool,
    },
    /// The engine continues without the client; so does a replay.
    Absent {
        reason: String,
        /// Whether the client declined the order because its energy did not suffice.
        #[serde(default, skip_serializing_if = "is_false")]
        declined: bool,
    },
    /// The board failed so many rounds running and is not ordered up to round `until`.
    SitsOut { failures: u32, until: u32 },
    /// The round is closed with this confirmed ledger.
    Closed {
        ledger: Snapshot,
        /// Energy that the model booked in the round; not in logs of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Spent>,
        /// Whether the board had an order and sent no report: the model booked all of the order, and
        /// the board may have carried out any part of it.
        #[serde(default, skip_serializing_if = "is_false")]
        cut_off: bool,
    },
    /// Energy that the board booked in the round, beside the modelled energy. The modelled waiting
    /// energy uses the board's own computing time.
    Reconciled {
        compute_model_j: f64,
        compute_board_j: f64,
        radio_model_j: f64,
        radio_board_j: f64,
        harvest_model_j: f64,
        harvest_board_j: f64,
        #[serde(default)]
        waiting_model_j: f64,
        #[serde(default)]
        waiting_board_j: f64,
    },
    /// Events of the client were dropped since the last such event.
    Dropped { events: u64 },
}

/// Default of `exact` in logs without it.
const fn yes() -> bool {
    true
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
const fn is_true(value: &bool) -> bool {
    *value
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Default of `times` in logs without it.
const fn once() -> u64 {
    1
}

/// Results and energy of a round, as the board reported them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "fields that are named after their value and unit"
)]
pub struct Measured {
    pub loss_before: f64,
    pub loss_after: f64,
    pub samples: u32,
    pub epochs: u16,
    /// Cycles of all epochs.
    pub cycles: u64,
    /// Cycles per sample and epoch.
    pub cycles_per_sample: f64,
    pub compute_j: f64,
    pub radio_j: f64,
    pub harvest_j: f64,
    /// Energy in the store after the round.
    pub stored_j: f64,
}

impl Measured {
    /// Converts a board's report.
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

/// Describes an amount of a ledger that is out of its bounds.
#[must_use]
pub fn out_of_bounds(field: &str, reported: u64, least: u64, most: u64) -> String {
    let unit = match field {
        "rounds" | "off" => "",
        _ => " pJ",
    };
    match reported {
        _ if least == most => format!("{field} {reported}{unit}, not {most}{unit}"),
        low if low < least => format!("{field} {low}{unit}, at least {least}{unit}"),
        high => format!("{field} {high}{unit}, at most {most}{unit}"),
    }
}

/// Tells whether two waiting energies are equal up to the rounding of times to microseconds.
#[must_use]
pub fn is_same_waiting(model_j: f64, board_j: f64) -> bool {
    (model_j - board_j).abs() <= 1e-4 * model_j.abs() + 1e-11
}

/// Converts a loss in units of 2^-16.
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
    /// Tells whether the event is part of a round's record, which replay and comparison of ledgers
    /// need. The first such event of a kind in a round is never dropped; a board, or anybody on its
    /// line, can cause any number of the others.
    #[must_use]
    pub const fn is_record(&self) -> bool {
        match self {
            Self::Decided { .. }
            | Self::Ordered { .. }
            | Self::Reported(_)
            | Self::Implausible { .. }
            | Self::Uploaded { .. }
            | Self::Missing { .. }
            | Self::Arrived { .. }
            | Self::Absent { .. }
            | Self::SitsOut { .. }
            | Self::Closed { .. }
            | Self::LedgerDiffers { .. }
            | Self::LedgerRefused { .. }
            | Self::Reconciled { .. } => true,
            Self::Opened { .. }
            | Self::Gone { .. }
            | Self::Connected { .. }
            | Self::Crashed { .. }
            | Self::Refused { .. }
            | Self::Contended { .. }
            | Self::Lost { .. }
            | Self::Flash { .. }
            | Self::Sending { .. }
            | Self::Sent
            | Self::Epoch { .. }
            | Self::Receiving { .. }
            | Self::Dropped { .. } => false,
        }
    }

    /// Returns a short description.
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
                let mut words = format!("crashed: {cause}");
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
            Self::Contended {
                kept,
                refused,
                times,
            } => format!(
                "TWO BOARDS HAVE ITS KEY: {kept} is kept, {refused} is refused ({times} times); give \
                 each board a key and a client of its own (`gleaner flash`)"
            ),
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
            Self::LedgerRefused {
                field,
                reported,
                least,
                most,
                ..
            } => format!(
                "false ledger: {}; the base station's booking counts",
                out_of_bounds(field, *reported, *least, *most)
            ),
            Self::Sending { bytes, whole } => {
                let what = if *whole { "model" } else { "update" };
                format!("sending {what}, {bytes} bytes")
            }
            Self::Sent => "model arrived".to_owned(),
            Self::Decided { .. } => "chosen by the scheduler".to_owned(),
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
                "trained: loss {:.4} to {:.4}, {:.0} cycles per sample",
                measured.loss_before, measured.loss_after, measured.cycles_per_sample
            ),
            Self::Implausible { what } => format!("anomalous: {what}"),
            Self::Receiving { have, of } => format!("receiving {have}/{of}"),
            Self::Uploaded { bytes, .. } => format!("uploaded {bytes} bytes"),
            Self::Missing { reason } => format!("no update: {reason}"),
            Self::Arrived { .. } => "counted".to_owned(),
            Self::Absent { .. } => "not counted".to_owned(),
            Self::SitsOut { failures, until } => {
                format!("sits out until round {until}, after {failures} failed rounds")
            }
            Self::Closed { ledger, .. } => {
                format!("{} stored after {} rounds", ledger.stored, ledger.rounds)
            }
            Self::Dropped { events } => format!("{events} events were dropped"),
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
                    "radio and harvest {verdict}; compute {:.3} mJ, modelled {:.3} mJ",
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
    fn control_characters_of_a_board_are_escaped() {
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
    fn a_crash_is_described_without_control_characters() {
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
        let shown = "crashed: panic at app.rs:7\\u{1b}[2J: no\\u{d}sensor (start 3)";
        assert_eq!(words, shown);
    }

    #[test]
    fn every_event_is_in_the_manual() {
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
