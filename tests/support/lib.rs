//! What the integration tests and the figures share.
#![deny(unsafe_code)]

pub mod attack;
pub mod blackout;
pub mod client;
pub mod crowd;
pub mod driver;
pub mod emulated;
pub mod gateway;
pub mod in_process;
pub mod line;
pub mod mortal;
pub mod nor;
pub mod oracle;
pub mod pair;
pub mod power;
pub mod reference;
pub mod rehearsal;
pub mod runs;
pub mod served;
pub mod shard;
pub mod station;
pub mod transfer;
pub mod wire;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar over `total` steps with an estimate of the time left; silent where standard
/// error is not a terminal.
#[must_use]
pub fn progress(what: &'static str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style).with_message(what)
}
