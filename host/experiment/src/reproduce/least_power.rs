//! Energy that a run at full power would have spent at the least power that meets the deadline.
//!
//! A baseline at a lower power schedules the same clients on the same channels for the same epochs, so
//! one run tells both energies. An upload that has t seconds instead of the t_max it took at p_max
//! needs the signal-to-noise ratio 2^(l/(B t)) - 1 instead of 2^(l/(B t_max)) - 1, at a power that is
//! lower by their quotient. Valid where an upload costs p t, as in the paper.

use gleaner_sim::round::ClientRow;
use gleaner_sim::scenario::Scenario;

/// Returns the energy of an upload at the least power, given a row at full power.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::{Attempt, execute_point, run_directory};
    use crate::plan::Point;
    use crate::reproduce::records::RunRecord;
    use crate::reproduce::setting::baselines;
    use gleaner_sim::run::{RunDirectory, Silent, read_rounds};
    use gleaner_sim::scenario::{Override, resolve};

    #[test]
    fn one_run_at_full_power_tells_the_energy_at_the_least_power() {
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
                let point = Point::new(Vec::new(), resolve("paper-mlp", &overrides).unwrap());
                let how = Attempt::default();
                execute_point(folder.path(), &point, &how, &mut Silent).unwrap();
                let directory = run_directory(folder.path(), &point);
                let rounds = read_rounds(&directory.file(RunDirectory::ROUNDS)).unwrap();
                let rounds = rounds.into_iter().map(|row| (row.participants, row.epochs));
                let rounds: Vec<_> = rounds.collect();
                (
                    RunRecord::read(point.id, &point.scenario, &directory).unwrap(),
                    rounds,
                )
            };
            let ((full, clients), (least, same)) = (run("max"), run("min"));
            assert_eq!(clients, same, "{scheduler}");
            let (spent_j, told_j) = (least.summary.energy_j, full.least_energy_j.unwrap());
            // The accounts count whole microseconds of transmission, and picojoules.
            assert!(
                (told_j / spent_j - 1.0).abs() < 2e-5,
                "{scheduler}: {told_j} {spent_j}"
            );
            assert!(
                told_j < 0.95 * full.summary.energy_j,
                "{scheduler}: {told_j}"
            );
            assert_eq!(least.least_energy_j, None);
        }
    }

    #[test]
    fn an_upload_without_slack_costs_what_it_cost() {
        let scenario = resolve("paper-mlp", &[]).unwrap();
        let row = ClientRow {
            upload_s: 0.01,
            radio_j: 2e-3,
            power_w: 0.2,
            ..ClientRow::default()
        };
        assert_eq!(upload_j(&scenario, 1e-4, &row), 2e-3);
        assert_eq!(upload_j(&scenario, 1e-4, &ClientRow::default()), 0.0);
    }
}
