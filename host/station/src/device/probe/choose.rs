//! Finds the one probe that is meant.

use probe_rs::probe::list::{Accessibility, Lister, ProbeListItem};
use probe_rs::probe::{DebugProbeInfo, DebugProbeSelector};

use super::ProbeError;

/// Returns the probe of that selector, or the only one there is.
///
/// # Errors
/// None, several, another one, or no right to use it: with those that are plugged in.
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

/// A probe with several interfaces is one probe.
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
