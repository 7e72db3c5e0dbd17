//! Tests of the search against every plan of small rounds.

use gleaner_shared::rng::{Purpose, Rng};

use super::*;
use crate::optim::check::Violation;
use crate::optim::inner::{Pair, most_epochs};
use crate::optim::power::best_power;
use crate::optim::{Solver, draw_costs, random_instance};
use crate::system::System;

/// A small round with room for a few epochs, its devices unlike with every other seed and with more
/// than the paper's costs with every third.
fn round(seed: u64) -> Instance {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 79);
    let system = if seed.is_multiple_of(3) {
        System::paper_cnn()
    } else {
        System::paper_mlp()
    };
    let (clients, channels) = (1 + rng.below(4), 1 + rng.below(3) as usize);
    let mut instance = random_instance(&system, clients, channels, seed);
    instance.v *= libm::pow(10.0, 4.0 * rng.uniform() - 2.0);
    instance.bound.rho *= libm::pow(10.0, 2.0 * rng.uniform() - 1.0);
    let longest = instance.deadline_s / 3.0;
    for client in 0..instance.clients() {
        // At most a handful of epochs, for all combinations are tried.
        instance.epoch_s[client] = instance.epoch_s[client].max(longest * (0.8 + rng.uniform()));
        if seed % 2 == 1 {
            instance.income_j[client] *= 4.0 * rng.uniform();
            instance.reserve_s[client] = 0.2 * rng.uniform() * instance.deadline_s;
        }
    }
    // Room for uploads beside such epochs.
    instance.deadline_s *= 3.0;
    if seed % 3 == 2 {
        draw_costs(&mut instance, seed);
    }
    instance
}

/// Tries every assignment, all epochs of each participant and every T up to the most of them.
fn brute_force(instance: &Instance) -> f64 {
    fn go(instance: &Instance, client: usize, tasks: &mut Vec<Task>, best: &mut f64) {
        if client == instance.clients() {
            let most = tasks.iter().map(|task| task.epochs).max().unwrap_or(0);
            for steps in 1..=most {
                let tasks = tasks.clone();
                let plan = IndividualPlan { steps, tasks };
                *best = best.min(evaluate(instance, &plan).total);
            }
            return;
        }
        go(instance, client + 1, tasks, best);
        for channel in 0..instance.channels {
            if tasks.iter().any(|task| task.upload.channel == channel) {
                continue;
            }
            for epochs in 1..=most_epochs(instance, &[Pair { client, channel }]) {
                let power_w = best_power(instance, client, channel, f64::from(epochs)).power_w;
                let upload = Upload {
                    client,
                    channel,
                    power_w,
                };
                tasks.push(Task { upload, epochs });
                go(instance, client + 1, tasks, best);
                tasks.pop();
            }
        }
    }
    let mut best = nobody_objective(instance);
    go(instance, 0, &mut Vec::new(), &mut best);
    best
}

#[test]
fn the_search_equals_brute_force_and_is_never_worse_than_common_epochs() {
    let (mut trained, mut unequal, mut better) = (0, 0, 0);
    for seed in 0..300 {
        let instance = round(seed);
        let found = solve(&instance).unwrap();
        let best = brute_force(&instance);
        let room = 1e-11 * (nobody_objective(&instance).abs() + best.abs());
        assert!(
            (found.value.total - best).abs() <= room,
            "seed {seed}: {} {best}",
            found.value.total
        );
        assert_eq!(check(&instance, &found.plan, found.value.total), Ok(()));
        let common = Solver::Exact.solve(&instance, 0).unwrap().evaluation.total;
        assert!(found.value.total <= common + room, "seed {seed}");
        trained += usize::from(found.plan.steps > 0);
        better += usize::from(found.value.total < common - 10.0 * room);
        let tasks = &found.plan.tasks;
        unequal += usize::from(
            tasks
                .windows(2)
                .any(|pair| pair[0].epochs != pair[1].epochs),
        );
    }
    assert!(
        trained > 150 && unequal > 30 && better > 30,
        "{trained} {unequal} {better}"
    );
}

#[test]
fn equal_epochs_have_the_value_of_p2() {
    for seed in 0..50 {
        let instance = random_instance(&System::paper_mlp(), 10, 3, seed);
        let common = Solver::Exact.solve(&instance, 0).unwrap();
        let (epochs, uploads) = (common.plan.epochs, common.plan.uploads);
        let plan = IndividualPlan {
            steps: epochs,
            tasks: (uploads.into_iter())
                .map(|upload| Task { upload, epochs })
                .collect(),
        };
        let value = evaluate(&instance, &plan);
        let room = 1e-12 * nobody_objective(&instance).abs();
        assert!((value.total - common.evaluation.total).abs() <= room);
        assert_eq!(check(&instance, &plan, common.evaluation.total), Ok(()));
    }
}

#[test]
fn the_checker_rejects_late_wrongly_claimed_and_invalid_plans() {
    let instance = (0..).map(round).find(|it| {
        let found = solve(it).unwrap();
        found.plan.tasks.len() > 1
    });
    let instance = instance.unwrap();
    let IndividualSolution { plan, value } = solve(&instance).unwrap();
    let judge = |plan: &IndividualPlan| check(&instance, plan, value.total);
    let mut late = plan.clone();
    late.tasks[0].epochs += 1;
    late.tasks[0].upload.power_w *= 0.5;
    assert!(matches!(judge(&late), Err(Violation::Late { .. })));
    let mut other = plan.clone();
    other.steps = if plan.steps > 1 { plan.steps - 1 } else { 2 };
    other.tasks[0].epochs = other.tasks[0].epochs.max(1);
    assert!(judge(&other).is_err());
    let mut idle = plan.clone();
    idle.tasks[1].epochs = 0;
    assert!(matches!(judge(&idle), Err(Violation::NotAChoice(_))));
    let mut twice = plan.clone();
    twice.tasks[1].upload.channel = twice.tasks[0].upload.channel;
    assert!(matches!(judge(&twice), Err(Violation::ChannelTwice(_))));
    let wrong = check(&instance, &plan, value.total + instance.v);
    assert!(matches!(wrong, Err(Violation::Objective { .. })));
}

#[test]
fn a_round_too_large_to_be_enumerated_is_rejected() {
    let instance = random_instance(&System::paper_mlp(), 60, 10, 1);
    let error = solve(&instance).unwrap_err();
    assert!(matches!(error, SolveError::Unaffordable(_)), "{error}");
}

#[test]
fn with_a_distance_that_convexity_allows_no_client_trains() {
    for seed in 0..100 {
        let mut instance = random_instance(&System::paper_mlp(), 10, 3, seed);
        // F_gap <= rho |theta - theta*| <= rho B_1.
        instance.bound.b1 = instance.bound.gap / instance.bound.rho;
        assert_eq!(solve(&instance).unwrap().plan, IndividualPlan::default());
        let common = Solver::Exact.solve(&instance, 0).unwrap();
        assert_eq!(common.plan.epochs, 0, "seed {seed}");
    }
}
