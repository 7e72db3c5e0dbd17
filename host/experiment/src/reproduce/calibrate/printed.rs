//! What the paper prints of its schedulers' activity on CIFAR-10, d = 0.4, sigma = 100.

use gleaner_sim::policy::Scheduler;

use super::activity::Activity;
use crate::reproduce::paper::paper;

/// Rounds of the table of statistics.
pub const ROUNDS: u32 = 2000;
/// Rounds that the table of solutions shows.
pub const SOLUTIONS: std::ops::RangeInclusive<u32> = 201..=210;
/// Printed full power of the table of solutions.
const FULL_MW: f64 = 199.53;

/// Returns the data set sizes of the clients of the table of statistics.
pub fn sizes() -> &'static [u32] {
    &paper().samples
}

/// Returns the printed counts of a scheduler; `None` if the table does not have it.
pub fn statistics(scheduler: Scheduler) -> Option<Activity> {
    let row = paper()
        .statistics
        .iter()
        .find(|row| row.algorithm == scheduler)?;
    Some(Activity {
        rounds: ROUNDS,
        schedules: row.schedules.clone(),
        epochs: row.epochs.clone(),
        ..Activity::default()
    })
}

/// Returns the counts of the table of solutions.
pub fn solutions() -> Activity {
    let mut activity = Activity::new(sizes().len());
    for row in &paper().solution {
        let clients = row.clients.iter().filter(|&&client| client > 0);
        let participants: Vec<_> = clients.map(|&it| (it as usize - 1, row.epochs)).collect();
        activity.note(&participants, row.power_mw.contains(&FULL_MW));
    }
    activity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_give_the_figures_that_the_text_names() {
        let cre = statistics(Scheduler::Cre).unwrap();
        assert_eq!(cre.clients(), 2.024);
        assert_eq!(cre.epochs_each(), 12_720.0 / 4_048.0);
        let random = statistics(Scheduler::Random).unwrap();
        assert!((random.clients() - 2.7665).abs() < 1e-12);
        let solutions = solutions();
        assert_eq!((solutions.rounds, solutions.at_full_power), (10, 10));
        assert_eq!(solutions.clients(), 2.2);
        assert_eq!(solutions.sets, [0, 0, 8, 2]);
        assert!(statistics(Scheduler::FedNova).is_none());
    }
}
