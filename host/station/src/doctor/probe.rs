//! The check of a board's debug probe.

use super::Finding;
use crate::fleet_file::Entry;

const CHECK: &str = "probe";

/// Checks that the probe of an entry is plugged in, may be used, and is wired to its chip; returns
/// `None` for an entry without a probe.
pub fn look(entry: &Entry) -> Option<Finding> {
    let selector = entry.probe.as_deref()?;
    Some(examine(entry, selector))
}

#[cfg(feature = "probe")]
fn examine(entry: &Entry, selector: &str) -> Finding {
    use crate::device::board::{self, Board};
    use crate::device::probe::{Attached, Lister};

    let Some(board) = entry.board() else {
        let chips = Board::flashable().map(|board| format!("chip = \"{board}\""));
        let fix = format!("add {} to fleet.toml", board::list(chips, "or"));
        return Finding::bad(entry, CHECK, "its chip is unknown", fix);
    };
    match Attached::to(&Lister::new(), Some(selector), board) {
        Ok(attached) => {
            let seen = format!("{board} behind {}", attached.probe());
            Finding::good(entry, CHECK, seen)
        }
        Err(error) => {
            let fix = "fix the cause, or remove `probe` from fleet.toml if the board has none";
            Finding::bad(entry, CHECK, error.to_string(), fix)
        }
    }
}

#[cfg(not(feature = "probe"))]
fn examine(entry: &Entry, selector: &str) -> Finding {
    let seen =
        format!("{selector}: skipped, this build cannot use probes (`cargo gleaner-probe doctor`)");
    Finding::good(entry, CHECK, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Board;
    use crate::fleet_file::Link;

    #[test]
    fn a_probe_that_is_named_gets_a_row_and_an_absent_one_a_fix() {
        let entry = Entry::new("nucleo", 0, Link::Simulated);
        let mut entry = entry.with_board(Some(Board::Stm32l4r5));
        assert_eq!(look(&entry), None);
        entry.probe = Some("dead:beef:nobody".to_owned());
        let finding = look(&entry).unwrap();
        if cfg!(feature = "probe") {
            assert!(finding.seen.contains("plugged in"), "{}", finding.seen);
            assert!(finding.fix.is_some());
            entry = entry.with_board(None);
            let finding = look(&entry).unwrap();
            assert!(finding.fix.is_some_and(|fix| fix.contains("chip =")));
        } else {
            assert!(finding.seen.contains("cargo gleaner-probe doctor"));
            assert_eq!(finding.fix, None);
        }
    }
}
