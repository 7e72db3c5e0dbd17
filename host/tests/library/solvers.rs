//! Compares solvers with brute force: every assignment, every whole tau, powers by closed form and, on
//! some instances, by a dense scan.

use gleaner_cre::costs::Costs;
use gleaner_cre::optim::check::{Violation, check};
use gleaner_cre::optim::inner::{Pair, most_epochs, plan_at};
use gleaner_cre::optim::power::efficient_power;
use gleaner_cre::optim::{
    Instance, Plan, Solution, Solver, draw_costs, evaluate, nobody_objective, random_instance,
};
use gleaner_shared::rng::{Purpose, Rng};
use strum::VariantArray;

use crate::paper;

const INSTANCES: u64 = 2000;
/// First seed from which on clients have costs beside the paper's.
const WITH_COSTS: u64 = 1500;

/// Draws an instance: sizes, penalties, queues and gains of every magnitude, and an edge case for
/// most remainders of the seed.
fn instance(seed: u64) -> Instance {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 77);
    let preset = if rng.below(2) == 0 {
        paper::mlp()
    } else {
        paper::cnn()
    };
    let (mut clients, mut channels) = (1 + rng.below(6), 1 + rng.below(3) as usize);
    match seed % 16 {
        0 => clients = 1,
        1 => channels = 1,
        2 => (clients, channels) = (1 + rng.below(2), 3),
        _ => {}
    }
    let mut drawn = random_instance(&preset, clients, channels, seed);
    drawn.v *= libm::pow(10.0, 6.0 * rng.uniform() - 3.0);
    drawn.bound.b1 *= libm::pow(10.0, 2.0 * rng.uniform() - 1.0);
    if rng.below(2) == 0 {
        drawn.energy_unit_j = 1e-3;
    }
    match seed % 16 {
        3 => scale_gains(&mut drawn, 1e-7),
        4 => drawn.queue_j.fill(0.0),
        5 => drawn.queue_j.iter_mut().for_each(|z| *z *= 1e4),
        6 => drawn.deadline_s = drawn.downlink_s + 0.9 * drawn.epoch_s[0],
        7 => drawn.bound.eta = 0.9999 / drawn.bound.beta,
        8 => make_identical(&mut drawn),
        9 => drawn.delta.fill(0.0),
        10 => drawn.downlink_s = 2.0 * drawn.deadline_s,
        11 => drawn.v = 0.0,
        12 => drawn.deadline_s *= 1.5,
        _ => {}
    }
    if seed % 32 >= 16 {
        vary_devices(&mut drawn, &mut rng);
    }
    if seed >= WITH_COSTS {
        draw_costs(&mut drawn, seed);
    }
    drawn
}

/// Gives every client its own device: slower ones, incomes from zero to a hundredfold, and reserves
/// up to the whole round.
fn vary_devices(instance: &mut Instance, rng: &mut Rng) {
    for client in 0..instance.clients() {
        instance.epoch_s[client] *= 1.0 + 3.0 * rng.uniform();
        instance.epoch_j[client] *= libm::pow(10.0, 3.0 * rng.uniform() - 2.0);
        instance.income_j[client] *= match rng.below(4) {
            0 => 0.0,
            _ => libm::pow(10.0, 3.0 * rng.uniform() - 1.0),
        };
        if rng.below(2) == 0 {
            let part = rng.uniform();
            instance.reserve_s[client] = part * part * instance.deadline_s;
        }
    }
}

fn scale_gains(instance: &mut Instance, factor: f64) {
    let gains = instance.gain.iter_mut().flatten();
    gains.for_each(|gain| *gain *= factor);
}

fn objective(solver: Solver, instance: &Instance) -> f64 {
    let solution = solver.solve(instance, 0).expect("the instance is valid");
    solution.evaluation.total
}

