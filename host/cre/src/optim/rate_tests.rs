//! Small rounds with each rate model against brute force: every client, channel, tau, level and bit
//! rate, with formulas of its own.

use gleaner_shared::rng::{Purpose, Rng};

use super::check::{Violation, check};
use super::power::{best_power, cheapest_upload, least_power, quietest_upload, useful_power};
use super::{
    Instance, InstanceError, Plan, Solver, Upload, draw_cap, draw_costs, draw_modem, evaluate,
    individual, nobody_objective, random_instance,
};
use crate::channel::{BitRate, Cap, Level, Modem, RateModel, shannon_rate};
use crate::system::System;
use crate::units::{Gain, Hertz, Watts, WattsPerHertz};

/// The paper's radio, a limited one and a transceiver in turn.
fn round(seed: u64) -> Instance {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 92);
    let mut instance = random_instance(&System::paper_mlp(), 1 + rng.below(3), 2, seed);
    instance.v *= libm::pow(10.0, 5.0 * rng.uniform() - 2.0);
    instance.deadline_s *= 1.5 + 2.0 * rng.uniform();
    for client in 0..instance.clients() {
        instance.epoch_s[client] *= 5.0 + 10.0 * rng.uniform();
        instance.reserve_s[client] = 0.3 * instance.deadline_s * rng.uniform();
    }
    if seed % 2 == 1 {
        draw_costs(&mut instance, seed);
    }
    match seed % 3 {
        0 => {}
        1 => draw_cap(&mut instance, seed),
        _ => draw_modem(&mut instance, seed),
    }
    assert_eq!(instance.validate(), Ok(()));
    instance
}

/// Power, time and energy of an upload.
#[derive(Clone, Copy, Debug)]
struct Way {
    power_w: f64,
    time_s: f64,
    energy_j: f64,
}

/// Returns every upload of a client on a channel: each pair of level and bit rate that is received, or
/// a dense grid of admissible powers.
fn ways(instance: &Instance, client: usize, channel: usize) -> Vec<Way> {
    let radio = instance.costs[client].radio;
    let gain = instance.gain[client][channel];
    let way = |power_w: f64, transmitter_w: f64, rate: f64| {
        let time_s = instance.model_bits / rate;
        let energy_j = (transmitter_w + radio.circuit_w) * time_s + radio.per_upload_j;
        Way {
            power_w,
            time_s,
            energy_j,
        }
    };
    if let RateModel::Gfsk(modem) = &instance.rate {
        let pairs = modem.levels.iter().flat_map(|level| {
            let rates = modem.rates.iter();
            let received = move |rate: &&BitRate| {
                10.0 * (level.radiated_w * gain / (rate.sensitivity_w * modem.margin)).log10()
                    >= -1e-12
            };
            rates
                .filter(received)
                .map(move |rate| way(level.radiated_w, level.drawn_w, rate.bps))
        });
        return pairs.collect();
    }
    let limit_bps = match &instance.rate {
        RateModel::Capped(cap) => {
            (cap.max_bits_per_hz * instance.bandwidth_hz).min(cap.max_rate_bps)
        }
        _ => f64::INFINITY,
    };
    let power_at = |step: u32| instance.power_max_w * 10f64.powf(-8.0 * f64::from(step) / 4000.0);
    let mut ways: Vec<Way> = (0..=4000)
        .map(|step| {
            let power_w = power_at(step);
            let snr = power_w * gain / (instance.bandwidth_hz * instance.noise_w_per_hz);
            let rate = instance.bandwidth_hz * snr.ln_1p() / 2f64.ln();
            way(power_w, power_w / radio.efficiency, rate.min(limit_bps))
        })
        .collect();
    // No power beyond the first that reaches the limit, and none below that of least energy.
    let full = |way: &&Way| way.time_s * (1.0 - 1e-12) <= instance.model_bits / limit_bps;
    let enough_w = ways.iter().filter(full).map(|way| way.power_w);
    let enough_w = enough_w.fold(f64::INFINITY, f64::min);
    ways.retain(|way| way.power_w <= enough_w);
    let cheapest = ways.iter().min_by(|a, b| a.energy_j.total_cmp(&b.energy_j));
    let cheapest_w = cheapest.map_or(0.0, |way| way.power_w);
    ways.retain(|way| way.power_w >= cheapest_w);
    ways
}

