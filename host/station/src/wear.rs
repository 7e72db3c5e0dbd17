//! How often boards wrote their flash in a run, from its event log.

use super::event::EventKind;

/// What a board counted, at the first and the last moment that is known of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    first: Option<Count>,
    last: Count,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    erases: u32,
    closed: u32,
}

impl Wear {
    /// Takes note of what an event says of the flash.
    pub fn note(&mut self, what: &EventKind) {
        if let EventKind::Flash { erases, closed, .. } = *what {
            self.last = Count { erases, closed };
            self.first.get_or_insert(self.last);
        }
    }

    /// Returns the sectors erased for each closed round; `None` without a round that was written
    /// down.
    #[must_use]
    pub fn erases_a_round(&self) -> Option<f64> {
        let first = self.first?;
        let rounds = self.last.closed.saturating_sub(first.closed);
        let erases = self.last.erases.saturating_sub(first.erases);
        (rounds > 0).then(|| f64::from(erases) / f64::from(rounds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_run_wore_counts() {
        let mut wear = Wear::default();
        assert_eq!(wear.erases_a_round(), None);
        for (erases, closed) in [(40, 16), (40, 17), (61, 20)] {
            wear.note(&EventKind::Flash {
                erases,
                programs: 9,
                closed,
            });
            wear.note(&EventKind::Sent);
        }
        assert_eq!(wear.erases_a_round(), Some(5.25));
        // A board whose flash was wiped counts from the beginning.
        wear.note(&EventKind::Flash {
            erases: 0,
            programs: 0,
            closed: 0,
        });
        assert_eq!(wear.erases_a_round(), None);
    }
}
