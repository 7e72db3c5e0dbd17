//! Errata of docs/internals/errata.md, by number: here those of equations and optimiser.

mod proofs;
mod tables;

use gleaner_cre::bound::{Heterogeneity, a2, participation_weights, weights};
use gleaner_cre::channel::{broadcast_rate, shannon_rate};
use gleaner_cre::optim::epochs::{common_limit, unconstrained, whole_epochs};
use gleaner_cre::optim::inner::{Pair, alternate, at_full_power, most_epochs, plan_at, solve};
use gleaner_cre::optim::power::{best_power, power_for_energy};
use gleaner_cre::optim::{
    Instance, Solution, Solver, Upload, evaluate, random_instance, slope_by_epochs,
};
use gleaner_cre::units::{Bits, Gain, Hertz, Joules, Watts, WattsPerHertz};
use gleaner_shared::energy::{EnergyQueue, Phase, RoundRecord};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::PicoJoules;

use crate::paper;

/// Draws instances of the paper's perceptron with ten clients and three channels.
fn rounds(count: u64) -> impl Iterator<Item = Instance> {
    (0..count).map(|seed| random_instance(&paper::mlp(), 10, 3, seed))
}

fn optimum(instance: &Instance) -> Solution {
    Solver::Exact.solve(instance, 0).expect("valid")
}

fn pair(client: usize, channel: usize) -> Pair {
    Pair { client, channel }
}

/// Returns feasible assignments of two clients, each on its own channel.
fn assignments(instance: &Instance) -> Vec<Vec<Pair>> {
    let pairs = (0..9).map(|client| vec![pair(client, 0), pair(client + 1, 1)]);
    pairs
        .filter(|pairs| most_epochs(instance, pairs) >= 1)
        .collect()
}

#[test]
fn erratum_1_a_maximum_would_outrun_the_slowest_client() {
    let (power, band, noise) = (Watts(1.0), Hertz(2e7), WattsPerHertz(4e-21));
    let gains = [1e-3, 1e-6];
    let rate = broadcast_rate(power, &gains, band, noise);
    assert_eq!(rate, shannon_rate(power, Gain(1e-6), band, noise));
    assert!(rate.0 < 0.75 * shannon_rate(power, Gain(1e-3), band, noise).0);
}

#[test]
fn erratum_2_the_printed_acceptance_never_refuses() {
    // exp((J' - J)/T) >= 1 for every J' >= J, so the walk ignores J; annealing repaired wins.
    let (mut printed, mut repaired) = (0.0, 0.0);
    for (seed, instance) in (0..).zip(rounds(10)) {
        let best = optimum(&instance).evaluation.total;
        let excess = |solver: Solver| {
            let found = solver.solve(&instance, seed).expect("valid");
            found.evaluation.total - best
        };
        printed += excess(Solver::Paper);
        repaired += excess(Solver::Anneal);
    }
    assert!(printed > repaired, "printed {printed}, repaired {repaired}");
}

#[test]
fn erratum_3_the_slope_grows_without_bound() {
    let instance = random_instance(&paper::mlp(), 10, 3, 1);
    let uploads = at_full_power(&instance, &[pair(0, 0)]);
    let slope = |tau| slope_by_epochs(&instance, &uploads, tau);
    assert!(slope(1e6) > 10.0 * slope(1e5) * 0.9 && slope(1e5) > 0.0);
}

#[test]
fn erratum_4_lemma_3_lacks_a_factor() {
    let (samples, delta) = ([1000, 1000, 1000, 1000], [0.5; 4]);
    let part = participation_weights(&samples, &[0, 1]);
    let all = weights(&samples);
    let printed: f64 = 2.0
        * (0..4)
            .map(|i| {
                let inside = f64::from(u8::from(part[i] > 0.0));
                (part[i] + all[i] - 2.0 * inside * all[i]) * delta[i] * delta[i]
            })
            .sum::<f64>();
    // Half the data absent: Theorem 2's A_2 is half of Lemma 3's.
    assert!((a2(&all, &part, &delta) / printed - 0.5).abs() < 1e-15);
}

#[test]
fn erratum_5_the_drift_bound_drops_a_half() {
    // L' - L <= (q^2 - 2 Z q) / 2 with L = Z^2 / 2; the paper bounds by twice that.
    for (z, q) in [(2.0, -0.5), (1.0, 0.25), (0.0, -1.0)] {
        let mut queue = EnergyQueue(PicoJoules::from_joules(z));
        let mut record = RoundRecord {
            harvested: PicoJoules::from_joules(f64::max(q, 0.0)),
            ..RoundRecord::default()
        };
        record.spent[Phase::Train] = PicoJoules::from_joules(f64::max(-q, 0.0));
        queue.update(&record);
        let next = queue.0.as_joules();
        let drift = (next * next - z * z) / 2.0;
        assert!(drift <= (q * q - 2.0 * z * q) / 2.0 + 1e-15);
    }
}

