//! The perceptron's training against a twin that computes in doubles and as the formulas read;
//! the twin against the reference vectors and against finite differences.

mod case;
mod network;

use case::Case;
use gleaner_learn::train::{Kernel, Mlp};
use gleaner_shared::rng::{Purpose, Rng};
use network::{Network, Samples};

/// Asserts that numbers agree to `tolerance` of the largest of them.
fn close(ours: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for (at, (a, b)) in ours.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * largest,
            "{what}[{at}]: {a} {b}"
        );
    }
}

#[test]
fn the_twin_matches_the_reference_vectors() {
    for case in Case::all() {
        let network = |w1: &[Vec<f64>], b1: &[f64], w2: &[Vec<f64>], b2: &[f64]| Network {
            w1: w1.to_vec(),
            b1: b1.to_vec(),
            w2: w2.to_vec(),
            b2: b2.to_vec(),
        };
        let mut ours = network(&case.W1, &case.b1, &case.W2, &case.b2);
        let gradient = network(&case.grad_W1, &case.grad_b1, &case.grad_W2, &case.grad_b2);
        let after = network(
            &case.after_W1,
            &case.after_b1,
            &case.after_W2,
            &case.after_b2,
        );
        let samples = Samples {
            inputs: case.X,
            labels: case.y,
        };
        let (loss, slope) = ours.loss_and_gradient(&samples);
        close(&[loss], &[case.loss], 1e-12, "loss");
        close(&slope.flat(), &gradient.flat(), 1e-12, "gradient");
        assert_eq!(ours.accuracy(&samples), case.accuracy);
        ours.descend(&samples, case.tau, case.eta);
        close(&ours.flat(), &after.flat(), 1e-12, "after");
        let (loss, _) = ours.loss_and_gradient(&samples);
        close(&[loss], &[case.loss_after], 1e-12, "loss after");
    }
}

#[test]
fn gradient_matches_finite_differences() {
    let network = Network {
        w1: vec![vec![0.4, -0.7, 0.2], vec![0.1, 0.9, -0.3]],
        b1: vec![0.05, 0.02, -0.1],
        w2: vec![vec![0.3, -0.2], vec![-0.5, 0.6], vec![0.8, 0.1]],
        b2: vec![0.0, 0.1],
    };
    let samples = Samples {
        inputs: vec![vec![1.0, 0.5], vec![0.2, 0.9]],
        labels: vec![1, 0],
    };
    let (_, gradient) = network.loss_and_gradient(&samples);
    let at = |shift: f64| {
        let mut moved = network.clone();
        moved.w1[1][1] += shift;
        moved.loss_and_gradient(&samples).0
    };
    let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
    assert!((gradient.w1[1][1] - difference).abs() < 1e-9);
}

/// Random codes and a network of odd sizes, so that no row, block or segment is full.
#[test]
fn training_in_floats_follows_the_twin() {
    const SIZES: [usize; 3] = [131, 37, 7];
    let [inputs, hidden, outputs] = SIZES;
    let mut rng = Rng::stream(3, Purpose::Synthetic, 0, 0);
    let mut draw = |count: usize| -> Vec<f64> {
        // Rounded to floats first: both sides start from the same numbers.
        let value = |_| f64::from((0.4 * rng.uniform() - 0.2) as f32);
        (0..count).map(value).collect()
    };
    let mut rows = |count: usize, width: usize| (0..count).map(|_| draw(width)).collect();
    let (w1, w2): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (rows(inputs, hidden), rows(hidden, outputs));
    let mut twin = Network {
        w1,
        b1: draw(hidden),
        w2,
        b2: draw(outputs),
    };
    let mut rng = Rng::stream(4, Purpose::Synthetic, 0, 0);
    let codes: Vec<Vec<u8>> = (0..213)
        .map(|_| {
            (0..inputs)
                .map(|_| rng.below(3) as u8 * rng.below(128) as u8)
                .collect()
        })
        .collect();
    let labels: Vec<u8> = codes
        .iter()
        .map(|_| rng.below(outputs as u32) as u8)
        .collect();
    let table: [f32; 256] = std::array::from_fn(|byte| byte as f32 / 255.0);
    let samples = Samples {
        inputs: codes
            .iter()
            .map(|row| {
                row.iter()
                    .map(|&code| f64::from(table[usize::from(code)]))
                    .collect()
            })
            .collect(),
        labels: labels.clone(),
    };

    let model = Mlp::new(inputs, hidden, outputs, Kernel::available()[0]);
    let pairs = codes.iter().map(Vec::as_slice).zip(labels);
    let objective = model.objective_of_codes(pairs, table);
    let mut ours: Vec<f32> = twin.flat().iter().map(|&value| value as f32).collect();
    let losses = objective.descend(&mut ours, 5, 0.25);
    let expected = twin.descend(&samples, 5, 0.25);
    close(&losses, &expected, 1e-6, "losses");
    let ours: Vec<f64> = ours.into_iter().map(f64::from).collect();
    close(&ours, &twin.flat(), 1e-6, "parameters");
}
