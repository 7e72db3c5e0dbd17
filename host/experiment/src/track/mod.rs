//! The track: every scheduler under the same rules, and claims that anyone can check.
//!
//! Part (a) has each scheduler with the server it was described with, (b) all with the same server
//! step, (c) all with a rate or step tuned on validation images. Every part ends in the same tables:
//! accuracy and energy with paired differences, accuracy after so many millijoules, C5, fairness and
//! participation. A run that several parts share is made once.

mod bootstrap;
mod cell;
mod charts;
mod curve;
mod entrant;
mod error;
mod judge;
mod make;
mod part;
mod plan;
mod race;
mod standing;
mod tables;
mod tuning;
mod verdict;
mod write;

#[cfg(test)]
mod tests;

pub use bootstrap::Interval;
pub use cell::{Cell, CellError};
pub use curve::{Curve, Reading};
pub use entrant::{Entrant, Server};
pub use error::TrackError;
pub use judge::{Better, Difference, Duel, Verdict};
pub use make::{Watcher, make};
pub use part::Part;
pub use plan::{Resolve, Roster, Track};
pub use race::{Outcome, race};
pub use standing::{Record, Standing};
pub use tuning::{Choice, Score, Tuning};
pub use verdict::{Against, CellVerdict, verdicts};
pub use write::FIRST;
