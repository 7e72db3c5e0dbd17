//! Rounds with costs beside the paper's: powers against a dense grid with independent formulas, and
//! solvers against each other. `host/tests/solvers.rs` compares whole plans with brute force.

use gleaner_shared::rng::{Purpose, Rng};

use super::check::check;
use super::inner::{self, Pair, most_epochs, plan_at};
use super::power::{PowerCase, best_power, cheapest_upload, efficient_power, least_power};
use super::{
    Instance, Plan, Solver, Upload, draw_cap, draw_costs, draw_modem, evaluate, individual,
    random_instance,
};
use crate::costs::Costs;
use crate::system::System;

const GRID: u32 = 3000;

/// A small round with costs and penalties of every magnitude.
fn round(seed: u64) -> Instance {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 80);
    let system = match seed % 2 {
        0 => System::paper_mlp(),
        _ => System::paper_cnn(),
    };
    let (clients, channels) = (1 + rng.below(4), 1 + rng.below(2) as usize);
    let mut instance = random_instance(&system, clients, channels, seed);
    instance.v *= libm::pow(10.0, 6.0 * rng.uniform() - 2.0);
    instance.deadline_s *= 1.0 + 3.0 * rng.uniform();
    draw_costs(&mut instance, seed);
    for client in 0..instance.clients() {
        // Large incomes give targets above the minimum energy and above full power.
        let tenfold = libm::pow(10.0, 3.0 * rng.uniform() - 0.5);
        instance.income_j[client] *= tenfold;
        instance.queue_j[client] *= f64::from(rng.below(2)) * rng.uniform();
    }
    instance
}

/// The same with Shannon's rate, with a limited one, or with a transceiver.
fn round_of_any_radio(seed: u64) -> Instance {
    let mut instance = round(seed);
    match seed / 2 % 3 {
        0 => {}
        1 => draw_cap(&mut instance, seed),
        _ => draw_modem(&mut instance, seed),
    }
    assert_eq!(instance.validate(), Ok(()));
    instance
}

/// Time and energy of an upload at one power.
#[derive(Clone, Copy)]
struct Point {
    power_w: f64,
    time_s: f64,
    energy_j: f64,
}

/// Evaluates every power of a geometric grid and the powers in `beside`.
fn sweep(instance: &Instance, client: usize, channel: usize, beside: &[f64]) -> Vec<Point> {
    let radio = instance.costs[client].radio;
    let grid = (0..=GRID)
        .map(|step| instance.power_max_w * 10f64.powf(-12.0 * f64::from(step) / f64::from(GRID)));
    let mut points: Vec<Point> = grid
        .chain(beside.iter().copied())
        .filter(|power_w| *power_w > 0.0 && *power_w <= instance.power_max_w)
        .map(|power_w| {
            let noise_w = instance.bandwidth_hz * instance.noise_w_per_hz;
            let snr = power_w * instance.gain[client][channel] / noise_w;
            let rate = instance.bandwidth_hz * snr.ln_1p() / 2f64.ln();
            let time_s = instance.model_bits / rate;
            let drawn_w = power_w / radio.efficiency + radio.circuit_w;
            let energy_j = drawn_w * time_s + radio.per_upload_j;
            Point {
                power_w,
                time_s,
                energy_j,
            }
        })
        .collect();
    // Powers below the cheapest are slower and cost more; solvers never use them.
    let cheapest = points
        .iter()
        .copied()
        .min_by(|a, b| a.energy_j.total_cmp(&b.energy_j))
        .expect("the grid is not empty");
    points.retain(|point| point.power_w >= cheapest.power_w);
    points
}

/// Returns q^2 - 2 Z q of a client that spends `used_j` beside its standing costs.
fn term(instance: &Instance, client: usize, used_j: f64) -> f64 {
    let unit = instance.energy_unit_j;
    let q = (instance.income_j[client] - instance.costs[client].standing_j - used_j) / unit;
    q * q - 2.0 * instance.queue_j[client] / unit * q
}

fn slack_s(instance: &Instance, client: usize, tau: u32) -> f64 {
    instance.deadline_s
        - instance.reserve_s[client]
        - instance.downlink_s
        - instance.costs[client].order_s
        - f64::from(tau) * instance.epoch_s[client]
}