/// Returns the slack of a client after `tau` epochs.
fn slack_s(instance: &Instance, client: usize, tau: u32) -> f64 {
    let busy_s = instance.costs[client].order_s + f64::from(tau) * instance.epoch_s[client];
    instance.deadline_s - instance.reserve_s[client] - instance.downlink_s - busy_s
}

/// Returns the best upload of a client after `tau` epochs with its share of J: with a transceiver the
/// cheapest in time, otherwise the one of least J.
fn best_way(instance: &Instance, client: usize, ways: &[Way], tau: u32) -> Option<(f64, Way)> {
    let (costs, unit) = (&instance.costs[client], instance.energy_unit_j);
    let slack_s = slack_s(instance, client, tau);
    let share = |way: &Way| {
        let work_j = f64::from(tau) * instance.epoch_j[client] + costs.order_j;
        let rest_j = instance.income_j[client] - costs.standing_j;
        let (q, z) = (
            (rest_j - work_j - way.energy_j) / unit,
            instance.queue_j[client] / unit,
        );
        let (idle, square) = (rest_j / unit, q * q - 2.0 * z * q);
        square - (idle * idle - 2.0 * z * idle)
    };
    let in_time = ways.iter().filter(|way| way.time_s <= slack_s);
    let best = match &instance.rate {
        RateModel::Gfsk(_) => in_time.min_by(|a, b| a.energy_j.total_cmp(&b.energy_j)),
        _ => in_time.min_by(|a, b| share(a).total_cmp(&share(b))),
    };
    best.map(|way| (share(way), *way))
}

/// Returns the best J of all assignments to two channels, and the uploads of it.
fn brute_force(instance: &Instance) -> (f64, Plan) {
    let nobody = nobody_objective(instance);
    let mut best = (nobody, Plan::nobody());
    let clients = instance.clients();
    let all: Vec<Vec<Vec<Way>>> = (0..clients)
        .map(|client| {
            (0..2)
                .map(|channel| ways(instance, client, channel))
                .collect()
        })
        .collect();
    let most = (0..clients)
        .map(|client| (slack_s(instance, client, 0) / instance.epoch_s[client]).max(0.0))
        .fold(0.0, f64::max) as u32;
    for first in (0..clients).map(Some).chain([None]) {
        for second in (0..clients).map(Some).chain([None]) {
            if first == second {
                continue;
            }
            for tau in 1..=most {
                let pairs = [(first, 0), (second, 1)];
                let chosen: Option<Vec<_>> = pairs
                    .into_iter()
                    .filter_map(|(client, channel)| Some((client?, channel)))
                    .map(|(client, channel)| {
                        let (share, way) = best_way(instance, client, &all[client][channel], tau)?;
                        Some((
                            share,
                            Upload {
                                client,
                                channel,
                                power_w: way.power_w,
                            },
                        ))
                    })
                    .collect();
                let Some(chosen) = chosen else { continue };
                let shares: f64 = chosen.iter().map(|(share, _)| share).sum();
                let plan = Plan::new(tau, chosen.into_iter().map(|(_, upload)| upload).collect());
                let bound = evaluate(instance, &plan).bound.total();
                let value = nobody + shares + instance.v * (bound - instance.bound.gap);
                if value < best.0 {
                    best = (value, plan);
                }
            }
        }
    }
    best
}

/// Returns the magnitude of the terms of J.
fn scale(instance: &Instance) -> f64 {
    let unit = instance.energy_unit_j;
    let most_j = (0..instance.clients()).map(|client| {
        let costs = &instance.costs[client];
        let drawn_w = instance.drawn_w(client, instance.power_max_w);
        let work_j = instance.deadline_s * instance.epoch_j[client] / instance.epoch_s[client];
        let moved_j = instance.income_j[client] + costs.standing_j + costs.order_j + work_j;
        moved_j
            + instance.queue_j[client]
            + drawn_w * instance.deadline_s
            + costs.radio.per_upload_j
    });
    instance.v * instance.bound.gap + most_j.map(|j| (j / unit).powi(2)).sum::<f64>()
}