fn make_identical(instance: &mut Instance) {
    for client in 1..instance.clients() {
        instance.samples[client] = instance.samples[0];
        instance.gain[client] = instance.gain[0].clone();
        instance.queue_j[client] = instance.queue_j[0];
        instance.delta[client] = instance.delta[0];
        instance.epoch_s[client] = instance.epoch_s[0];
        instance.epoch_j[client] = instance.epoch_j[0];
    }
}

/// Calls `visit` with every assignment of at least one client.
fn every_assignment(instance: &Instance, visit: &mut impl FnMut(&[Pair])) {
    fn go(
        instance: &Instance,
        channel: usize,
        pairs: &mut Vec<Pair>,
        visit: &mut impl FnMut(&[Pair]),
    ) {
        if channel == instance.channels {
            if !pairs.is_empty() {
                visit(pairs);
            }
            return;
        }
        go(instance, channel + 1, pairs, visit);
        for client in 0..instance.clients() {
            if pairs.iter().all(|pair| pair.client != client) {
                pairs.push(Pair { client, channel });
                go(instance, channel + 1, pairs, visit);
                pairs.pop();
            }
        }
    }
    go(instance, 0, &mut Vec::new(), visit);
}

fn brute_force(instance: &Instance) -> (f64, Plan) {
    let mut best = (nobody_objective(instance), Plan::nobody());
    every_assignment(instance, &mut |pairs| {
        for tau in 1..=most_epochs(instance, pairs) {
            let plan = plan_at(instance, pairs, tau);
            let value = evaluate(instance, &plan).total;
            if value < best.0 {
                best = (value, plan);
            }
        }
    });
    best
}

/// Returns the magnitude of the terms of J, which scales its rounding errors.
fn scale(instance: &Instance) -> f64 {
    let unit = instance.energy_unit_j;
    let queues: f64 = instance.queue_j.iter().map(|z| z / unit).sum();
    let income_j = instance.income_j.iter().copied().fold(0.0, f64::max);
    let most_j = income_j + instance.power_max_w * instance.deadline_s;
    let beside = instance.costs.iter().map(|costs| {
        let sent_j = costs
            .radio
            .energy_j(instance.power_max_w, instance.deadline_s);
        (sent_j + costs.order_j + costs.standing_j) / unit
    });
    let beside = match instance.costs.iter().all(|it| *it == Costs::PAPER) {
        true => 0.0,
        false => beside.fold(0.0, f64::max),
    };
    instance.v * instance.bound.gap + (most_j / unit + queues + beside).powi(2)
}

#[test]
fn exact_and_large_equal_brute_force_on_two_thousand_instances() {
    let mut trained = 0;
    for seed in 0..INSTANCES {
        let instance = instance(seed);
        let (best, _) = brute_force(&instance);
        for solver in [Solver::Exact, Solver::Large] {
            let solution = solver.solve(&instance, 0).expect("the instance is valid");
            let found = solution.evaluation.total;
            assert!(
                (found - best).abs() <= 1e-11 * scale(&instance),
                "seed {seed}: {solver:?} found {found}, brute force {best}"
            );
            assert_eq!(
                solution.gap(&instance),
                Some(0.0),
                "seed {seed}: {solver:?}"
            );
            assert_eq!(check(&instance, &solution.plan, found), Ok(()));
            trained += u32::from(solution.plan.epochs > 0);
        }
    }
    assert!(trained > 800, "the draw is not all infeasible: {trained}");
}

