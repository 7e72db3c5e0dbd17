//! Errata of the proofs.

use gleaner_cre::bound::{Heterogeneity, LossBound};
use gleaner_cre::optim::Instance;

use super::{optimum, rounds};

/// Returns A_3 when all clients but the last participate: it is small and not zero.
fn a3(instance: &Instance) -> f64 {
    let all_but_one: Vec<usize> = (0..instance.clients() - 1).collect();
    let of = Heterogeneity::of(&instance.samples, &instance.delta, &all_but_one);
    instance.bound.a3(of.a2)
}

/// Returns the worst d_0 ... d_tau that Lemma 3 allows: d_(m+1) = d_m + A_3 - k d_m^2 / 2.
fn worst_case(bound: &LossBound, a3: f64, tau: u32) -> Vec<f64> {
    let step = |d: &f64| Some(d + a3 - bound.k() * d * d / 2.0);
    std::iter::successors(Some(bound.gap), step)
        .take(tau as usize + 1)
        .collect()
}

#[test]
fn erratum_21_a_fraction_said_to_be_enlarged_shrinks_and_theorem_2_survives() {
    let mut followed = 0;
    for instance in rounds(20) {
        let (bound, a3) = (instance.bound, a3(&instance));
        for tau in 1..=8 {
            let d = worst_case(&bound, a3, tau);
            if !d.is_sorted_by(|a, b| a > b) || d[tau as usize] <= 0.0 {
                continue;
            }
            followed += 1;
            for pair in d.windows(2) {
                // Printed as an enlargement of A_3 / (d_m d_(m+1)) by d_m "decreasing".
                assert!(a3 / (pair[0] * pair[0]) < a3 / (pair[0] * pair[1]));
            }
            // d_tau in place of d_m enlarges it, and the result is the theorem's.
            assert!(d[tau as usize] <= bound.theorem2(a3, f64::from(tau)) * (1.0 + 1e-12));
        }
    }
    assert!(followed > 0);
}

#[test]
fn erratum_22_d_m_grows_under_an_honest_b1_and_nobody_should_train() {
    for mut instance in rounds(20) {
        instance.bound.b1 = 4.0;
        let d = worst_case(&instance.bound, a3(&instance), 5);
        assert!(d.is_sorted_by(|a, b| a < b), "{d:?}");
        assert!(optimum(&instance).plan.uploads.is_empty());
    }
}

#[test]
fn erratum_24_lemma_1_holds_with_the_index_it_lacks_and_not_with_another() {
    // Two parabolas F_i = beta (x - c_i)^2 / 2 of weights w~ = (0.9, 0.1), both taking part.
    let (beta, eta, weights, centres) = (1.0, 0.1, [0.9, 0.1], [0.0, 1.0]);
    let mean = weights[0] * centres[0] + weights[1] * centres[1];
    let delta = centres.map(|centre: f64| beta * (centre - mean).abs());
    let steps = 5;
    let descend = |centre: f64| (0..steps).fold(0.0, |x, _| x - eta * beta * (x - centre));
    let apart = (descend(centres[1]) - descend(mean)).abs();
    // Printed: ((1 - w~) delta_i + sum over j != i of w~_j delta_j) / beta ((eta beta + 1)^m - 1).
    let lemma = |own_weight: f64| {
        let spread = (1.0 - own_weight) * delta[1] + weights[0] * delta[0];
        spread / beta * ((eta * beta + 1.0f64).powi(steps) - 1.0)
    };
    assert!(apart <= lemma(weights[1]));
    assert!(apart > lemma(weights[0]));
}