#[test]
fn exact_equals_brute_force_over_every_level_and_bit_rate() {
    let mut trained = [0; 3];
    for seed in 0..600 {
        let instance = round(seed);
        let exact = Solver::Exact.solve(&instance, 0).expect("valid");
        let (found, (best, plan)) = (exact.evaluation.total, brute_force(&instance));
        let room = 1e-11 * scale(&instance);
        assert!(found <= best + room, "seed {seed}: {found} {best} {plan:?}");
        if instance.rate.modem().is_some() {
            assert!(
                found >= best - room,
                "seed {seed}: {found} {best}\n{exact:?}\n{plan:?}"
            );
            let claimed = evaluate(&instance, &plan).total;
            assert!(
                (claimed - best).abs() <= room,
                "seed {seed}: {claimed} {best}"
            );
        }
        assert_eq!(check(&instance, &exact.plan, found), Ok(()), "seed {seed}");
        trained[(seed % 3) as usize] += usize::from(exact.plan.epochs > 0);
        let alone = individual::solve(&instance).expect("valid");
        let checked = individual::check(&instance, &alone.plan, alone.value.total);
        assert_eq!(checked, Ok(()), "seed {seed}");
        assert!(
            alone.value.total <= found + room,
            "seed {seed}: common epochs are allowed"
        );
    }
    assert!(trained.iter().all(|&plans| plans > 70), "{trained:?}");
}

#[test]
fn the_cheapest_upload_of_a_transceiver_is_that_of_every_pair() {
    let (mut judged, mut not_quietest) = (0, 0);
    for seed in (0..900).map(|seed| 3 * seed + 2) {
        let instance = round(seed);
        let slack_s = instance.slack_s(0, 1.0);
        let all = ways(&instance, 0, 0);
        let in_time = || all.iter().filter(|way| way.time_s <= slack_s);
        let least_j = in_time().fold(f64::INFINITY, |least, way| least.min(way.energy_j));
        let least_w = in_time().fold(f64::INFINITY, |least, way| least.min(way.power_w));
        assert_eq!(
            least_power(&instance, 0, 0, slack_s),
            least_w,
            "seed {seed}"
        );
        let Some(cheapest) = cheapest_upload(&instance, 0, 0, slack_s) else {
            assert_eq!(in_time().count(), 0, "seed {seed}");
            assert_eq!(quietest_upload(&instance, 0, 0, slack_s), None);
            continue;
        };
        judged += 1;
        let energy_j = instance.upload_j(0, cheapest.power_w, cheapest.time_s);
        assert!((energy_j / least_j - 1.0).abs() < 1e-12, "seed {seed}");
        assert_eq!(best_power(&instance, 0, 0, 1.0).power_w, cheapest.power_w);
        let quietest = quietest_upload(&instance, 0, 0, slack_s).expect("one is in time");
        assert_eq!(quietest.power_w, least_w);
        not_quietest += usize::from(cheapest.power_w > least_w);
    }
    assert!(judged > 200 && not_quietest > 30, "{judged} {not_quietest}");
}

#[test]
fn a_limit_makes_no_plan_better_and_one_above_every_rate_changes_no_bit() {
    let mut worse = 0;
    for seed in 0..200 {
        let mut free = round(seed);
        free.rate = RateModel::Shannon;
        let best = Solver::Exact.solve(&free, 0).expect("valid");
        let mut limited = free.clone();
        limited.rate = RateModel::Capped(Cap {
            max_bits_per_hz: 1e3,
            max_rate_bps: 1e12,
        });
        let same = Solver::Exact.solve(&limited, 0).expect("valid");
        assert_eq!(same, best, "seed {seed}");
        // A cap takes uploads away; none of those left is at more than the useful power.
        draw_cap(&mut limited, seed);
        let capped = Solver::Exact.solve(&limited, 0).expect("valid");
        for upload in &capped.plan.uploads {
            let useful_w = useful_power(&limited, upload.client, upload.channel);
            assert!(upload.power_w <= useful_w, "seed {seed}");
            let rate = shannon_rate(
                Watts(useful_w),
                Gain(limited.gain[upload.client][upload.channel]),
                Hertz(limited.bandwidth_hz),
                WattsPerHertz(limited.noise_w_per_hz),
            );
            let time_s = limited.upload_s(upload.client, upload.channel, useful_w);
            assert!(time_s >= limited.model_bits / rate.0 * (1.0 - 1e-12));
        }
        worse += usize::from(capped.evaluation.total > best.evaluation.total);
        let room = 1e-11 * scale(&free);
        assert!(
            capped.evaluation.total >= best.evaluation.total - room,
            "seed {seed}"
        );
    }
    assert!(worse > 20, "{worse}");
}

