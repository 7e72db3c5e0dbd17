//! Debug probes, through probe-rs: which one belongs to a board, and what it does to its chip.

mod attached;
mod choose;

pub use attached::Attached;
pub use choose::choose;
pub use probe_rs::probe::list::Lister;

use crate::device::Board;
use crate::device::flash::silicon::Identity;
use crate::device::flash::target::Fault;

/// Why a board cannot be reached through a probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// Nothing is plugged in.
    #[error(
        "no debug probe is plugged in: connect the Nucleo's ST-Link, or a CMSIS-DAP probe (a \
         Debug Probe, a second Pico) wired to the board"
    )]
    None,
    /// The text in `fleet.toml` is no selector.
    #[error("probe = \"{wanted}\" is not vendor:product or vendor:product:serial in hexadecimal")]
    Selector {
        /// The text.
        wanted: String,
    },
    /// Others are plugged in, but not this one.
    #[error("probe {wanted} is not plugged in; there are {candidates}")]
    Absent {
        /// The one in `fleet.toml`.
        wanted: String,
        /// Those that are.
        candidates: String,
    },
    /// Several could be meant.
    #[error(
        "several debug probes could be meant: {candidates}; write the right one into fleet.toml \
         as probe = \"vendor:product:serial\""
    )]
    Several {
        /// Those that are plugged in.
        candidates: String,
    },
    /// The system does not let us.
    #[error(
        "no permission to use {probe}: install the udev rules of \
         https://probe.rs/docs/getting-started/probe-setup and plug it in again"
    )]
    Denied {
        /// The probe's name and numbers.
        probe: String,
    },
    /// It is there but does not open.
    #[error("{probe} does not open: {fault}; end other programs that use it or plug it in again")]
    Busy {
        /// The probe's name and numbers.
        probe: String,
        /// What went wrong.
        fault: Fault,
    },
    /// No chip answers, or one that is not ours.
    #[error(
        "{probe} finds no {board}: {fault}; check that the board has power, that SWDIO, SWCLK and \
         GND are wired, and `chip` in fleet.toml"
    )]
    Silent {
        /// The probe's name and numbers.
        probe: String,
        /// The board that `fleet.toml` says it is.
        board: Board,
        /// What went wrong.
        fault: Fault,
    },
    /// Another of our chips answers.
    #[error(
        "{probe} is wired to {found}, but `chip` says {expected}; correct `chip` or `probe` in \
         fleet.toml, or the wiring"
    )]
    WrongChip {
        /// The probe's name and numbers.
        probe: String,
        /// The board that `fleet.toml` says it is.
        expected: Board,
        /// What the chip says.
        found: Identity,
    },
    /// The board only exists in an emulator.
    #[error("an {0} is emulated; it has no debug port")]
    Emulated(Board),
}
