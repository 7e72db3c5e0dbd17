//! Every scheduler with every rate model.

use gleaner_shared::units::NanoWatts;

use super::*;
use crate::policy::BaselinePower;

/// The paper's clients with epochs a thousand times as long and dear, in rounds of four seconds, at
/// distances at which the highest level is not received at every bit rate.
fn slow(scheduler: Scheduler, power: BaselinePower, estimates: Estimates, rate: &str) -> Scenario {
    let sets = [
        ("device.deadline_s", "4"),
        ("device.cycles_per_sample", "100000"),
        ("device.harvest_j", "0.4"),
        ("device.circuit_w", "0.012"),
        ("device.upload_j", "0.0001"),
        ("device.receive_w", "0.02"),
        ("cre.energy_unit_j", "1000"),
        ("channel.antenna_gain_db", "0"),
        ("channel.carrier_ghz", "0.868"),
        ("channel.radius_m", "3000"),
        ("radio.max_power_dbm", "14"),
        ("radio.downlink_power_w", "0.5"),
        ("radio.max_bits_per_hz", "0.2"),
        ("radio.rate", rate),
    ];
    let mut overrides = vec![
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("run.rounds", 30),
        Override::new("baselines.power", power.to_string()),
        Override::new("baselines.epochs", 1),
        Override::new("cre.estimates", estimates.to_string()),
    ];
    overrides.extend(sets.map(|(key, value)| format!("{key}={value}").parse().unwrap()));
    resolve("paper-mlp", &overrides).unwrap()
}

/// Checks the rows of a round against the rate model, by formulas of their own.
fn judge(scenario: &Scenario, log: &RoundLog, levels_seen: &mut Vec<f64>) {
    let Some(instance) = &log.problem else { return };
    let model = scenario.rate_model();
    for (row, energy) in log.clients.iter().zip(&log.energy) {
        let Some(channel) = row.channel else { continue };
        let client = row.client.index();
        assert_ne!(row.state, ClientState::Late, "{row:?}");
        let rate_bps = instance.model_bits / row.upload_s;
        let drawn_w = match model.modem() {
            None => {
                assert!(rate_bps <= 0.2 * 1e6 * (1.0 + 1e-9), "{rate_bps}");
                row.power_w
            }
            Some(modem) => {
                let level = modem.levels.iter().find(|it| it.radiated_w == row.power_w);
                let level = level.expect("the power is that of a level");
                let rate = (modem.rates.iter()).find(|it| (it.bps / rate_bps - 1.0).abs() < 1e-12);
                let needed_w = rate.expect("it is listed").sensitivity_w * modem.margin;
                assert!(row.power_w * instance.gain[client][channel] >= needed_w);
                levels_seen.push(row.power_w);
                level.drawn_w
            }
        };
        let drawn = NanoWatts(((drawn_w * 1e9).round() as u64) + 12_000_000);
        let sent = drawn.0 as f64 * (row.upload_s * 1e6).round() / 1e3;
        let off = sent.round() + 1e8 - energy.transmit_pj as f64;
        assert!(off.abs() <= 1.0, "{sent} {energy:?}");
    }
}

#[test]
fn every_scheduler_trains_within_the_limits_of_every_rate_model() {
    let mut levels = Vec::new();
    for &scheduler in Scheduler::VARIANTS {
        for &power in BaselinePower::VARIANTS {
            for estimates in [Estimates::Oracle, Estimates::Uplink] {
                for rate in ["capped", "gfsk"] {
                    let scenario = slow(scheduler, power, estimates, rate);
                    let (logs, state) = run(&scenario, NOBODY);
                    logs.iter()
                        .for_each(|log| judge(&scenario, log, &mut levels));
                    let trained: usize = logs.iter().map(|it| it.round.participants.len()).sum();
                    assert!(trained > 10, "{scheduler}, {power}, {rate}: {trained}");
                    assert!(state.model()[0] > 0.0, "{scheduler}, {power}, {rate}");
                }
            }
        }
    }
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    assert!(levels.len() > 10, "{levels:?}");
}

#[test]
fn orders_of_a_transceiver_are_paid_from_what_is_stored_and_glean_orders_no_other() {
    for &scheduler in Scheduler::VARIANTS {
        let mut scenario = slow(scheduler, BaselinePower::Min, Estimates::Oracle, "gfsk");
        let (device, harvest) = (&mut scenario.device, &mut scenario.harvest);
        (device.idle_w, device.sleep_w) = (0.01, 0.001);
        (device.save_s, device.save_w) = (0.5, 0.03);
        harvest.source = gleaner_energy::harvest::Source::Markov;
        (harvest.on_rounds, harvest.off_rounds) = (3.0, 3.0);
        (harvest.period_s, harvest.storage_j, harvest.stored_j) = (60.0, 3.0, 1.0);
        let (logs, state) = run(&scenario, NOBODY);
        logs.iter()
            .for_each(|log| judge(&scenario, log, &mut Vec::new()));
        assert_eq!(stores::violations(&scenario, &logs), 0, "{scheduler}");
        let trained: usize = logs.iter().map(|it| it.round.participants.len()).sum();
        assert!(trained > 3, "{scheduler}: {trained}");
        let declined: u32 = state.stores().iter().map(|state| state.declined).sum();
        assert!(declined == 0 || scheduler != Scheduler::Glean, "{declined}");
    }
}

#[test]
fn a_client_that_receives_no_broadcast_stops_the_round_and_nothing_else() {
    let deaf = ["radio.downlink_power_w=1e-12", "radio.rate=gfsk"];
    let sets = deaf.map(|set| set.parse().unwrap());
    for &scheduler in Scheduler::VARIANTS {
        let by_name = Override::new("run.scheduler", scheduler.to_string());
        let rounds = Override::new("run.rounds", 3);
        let more = [&sets[..], &[by_name, rounds]].concat();
        let scenario = resolve("rp2040", &more).unwrap();
        let (logs, _) = run(&scenario, NOBODY);
        for log in logs.iter().filter(|log| log.round.round > 0) {
            assert_eq!(log.round.participants, [], "{scheduler}");
            assert_eq!(log.round.downlink_s, scenario.device.deadline_s);
        }
    }
}