#[test]
fn the_checker_refuses_powers_that_are_no_level_or_no_faster_than_a_cheaper_one() {
    let mut refused = [0; 2];
    for seed in 0..600 {
        let instance = round(seed);
        let solution = Solver::Exact.solve(&instance, 0).expect("valid");
        for at in 0..solution.plan.uploads.len() {
            let mut plan = solution.plan.clone();
            let power_w = &mut plan.uploads[at].power_w;
            match &instance.rate {
                RateModel::Shannon => {}
                RateModel::Capped(_) => {
                    let upload = plan.uploads[at];
                    let useful_w = useful_power(&instance, upload.client, upload.channel);
                    if useful_w < 0.99 * instance.power_max_w {
                        plan.uploads[at].power_w = instance.power_max_w;
                        let found = check(&instance, &plan, solution.evaluation.total);
                        assert!(
                            matches!(found, Err(Violation::Wasteful { .. })),
                            "{found:?}"
                        );
                        refused[0] += 1;
                    }
                }
                RateModel::Gfsk(_) => {
                    *power_w *= 0.999;
                    let found = check(&instance, &plan, solution.evaluation.total);
                    assert!(matches!(found, Err(Violation::NoLevel { .. })), "{found:?}");
                    refused[1] += 1;
                }
            }
        }
    }
    assert!(refused.iter().all(|&times| times > 30), "{refused:?}");
}

#[test]
fn rate_models_that_cannot_be_are_refused_by_name() {
    let mut instance = random_instance(&System::paper_mlp(), 2, 2, 1);
    draw_modem(&mut instance, 1);
    let record = serde_json::to_value(&instance).expect("plain data");
    let read: Instance = serde_json::from_value(record).expect("written above");
    assert_eq!(read, instance, "a record keeps the transceiver");
    let RateModel::Gfsk(good) = instance.rate.clone() else {
        unreachable!("drawn above")
    };
    let refuse = |spoil: &dyn Fn(&mut Modem)| {
        let mut modem = good.clone();
        spoil(&mut modem);
        let mut bad = instance.clone();
        bad.rate = RateModel::Gfsk(modem);
        let InstanceError { field, .. } = bad.validate().expect_err("spoilt");
        field
    };
    let level = |radiated_w| Level {
        radiated_w,
        drawn_w: 0.1,
    };
    for (spoil, field) in [
        (
            &(|modem: &mut Modem| modem.levels.clear()) as &dyn Fn(&mut Modem),
            "rate.gfsk.levels",
        ),
        (&|modem| modem.levels.push(level(1e9)), "rate.gfsk.levels"),
        (
            &|modem| modem.levels.insert(0, level(1e9)),
            "rate.gfsk.levels[1].radiated_w",
        ),
        (
            &|modem| modem.levels[0].drawn_w = 0.0,
            "rate.gfsk.levels[0].drawn_w",
        ),
        (
            &|modem| modem.levels[0].radiated_w = f64::NAN,
            "rate.gfsk.levels[0].radiated_w",
        ),
        (&|modem| modem.rates.clear(), "rate.gfsk.rates"),
        (&|modem| modem.rates[0].bps = -1.0, "rate.gfsk.rates[0].bps"),
        (
            &|modem| modem.rates[0].sensitivity_w = f64::INFINITY,
            "rate.gfsk.rates[0].sensitivity_w",
        ),
        (&|modem| modem.margin = 0.0, "rate.gfsk.margin"),
    ] {
        assert_eq!(refuse(spoil), field);
    }
    let mut bad = instance.clone();
    bad.rate = RateModel::Capped(Cap {
        max_bits_per_hz: 0.0,
        max_rate_bps: 1.0,
    });
    assert_eq!(
        bad.validate().expect_err("no rate").field,
        "rate.capped.max_bits_per_hz"
    );
}