#[test]
fn erratum_7_j2_is_not_j_up_to_a_constant() {
    let instance = random_instance(&paper::mlp(), 10, 3, 5);
    let squares =
        |clients: &[usize]| -> f64 { clients.iter().map(|&i| instance.queue_j[i].powi(2)).sum() };
    // J_2 - J is the sum of Z^2 over participants, which differs between sets.
    assert!((squares(&[0]) - squares(&[1])).abs() > 1e-9);
}

#[test]
fn erratum_10_the_floor_is_not_the_best_whole_tau() {
    let mut worse = 0;
    for instance in rounds(40) {
        for pairs in assignments(&instance) {
            let best = solve(&instance, &pairs).expect("feasible");
            let uploads = best.uploads.clone();
            let real = unconstrained(&instance, &uploads)
                .clamp(1.0, common_limit(&instance, &uploads).max(1.0));
            let floored = plan_at(&instance, &pairs, real.floor() as u32);
            let (a, b) = (
                evaluate(&instance, &floored).total,
                evaluate(&instance, &best).total,
            );
            assert!(a >= b - 1e-15);
            worse += u32::from(a > b + 1e-12);
        }
    }
    assert!(worse > 0);
}

#[test]
fn erratum_11_a_random_start_finds_feasible_assignments_infeasible() {
    let mut rng = Rng::stream(0, Purpose::Synthetic, 0, 0);
    let (mut feasible, mut lost) = (0, 0);
    for instance in rounds(40) {
        for pairs in assignments(&instance) {
            let mut start = at_full_power(&instance, &pairs);
            for upload in &mut start {
                upload.power_w *= 1.0 - rng.uniform();
            }
            feasible += 1;
            lost += u32::from(common_limit(&instance, &start).floor() < 1.0);
        }
    }
    assert!(lost * 10 > feasible, "{lost} of {feasible}");
}

#[test]
fn erratum_12_a_plain_floor_loses_an_epoch() {
    let mut lost = 0;
    for instance in rounds(40) {
        for client in 0..10 {
            let pair = [pair(client, 0)];
            for tau in 1..=most_epochs(&instance, &pair) {
                let power_w = best_power(&instance, client, 0, f64::from(tau)).p_min_w;
                let upload = Upload {
                    client,
                    channel: 0,
                    power_w,
                };
                let limit = common_limit(&instance, &[upload]);
                assert_eq!(whole_epochs(limit), tau);
                lost += u32::from((limit.floor() as u32) < tau);
            }
        }
    }
    assert!(lost > 100, "{lost}");
}

#[test]
fn erratum_13_alternation_misses_the_inner_optimum() {
    let (mut all, mut missed) = (0, 0);
    for instance in rounds(40) {
        for pairs in assignments(&instance) {
            let best = evaluate(&instance, &solve(&instance, &pairs).expect("feasible")).total;
            let end = alternate(&instance, &at_full_power(&instance, &pairs));
            let ended = end.map_or(f64::INFINITY, |plan| evaluate(&instance, &plan).total);
            assert!(ended >= best - 1e-12 * best.abs());
            all += 1;
            missed += u32::from(ended > best + 1e-9 * best.abs());
        }
    }
    assert!(missed > 0, "{missed} of {all}");
}

#[test]
fn erratum_17_lambert_in_doubles_is_useless_near_the_branch_point() {
    let (gain, model, band) = (Gain(1e-2), Bits(318_080.0), Hertz(1e6));
    let noise = WattsPerHertz(3.98e-21);
    let infimum = model.0 * noise.0 * std::f64::consts::LN_2 / gain.0;
    let energy = infimum * (1.0 + 1e-9);
    let power = power_for_energy(Joules(energy), gain, model, band, noise)
        .expect("reachable")
        .0;
    // To first order x = 2 (e/e_inf - 1).
    let x = power * gain.0 / (band.0 * noise.0);
    assert!((x / 2e-9 - 1.0).abs() < 1e-6, "{x}");
    // The argument of W_-1 is -1/e to all 16 digits although x is not 0.
    let a = infimum / energy;
    let argument = -a * libm::exp(-a);
    assert!((argument + libm::exp(-1.0)).abs() < 1e-16);
}

#[test]
fn erratum_23_theorem_2_is_zero_by_zero_with_full_participation() {
    let instance = random_instance(&paper::mlp(), 3, 3, 0);
    let of = Heterogeneity::of(&instance.samples, &instance.delta, &[0, 1, 2]);
    assert_eq!(instance.bound.a3(of.a2), 0.0);
    assert!(instance.bound.theorem2(0.0, 4.0).is_finite());
}
