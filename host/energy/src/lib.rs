//! Energy outside the paper's equations: what a device harvests, and what a meter saw it spend.
//!
//! - [`trace`]: what a current meter recorded, block by block.
//! - [`mark`]: what the board says it did meanwhile.
//! - [`synth`]: both, without meter and board, from a known profile.

pub mod mark;
pub mod synth;
pub mod trace;