#[test]
fn the_checker_finds_late_clients_and_wrong_incomes() {
    let mut judged = 0;
    for seed in (0..INSTANCES).filter(|seed| seed % 32 >= 16).take(400) {
        let instance = instance(seed);
        let Solution {
            plan, evaluation, ..
        } = Solver::Exact.solve(&instance, 0).expect("valid");
        for (upload, spare_s) in plan.uploads.iter().zip(&evaluation.spare_s) {
            judged += 1;
            let mut shorter = instance.clone();
            shorter.reserve_s[upload.client] += spare_s + 1e-3 * instance.deadline_s;
            let late = check(&shorter, &plan, evaluation.total);
            assert!(
                matches!(late, Err(Violation::Late { client, .. }) if client == upload.client),
                "seed {seed}: {late:?}"
            );
            let mut richer = instance.clone();
            richer.income_j[upload.client] += 0.1 * instance.power_max_w * instance.deadline_s;
            let wrong = check(&richer, &plan, evaluation.total);
            assert!(
                matches!(wrong, Err(Violation::Objective { .. })),
                "seed {seed}: {wrong:?}"
            );
        }
    }
    assert!(judged > 100, "{judged}");
}

#[test]
fn the_heuristics_never_beat_the_optimum_and_pass_the_checker() {
    for seed in (0..48).chain(WITH_COSTS..WITH_COSTS + 16) {
        let instance = instance(seed);
        let best = objective(Solver::Exact, &instance);
        for solver in [Solver::Anneal, Solver::Paper] {
            let solution = solver.solve(&instance, seed).expect("valid");
            let found = solution.evaluation.total;
            assert_eq!(
                check(&instance, &solution.plan, found),
                Ok(()),
                "seed {seed} {solver:?}"
            );
            assert!(
                found >= best - 1e-11 * scale(&instance),
                "seed {seed} {solver:?}"
            );
            assert_eq!(solution.lower_bound, None);
        }
    }
}

#[test]
fn no_power_on_a_dense_grid_beats_the_closed_form() {
    for seed in (0..INSTANCES).step_by(40) {
        let instance = instance(seed);
        let plan = Solver::Exact.solve(&instance, 0).expect("valid").plan;
        let best = evaluate(&instance, &plan).total;
        for at in 0..plan.uploads.len() {
            for step in 0..=4000 {
                let mut other = plan.clone();
                let down = libm::pow(10.0, -12.0 * f64::from(step) / 4000.0);
                other.uploads[at].power_w = instance.power_max_w * down;
                let upload = &other.uploads[at];
                if upload.power_w < efficient_power(&instance, upload.client, upload.channel) {
                    break; // Lower powers take longer and cost more.
                }
                let value = evaluate(&instance, &other);
                if value.spare_s[at] >= 0.0 {
                    assert!(
                        value.total >= best - 1e-12 * scale(&instance),
                        "seed {seed}"
                    );
                }
            }
        }
    }
}

#[test]
fn exact_equals_large_where_enumeration_ends() {
    for seed in 0..8 {
        let mut instance = random_instance(&paper::mlp(), 30, 10, seed);
        if seed >= 4 {
            let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 78);
            vary_devices(&mut instance, &mut rng);
        }
        let [exact, large] = [Solver::Exact, Solver::Large].map(|it| objective(it, &instance));
        assert!((exact - large).abs() <= 1e-12 * scale(&instance));
    }
}

#[test]
fn large_bounds_its_gap_at_its_size() {
    for (seed, preset) in (1..).zip([paper::mlp(), paper::cnn(), paper::mlp(), paper::cnn()]) {
        let mut instance = random_instance(&preset, 100, 20, seed);
        if seed > 2 {
            let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 78);
            vary_devices(&mut instance, &mut rng);
        }
        let solution = Solver::Large.solve(&instance, 0).expect("solves");
        assert!(solution.gap(&instance).expect("large proves") <= 0.05);
        assert!(solution.lower_bound.expect("proven") <= solution.evaluation.total);
        assert!(solution.evaluation.total <= objective(Solver::Anneal, &instance));
    }
}

#[test]
fn infeasible_instances_get_the_empty_plan() {
    for seed in [3, 10, 19, 26] {
        for &solver in Solver::VARIANTS {
            let solution = solver
                .solve(&instance(seed), 0)
                .expect("infeasible is no error");
            assert_eq!(solution.plan, Plan::nobody(), "seed {seed} {solver:?}");
        }
    }
}
