//! When a client was last ordered and how that went: what the age of a client follows from.

use serde::{Deserialize, Serialize};

/// One client's attendance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    /// The round it was last ordered in, o_i; 0 before the first.
    ordered: u32,
    /// Orders in a row, up to that one, that brought nothing usable, f_i.
    failures: u32,
}

impl Attendance {
    /// Notes what became of an order.
    pub const fn note(&mut self, round: u32, answered: bool) {
        self.ordered = round;
        self.failures = match answered {
            true => 0,
            false => self.failures.saturating_add(1),
        };
    }

    /// Returns the age a_i = (n - o_i) / (1 + f_i) in round n.
    #[must_use]
    pub fn age(&self, round: u32) -> f64 {
        f64::from(round.saturating_sub(self.ordered)) / (1.0 + f64::from(self.failures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_make_a_client_age_more_slowly_and_one_answer_makes_up_for_them() {
        let mut client = Attendance::default();
        assert_eq!(client.age(4), 4.0);
        client.note(4, true);
        assert_eq!(client.age(5), 1.0);
        client.note(6, false);
        client.note(9, false);
        assert_eq!(client.age(15), 2.0);
        client.note(15, true);
        assert_eq!(client.age(17), 2.0);
    }

    #[test]
    fn no_number_of_failures_overflows() {
        let mut client = Attendance {
            ordered: 3,
            failures: u32::MAX,
        };
        client.note(7, false);
        assert!(client.age(u32::MAX) > 0.0);
        assert_eq!(client.age(0), 0.0);
    }
}
