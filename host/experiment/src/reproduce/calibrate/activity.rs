//! Activity of a scheduler: who participated how often, with how many epochs and at which power.

use serde::Serialize;

use crate::stats::{self, Statistic};

/// Counts over some rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Activity {
    /// Rounds that were counted.
    pub rounds: u32,
    /// Rounds in which each client participated.
    pub schedules: Vec<u32>,
    /// Epochs of each client.
    pub epochs: Vec<u32>,
    /// Rounds by their number of participants, from 0.
    pub sets: Vec<u32>,
    /// Rounds in which a participant sent at full power.
    pub at_full_power: u32,
}

impl Activity {
    /// Returns counts of zero.
    pub fn new(clients: usize) -> Self {
        Self {
            schedules: vec![0; clients],
            epochs: vec![0; clients],
            ..Self::default()
        }
    }

    /// Counts a round: the participants with their epochs, and whether one sent at full power.
    pub fn note(&mut self, participants: &[(usize, u32)], at_full_power: bool) {
        self.rounds += 1;
        for &(client, epochs) in participants {
            self.schedules[client] += 1;
            self.epochs[client] += epochs;
        }
        let size = participants.len();
        self.sets.resize(self.sets.len().max(size + 1), 0);
        self.sets[size] += 1;
        self.at_full_power += u32::from(at_full_power);
    }

    /// Returns the mean number of participants of a round.
    pub fn clients(&self) -> f64 {
        f64::from(self.schedules.iter().sum::<u32>()) / f64::from(self.rounds.max(1))
    }

    /// Returns the mean epochs of a participant.
    pub fn epochs_each(&self) -> f64 {
        let schedules = self.schedules.iter().sum::<u32>().max(1);
        f64::from(self.epochs.iter().sum::<u32>()) / f64::from(schedules)
    }

    /// Returns the share of rounds in which a participant sent at full power.
    pub fn full_power_share(&self) -> f64 {
        f64::from(self.at_full_power) / f64::from(self.rounds.max(1))
    }

    /// Returns the share of rounds with so many participants.
    pub fn set_share(&self, size: usize) -> f64 {
        f64::from(self.sets.get(size).copied().unwrap_or(0)) / f64::from(self.rounds.max(1))
    }

    /// Returns the standard deviation over clients of the share of rounds they participated in.
    pub fn share_spread(&self) -> f64 {
        let share = |&count: &u32| f64::from(count) / f64::from(self.rounds.max(1));
        let shares: Vec<f64> = self.schedules.iter().map(share).collect();
        Statistic::of(&shares).deviation
    }

    /// Returns the standard deviation over clients of their mean epochs.
    pub fn epochs_spread(&self) -> f64 {
        let pairs = self.schedules.iter().zip(&self.epochs);
        let means = pairs.map(|(&n, &epochs)| f64::from(epochs) / f64::from(n.max(1)));
        Statistic::of(&means.collect::<Vec<_>>()).deviation
    }
}

/// Returns Spearman's rank correlation of two lists of counts, as [`stats`] has it for pairs.
pub fn rank_correlation(a: &[u32], b: &[u32]) -> f64 {
    let pairs = a.iter().zip(b).map(|(&a, &b)| (a.into(), b.into()));
    stats::rank_correlation(&pairs.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_three_rounds() {
        let mut activity = Activity::new(3);
        activity.note(&[(0, 4), (2, 4)], true);
        activity.note(&[(2, 1)], false);
        activity.note(&[], false);
        assert_eq!((activity.schedules[2], activity.epochs[2]), (2, 5));
        assert_eq!(activity.sets, [1, 1, 1]);
        assert_eq!((activity.clients(), activity.epochs_each()), (1.0, 3.0));
        assert!((activity.full_power_share() - 1.0 / 3.0).abs() < 1e-15);
        assert!((activity.set_share(2) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(activity.set_share(9), 0.0);
    }

    #[test]
    fn rank_correlation_sees_order_alone_and_shares_ranks() {
        assert_eq!(rank_correlation(&[1, 2, 30], &[5, 6, 7]), 1.0);
        assert_eq!(rank_correlation(&[1, 2, 30], &[7, 6, 5]), -1.0);
        assert_eq!(rank_correlation(&[4, 4, 4], &[1, 2, 3]), 0.0);
        // Ranks 1.5, 1.5, 3 against 1, 2, 3: 1.5 / sqrt(1.5 * 2).
        let tied = rank_correlation(&[4, 4, 9], &[1, 2, 3]);
        assert!((tied - 1.5 / 3f64.sqrt()).abs() < 1e-15);
    }
}
