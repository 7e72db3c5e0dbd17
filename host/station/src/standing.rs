//! Boards that failed round after round: they sit out, for longer every time.
//!
//! After [`FAILURES`] failed orders in a row a board gets none for 1 round, after the next failure for
//! 2, then 4, up to [`LONGEST`]. Between the pauses it is on trial: it is ordered if it is connected,
//! the first loss of its session ends the work, and the round waits for it no longer than twice the
//! expected time. One success ends all that.

/// Failed orders in a row after which a board sits out.
const FAILURES: u32 = 2;

/// The longest pause in rounds.
const LONGEST: u32 = 64;

/// Failures of one board in a row. A resumed run starts without any: whoever resumed it may have
/// repaired the board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    failures: u32,
    /// The last round of the pause.
    until: u32,
}

impl Standing {
    /// Notes an order of `round` without a result; returns the last round of the pause if one
    /// begins.
    pub fn fail(&mut self, round: u32) -> Option<u32> {
        self.failures = self.failures.saturating_add(1);
        let doublings = self.failures.checked_sub(FAILURES)?;
        let pause = 1_u32.checked_shl(doublings).unwrap_or(LONGEST);
        self.until = round.saturating_add(pause.min(LONGEST));
        Some(self.until)
    }

    /// Notes an order that was carried out.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of failures in a row.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the last round of the pause, if `round` is part of it.
    #[must_use]
    pub const fn pause(&self, round: u32) -> Option<u32> {
        if self.is_on_trial() && round <= self.until {
            return Some(self.until);
        }
        None
    }

    /// Tells whether the next order is a trial.
    #[must_use]
    pub const fn is_on_trial(&self) -> bool {
        self.failures >= FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_one_round_to_the_longest_and_one_success_ends_them() {
        let mut board = Standing::default();
        assert_eq!(board.fail(1), None);
        assert_eq!((board.pause(2), board.is_on_trial()), (None, false));
        let (mut round, mut pauses) = (2, Vec::new());
        for _ in 0..9 {
            let until = board.fail(round).unwrap();
            pauses.push(until - round);
            assert_eq!(board.pause(round + 1), Some(until));
            round = until + 1;
            assert_eq!((board.pause(round), board.is_on_trial()), (None, true));
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        board.succeed();
        assert_eq!(board, Standing::default());
        assert_eq!(board.fail(round), None);
    }

    #[test]
    fn no_number_of_failures_or_rounds_overflows() {
        let mut board = Standing {
            failures: u32::MAX - 1,
            until: 0,
        };
        assert_eq!(board.fail(u32::MAX), Some(u32::MAX));
        assert_eq!(board.fail(7), Some(7 + LONGEST));
    }
}