/// Returns the point of the grid that is best after `tau` epochs.
fn best_point(
    instance: &Instance,
    client: usize,
    points: &[Point],
    tau: u32,
) -> Option<(f64, f64)> {
    let slack_s = slack_s(instance, client, tau);
    let work_j = f64::from(tau) * instance.epoch_j[client] + instance.costs[client].order_j;
    points
        .iter()
        .filter(|point| point.time_s <= slack_s * (1.0 + 1e-12))
        .map(|point| {
            (
                term(instance, client, work_j + point.energy_j),
                point.power_w,
            )
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Returns the magnitude of the terms of J.
fn scale(instance: &Instance) -> f64 {
    let energies = (0..instance.clients()).map(|client| {
        let costs = &instance.costs[client];
        let most_j = instance.queue_j[client]
            + instance.income_j[client]
            + costs.standing_j
            + costs.order_j
            + instance.deadline_s * instance.epoch_j[client] / instance.epoch_s[client]
            + costs
                .radio
                .energy_j(instance.power_max_w, instance.deadline_s);
        (most_j / instance.energy_unit_j).powi(2)
    });
    instance.v * instance.bound.gap + energies.sum::<f64>()
}

#[test]
fn best_power_is_optimal_on_the_grid_and_every_case_occurs() {
    let (mut cases, mut thrifty, mut beyond) = ([0; 3], 0, 0);
    for seed in 0..150 {
        let instance = round(seed);
        for client in 0..instance.clients() {
            for channel in 0..instance.channels {
                let efficient_w = efficient_power(&instance, client, channel);
                let points = sweep(&instance, client, channel, &[efficient_w]);
                beyond += usize::from(efficient_w == instance.power_max_w);
                for tau in 1..=most_epochs(&instance, &[Pair { client, channel }]) {
                    let choice = best_power(&instance, client, channel, f64::from(tau));
                    let upload = Upload {
                        client,
                        channel,
                        power_w: choice.power_w,
                    };
                    let (time_s, energy_j) = super::objective::upload_cost(&instance, &upload);
                    let slack_s = slack_s(&instance, client, tau);
                    assert!(
                        time_s <= slack_s + 2e-9 * instance.deadline_s,
                        "seed {seed}"
                    );
                    let work_j = instance.work_j(client, f64::from(tau));
                    let found = term(&instance, client, work_j + energy_j);
                    if let Some((best, _)) = best_point(&instance, client, &points, tau) {
                        assert!(
                            found <= best + 1e-12 * scale(&instance),
                            "seed {seed}, client {client}, tau {tau}: {found} {best} {choice:?}"
                        );
                    }
                    cases[choice.case as usize] += 1;
                    thrifty += usize::from(choice.p_thrifty_w > choice.p_min_w);
                }
            }
        }
    }
    assert!(cases.iter().all(|&times| times > 300), "{cases:?}");
    assert!(thrifty > 300 && beyond > 10, "{thrifty} {beyond}");
}

#[test]
fn the_power_of_the_target_spends_the_target() {
    let mut interior = 0;
    for seed in 0..150 {
        let instance = round(seed);
        for client in 0..instance.clients() {
            for tau in 1..=most_epochs(&instance, &[Pair { client, channel: 0 }]) {
                let choice = best_power(&instance, client, 0, f64::from(tau));
                if choice.case == PowerCase::Interior {
                    interior += 1;
                    let time_s = instance.upload_s(client, 0, choice.power_w);
                    let spent_j = instance.costs[client]
                        .radio
                        .energy_j(choice.power_w, time_s);
                    let off = spent_j / choice.e_target_j - 1.0;
                    assert!(
                        off.abs() < 1e-11,
                        "seed {seed}, tau {tau}: {off} {choice:?}"
                    );
                }
            }
        }
    }
    assert!(interior > 200, "{interior}");
}

#[test]
fn no_power_of_a_grid_that_meets_the_slack_uploads_for_less_than_the_cheapest_upload() {
    let (mut higher, mut missed) = (0, 0);
    for seed in 0..100 {
        let instance = round(seed);
        let radio = instance.costs[0].radio;
        let slack_s = instance.slack_s(0, f64::from(1 + (seed % 7) as u32));
        let in_time = |point: &Point| point.time_s <= slack_s;
        let points = sweep(&instance, 0, 0, &[]).into_iter().filter(in_time);
        let least_j = points.fold(f64::INFINITY, |least, it| least.min(it.energy_j));
        let Some(cheapest) = cheapest_upload(&instance, 0, 0, slack_s) else {
            assert_eq!(least_j, f64::INFINITY, "seed {seed}");
            missed += 1;
            continue;
        };
        let energy_j = radio.energy_j(cheapest.power_w, cheapest.time_s);
        assert!(energy_j <= least_j * (1.0 + 1e-9), "seed {seed}");
        assert!(cheapest.power_w <= instance.power_max_w && cheapest.time_s <= slack_s);
        let time_s = instance.upload_s(0, 0, cheapest.power_w);
        assert!((cheapest.time_s / time_s - 1.0).abs() < 1e-9, "seed {seed}");
        let efficient_w = efficient_power(&instance, 0, 0);
        assert_eq!(radio.circuit_w == 0.0, efficient_w == 0.0);
        higher += usize::from(cheapest.power_w > least_power(&instance, 0, 0, slack_s));
    }
    assert!(higher > 10 && missed > 0, "{higher} {missed}");
}

#[test]
fn plans_of_all_solvers_are_feasible_and_none_beats_the_exact_one() {
    let mut trained = 0;
    for seed in 0..240 {
        let instance = round_of_any_radio(seed);
        let room = 1e-12 * scale(&instance);
        let exact = Solver::Exact.solve(&instance, 0).expect("valid");
        let best = exact.evaluation.total;
        assert_eq!(exact.gap(&instance), Some(0.0), "seed {seed}");
        trained += usize::from(exact.plan.epochs > 0);
        for solver in [Solver::Large, Solver::Anneal, Solver::Paper] {
            if solver == Solver::Paper && seed % 8 > 1 {
                continue; // The paper's solver is slow.
            }
            let solution = solver.solve(&instance, seed).expect("valid");
            let found = solution.evaluation.total;
            assert!(found >= best - room, "seed {seed}: {solver}");
            let checked = check(&instance, &solution.plan, found);
            assert_eq!(checked, Ok(()), "seed {seed}: {solver}");
        }
    }
    assert!(trained > 90, "{trained}");
}

#[test]
fn the_best_of_an_assignment_is_found_by_bisection() {
    let mut compared = 0;
    for seed in 0..300 {
        let instance = round_of_any_radio(seed);
        let clients = instance.clients().min(instance.channels);
        let pairs: Vec<Pair> = (0..clients)
            .map(|at| Pair {
                client: at,
                channel: at,
            })
            .collect();
        let values: Vec<f64> = (1..=most_epochs(&instance, &pairs))
            .map(|tau| evaluate(&instance, &plan_at(&instance, &pairs, tau)).total)
            .collect();
        let room = 1e-12 * scale(&instance);
        for three in values.windows(3) {
            compared += 1;
            let bend = three[0] - 2.0 * three[1] + three[2];
            assert!(
                bend >= -room || instance.rate.modem().is_some(),
                "seed {seed}"
            );
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(plan) = inner::solve(&instance, &pairs) {
            assert!(
                evaluate(&instance, &plan).total <= least + room,
                "seed {seed}"
            );
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn extreme_costs_give_a_plan_without_participants() {
    let instance = random_instance(&System::paper_mlp(), 6, 3, 1);
    let absurd: [fn(&mut Costs); 6] = [
        |costs| costs.radio.efficiency = f64::MIN_POSITIVE,
        |costs| costs.radio.circuit_w = 1e300,
        |costs| costs.radio.circuit_w = f64::MAX,
        |costs| costs.radio.per_upload_j = 1e150,
        |costs| costs.order_s = f64::MAX,
        |costs| costs.order_j = 1e150,
    ];
    for (at, spoil) in absurd.into_iter().enumerate() {
        let mut instance = instance.clone();
        instance.costs.iter_mut().for_each(spoil);
        for solver in [Solver::Exact, Solver::Large, Solver::Anneal, Solver::Paper] {
            let solution = solver.solve(&instance, 0).expect("valid");
            assert_eq!(solution.plan, Plan::nobody(), "case {at}: {solver}");
        }
        let alone = individual::solve(&instance).expect("valid");
        assert_eq!(alone.plan.steps, 0, "case {at}");
    }
}

#[test]
fn the_checker_rejects_wasteful_powers_wrong_costs_and_late_orders() {
    use super::check::Violation;
    let mut judged = 0;
    for seed in 0..200 {
        let instance = round(seed);
        let solution = Solver::Exact.solve(&instance, 0).expect("valid");
        let claimed = solution.evaluation.total;
        for (at, upload) in solution.plan.uploads.iter().enumerate() {
            let client = upload.client;
            let room_j = 1e-3 * scale(&instance).sqrt() * instance.energy_unit_j;
            let mut other = instance.clone();
            other.costs[client].standing_j += room_j;
            let wrong = check(&other, &solution.plan, claimed);
            assert!(
                matches!(wrong, Err(Violation::Objective { .. })),
                "{wrong:?}"
            );
            let mut other = instance.clone();
            let spare_s = solution.evaluation.spare_s[at];
            other.costs[client].order_s += spare_s + 1e-3 * instance.deadline_s;
            let late = check(&other, &solution.plan, claimed);
            assert!(matches!(late, Err(Violation::Late { .. })), "{late:?}");
            let efficient_w = efficient_power(&instance, client, upload.channel);
            if efficient_w > 0.0 {
                judged += 1;
                let mut plan = solution.plan.clone();
                plan.uploads[at].power_w = 0.5 * efficient_w;
                let waste = check(&instance, &plan, claimed);
                assert!(
                    matches!(waste, Err(Violation::Wasteful { .. })),
                    "{waste:?}"
                );
            }
        }
    }
    assert!(judged > 30, "{judged}");
}
