//! Energy outside the paper's equations: what a device harvests, and what a meter saw it spend.
//!
//! - [`harvest`]: what comes in, round by round: constant, recorded, from the weather, by chance.
//! - [`trace`]: what a current meter recorded, block by block.
//! - [`mark`]: what the board says it did meanwhile.
//! - [`synth`]: both, without meter and board, from a known profile.
//! - [`align`]: both brought together.
//! - [`fit`]: the powers and energies that explain what was measured.
//! - [`profile`]: those as a file, with what is not known of them.
//! - [`predict`]: how many rounds a day that comes to.

/// Error of text or settings that cannot be used. The message names the key, its value and the
/// accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InputError(pub String);

pub mod align;
pub mod fit;
pub mod harvest;
pub mod mark;
pub mod predict;
pub mod profile;
pub mod synth;
pub mod trace;
