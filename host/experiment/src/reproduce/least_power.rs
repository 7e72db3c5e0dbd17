//! What a run at full power would have spent at the least power that meets the deadline.
//!
//! A baseline that sends more softly schedules the same clients on the same channels for the same
//! epochs, so one run tells both energies. An upload that has t seconds instead of the t_max it took
//! at p_max needs the signal-to-noise ratio 2^(l/(B t)) - 1 instead of 2^(l/(B t_max)) - 1, at a power
//! that is lower by their quotient. Valid for the paper's books, where sending costs p t.

use gleaner_sim::round::{ClientRow, RoundRow};
use gleaner_sim::scenario::Scenario;

/// Returns the energy of an upload at the least power, given a row at full power.
#[must_use]
pub fn upload_j(scenario: &Scenario, downlink_s: f64, row: &ClientRow) -> f64 {
    let bits = scenario.model_bits();
    let bandwidth_hz = scenario.radio.uplink_bandwidth_hz;
    let slack_s = scenario.device.deadline_s - downlink_s - row.compute_s;
    // A client that is late at full power has none to spare.
    if row.upload_s <= 0.0 || slack_s <= row.upload_s {
        return row.radio_j;
    }
    let ratio = |seconds: f64| (bits / (bandwidth_hz * seconds)).exp2() - 1.0;
    let power_w = row.power_w * ratio(slack_s) / ratio(row.upload_s);
    power_w * slack_s
}

/// Adds up what the clients of a run would have spent.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastEnergy {
    total_j: f64,
}

impl LeastEnergy {
    /// Adds a client's row of a round.
    pub fn add(&mut self, scenario: &Scenario, round: &RoundRow, row: &ClientRow) {
        let upload = upload_j(scenario, round.downlink_s, row);
        self.total_j += row.compute_j + upload;
    }

    /// Returns the sum.
    #[must_use]
    pub const fn total_j(self) -> f64 {
        self.total_j
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Made;
    use crate::reproduce::setting::baselines;
    use crate::{PlannedRun, run_bare};
    use gleaner_sim::run::{RunDirectory, Tally, read_rounds};
    use gleaner_sim::scenario::{Override, resolve};

    /// Whoever doubts the formula runs both powers.
    #[test]
    fn one_run_at_full_power_tells_what_the_least_power_spends() {
        let folder = tempfile::tempdir().unwrap();
        for scheduler in baselines() {
            let run = |power: &str| {
                let overrides = [
                    Override::new("run.scheduler", scheduler.to_string()),
                    Override::new("run.rounds", 8),
                    Override::new("baselines.power", power),
                    Override::new("partition.mean_samples", 40),
                    Override::new("partition.std_samples", 8),
                    Override::new("device.cycles_per_sample", 2500),
                    Override::new("data.test_samples", 20),
                ];
                PlannedRun {
                    scenario: resolve("paper-mlp", &overrides).unwrap(),
                    directory: RunDirectory::new(
                        folder.path().join(format!("{scheduler}-{power}")),
                    ),
                }
            };
            let runs = [run("max"), run("min")];
            for outcome in run_bare(&runs, 1, |_, _| ()) {
                outcome.unwrap();
            }
            let [loud, soft] = runs;
            let clients = |run: &PlannedRun| -> Vec<_> {
                let rounds = read_rounds(&run.directory.file(RunDirectory::ROUNDS)).unwrap();
                let who = rounds.into_iter().map(|row| (row.participants, row.epochs));
                who.collect()
            };
            assert_eq!(clients(&loud), clients(&soft), "{scheduler}");
            let spent_j = Tally::read(&soft.directory).unwrap().summary().energy_j;
            let made = Made::read(String::new(), &loud.scenario, loud.directory).unwrap();
            let told_j = made.least_energy_j.unwrap();
            // The books count whole microseconds on the air, and picojoules.
            assert!(
                (told_j / spent_j - 1.0).abs() < 2e-5,
                "{scheduler}: {told_j} {spent_j}"
            );
            assert!(
                told_j < 0.95 * made.summary.energy_j,
                "{scheduler}: {told_j}"
            );
            let soft = Made::read(String::new(), &soft.scenario, soft.directory).unwrap();
            assert_eq!(soft.least_energy_j, None);
        }
    }

    #[test]
    fn an_upload_that_takes_all_the_time_there_is_costs_what_it_costs() {
        let scenario = resolve("paper-mlp", &[]).unwrap();
        let row = ClientRow {
            upload_s: 0.01,
            radio_j: 2e-3,
            power_w: 0.2,
            ..ClientRow::default()
        };
        assert_eq!(upload_j(&scenario, 1e-4, &row), 2e-3);
        let idle = ClientRow::default();
        assert_eq!(upload_j(&scenario, 1e-4, &idle), 0.0);
    }
}
