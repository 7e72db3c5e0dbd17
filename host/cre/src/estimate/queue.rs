//! Virtual energy queues (Section IV-A).

use crate::units::Joules;

/// Implements Eq. (13): q_i = E_add - a_i (tau E_i + e_up), with the use already summed up.
#[must_use]
pub fn energy_balance(income: Joules, used: Joules) -> Joules {
    Joules(income.0 - used.0)
}

/// Returns the next queue, Z_i <- max(Z_i - q_i, 0).
#[must_use]
pub fn next_queue(queue: Joules, balance: Joules) -> Joules {
    Joules((queue.0 - balance.0).max(0.0))
}

/// Implements Eq. (14), round by round: has the client never used more than it was given so far?
#[must_use]
pub fn cumulative_within_income(income: Joules, used: &[Joules]) -> Vec<bool> {
    used.iter()
        .scan(0.0, |sum, &used| {
            *sum += energy_balance(income, used).0;
            Some(*sum >= 0.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stable_queue_does_not_keep_the_budget_in_every_round() {
        // Z/N tends to 0, yet round 1 overdraws: the limit does not imply C5 for every n.
        let income = Joules(1.0);
        let used = [3.0, 0.0, 0.0, 1.0].map(Joules);
        assert_eq!(
            cumulative_within_income(income, &used),
            [false, false, true, true]
        );
        let queue = used.iter().fold(Joules(0.0), |z, &u| {
            next_queue(z, energy_balance(income, u))
        });
        assert_eq!(queue, Joules(0.0));
    }
}
