//! How worn the flash of a board is, as far as it tells.

use super::Finding;
use crate::event::EventKind;
use crate::fleet_file::Entry;

/// Says what the board counted, among all that it said; nothing of one that writes no flash.
pub(super) fn look(entry: &Entry, mut said: impl Iterator<Item = EventKind>) -> Option<Finding> {
    said.find_map(|what| match what {
        EventKind::Flash {
            erases,
            programs,
            closed,
        } => {
            let a_round = f64::from(erases) / f64::from(closed.max(1));
            let seen = format!(
                "{erases} erases, {programs} pages in {closed} closed rounds, {a_round:.2} a round"
            );
            Some(Finding::good(entry, "flash", seen))
        }
        _ => None,
    })
}
