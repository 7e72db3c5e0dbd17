//! Debug probes, through probe-rs: finds the probe of a board and accesses its chip.

mod attached;

pub use attached::Attached;
pub use probe_rs::probe::list::Lister;

use probe_rs::probe::list::{Accessibility, ProbeListItem};
use probe_rs::probe::{DebugProbeInfo, DebugProbeSelector};

use crate::device::Board;
use crate::device::flash::silicon::Identity;
use crate::device::flash::target::Fault;

/// Error reaching a board through a probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum ProbeError {
    /// No probe is plugged in.
    #[error(
        "no debug probe is plugged in: connect the Nucleo's ST-Link, or a CMSIS-DAP probe (a \
         Debug Probe, a second Pico) wired to the board"
    )]
    None,
    /// The selector in `fleet.toml` is invalid.
    #[error("probe = \"{wanted}\" is not vendor:product or vendor:product:serial in hexadecimal")]
    Selector { wanted: String },
    /// The selected probe is not plugged in.
    #[error("probe {wanted} is not plugged in; there are {candidates}")]
    Absent { wanted: String, candidates: String },
    /// More than one probe matches.
    #[error(
        "several debug probes match: {candidates}; write the right one into fleet.toml \
         as probe = \"vendor:product:serial\""
    )]
    Several { candidates: String },
    /// The user may not open the probe.
    #[error(
        "no permission to use {probe}: install the udev rules of \
         https://probe.rs/docs/getting-started/probe-setup and plug it in again"
    )]
    Denied { probe: String },
    /// The probe does not open.
    #[error("{probe} does not open: {fault}; end other programs that use it or plug it in again")]
    Busy { probe: String, fault: Fault },
    /// No supported chip answers.
    #[error(
        "{probe} finds no {board}: {fault}; check that the board has power, that SWDIO, SWCLK and \
         GND are wired, and `chip` in fleet.toml"
    )]
    Silent {
        probe: String,
        board: Board,
        fault: Fault,
    },
    /// The chip of another board answers.
    #[error(
        "{probe} is wired to {found}, but `chip` says {expected}; correct `chip` or `probe` in \
         fleet.toml, or the wiring"
    )]
    WrongChip {
        probe: String,
        expected: Board,
        found: Identity,
    },
    /// The board only exists in an emulator.
    #[error("an {0} is emulated; it has no debug port")]
    Emulated(Board),
}

/// Returns the probe that a selector names, or the only one without a selector.
///
/// # Errors
/// Returns an error unless exactly one usable probe matches.
pub fn choose(lister: &Lister, wanted: Option<&str>) -> Result<DebugProbeInfo, ProbeError> {
    let selector = wanted.map(parse).transpose()?;
    let all = distinct(lister.list_all_with_access());
    if all.is_empty() {
        return Err(ProbeError::None);
    }
    let chosen: Vec<&ProbeListItem> = all
        .iter()
        .filter(|item| {
            let fits = |selector: &DebugProbeSelector| selector.matches_probe(&item.info);
            selector.as_ref().is_none_or(fits)
        })
        .collect();
    match chosen[..] {
        [] => Err(ProbeError::Absent {
            wanted: wanted.unwrap_or_default().to_owned(),
            candidates: list(all.iter()),
        }),
        [only] if only.accessibility == Accessibility::PermissionDenied => {
            Err(ProbeError::Denied {
                probe: only.info.to_string(),
            })
        }
        [only] => Ok(only.info.clone()),
        _ => Err(ProbeError::Several {
            candidates: list(chosen.into_iter()),
        }),
    }
}

fn parse(text: &str) -> Result<DebugProbeSelector, ProbeError> {
    text.parse().map_err(|_| ProbeError::Selector {
        wanted: text.to_owned(),
    })
}

/// Merges the interfaces of one probe.
fn distinct(items: Vec<ProbeListItem>) -> Vec<ProbeListItem> {
    let key = |item: &ProbeListItem| {
        let info = &item.info;
        (info.vendor_id, info.product_id, info.serial_number.clone())
    };
    let mut kept: Vec<ProbeListItem> = Vec::new();
    for item in items {
        let known =
            item.info.serial_number.is_some() && kept.iter().any(|other| key(other) == key(&item));
        if !known {
            kept.push(item);
        }
    }
    kept
}

fn list<'a>(items: impl Iterator<Item = &'a ProbeListItem>) -> String {
    items
        .map(|item| item.info.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}
