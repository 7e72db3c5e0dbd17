//! The perceptron compared with reference vectors, with finite differences, and between kernels and
//! thread counts.

use serde::Deserialize;

use super::*;
use crate::data::embedded;
use crate::train::{Engine, Job};

/// A case of `tests/vectors/mlp.json`.
#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Case {
    n_in: usize,
    n_hidden: usize,
    n_out: usize,
    W1: Vec<Vec<f64>>,
    b1: Vec<f64>,
    W2: Vec<Vec<f64>>,
    b2: Vec<f64>,
    X: Vec<Vec<f64>>,
    y: Vec<u8>,
    loss: f64,
    accuracy: f64,
    grad_W1: Vec<Vec<f64>>,
    grad_b1: Vec<f64>,
    grad_W2: Vec<Vec<f64>>,
    grad_b2: Vec<f64>,
    eta: f64,
    tau: u32,
    after_W1: Vec<Vec<f64>>,
    after_b1: Vec<f64>,
    after_W2: Vec<Vec<f64>>,
    after_b2: Vec<f64>,
    loss_after: f64,
}

impl Case {
    fn all() -> Vec<Self> {
        let text = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/vectors/mlp.json"
        ));
        let cases: Vec<Self> = serde_json::from_str(text).unwrap();
        assert!(!cases.is_empty());
        cases
    }
}

fn flat(w1: &[Vec<f64>], b1: &[f64], w2: &[Vec<f64>], b2: &[f64]) -> Vec<f32> {
    let values = w1
        .iter()
        .flatten()
        .chain(b1)
        .chain(w2.iter().flatten())
        .chain(b2);
    values.map(|&value| value as f32).collect()
}

/// Gives every input that is not zero a code, since objectives take codes.
fn coded(case: &Case) -> (Vec<Vec<u8>>, [f32; 256]) {
    let mut table = [0.0; 256];
    let mut used = 1;
    let mut code = |value: f64| {
        if value == 0.0 {
            return 0;
        }
        table[used] = value as f32;
        used += 1;
        (used - 1) as u8
    };
    let codes = case
        .X
        .iter()
        .map(|row| row.iter().map(|&value| code(value)).collect())
        .collect();
    (codes, table)
}

fn close(ours: &[f32], reference: &[f32], what: &str) {
    for (at, (a, b)) in ours.iter().zip(reference).enumerate() {
        assert!(
            (a - b).abs() <= 1e-5 * b.abs().max(1.0),
            "{what}[{at}]: {a} {b}"
        );
    }
}

#[test]
fn loss_gradient_and_descent_match_the_reference_vectors() {
    for case in Case::all() {
        let (codes, table) = coded(&case);
        let model = Mlp::new(case.n_in, case.n_hidden, case.n_out, Kernel::available()[0]);
        let samples = codes.iter().map(Vec::as_slice).zip(case.y.iter().copied());
        let objective = model.objective_of_codes(samples, table);
        let mut parameters = flat(&case.W1, &case.b1, &case.W2, &case.b2);
        let mut gradient = vec![f32::NAN; parameters.len()];
        let loss = objective.gradient(&parameters, &mut gradient);
        assert!((loss - case.loss).abs() < 1e-5, "{loss} {}", case.loss);
        let expected = flat(&case.grad_W1, &case.grad_b1, &case.grad_W2, &case.grad_b2);
        close(&gradient, &expected, "gradient");
        let accuracy = objective.evaluate(&parameters).accuracy();
        assert!(
            (accuracy - case.accuracy).abs() < 1e-12,
            "{accuracy} {}",
            case.accuracy
        );
        objective.descend(&mut parameters, case.tau, case.eta as f32);
        let expected = flat(
            &case.after_W1,
            &case.after_b1,
            &case.after_W2,
            &case.after_b2,
        );
        close(&parameters, &expected, "after");
        let loss = objective.evaluate(&parameters).loss;
        assert!(
            (loss - case.loss_after).abs() < 1e-5,
            "{loss} {}",
            case.loss_after
        );
    }
}

/// An odd number of real samples, so that the last block is not full.
fn digits(kernel: Kernel, count: u32) -> (Mlp, Box<dyn Objective>) {
    let model = Mlp::paper(kernel);
    let set = embedded::mnist_subset().unwrap();
    let indices: Vec<u32> = (0..count).map(|at| at * 7).collect();
    (model, model.objective(&set.train, &indices))
}

#[test]
fn gradient_is_the_slope_of_the_loss() {
    let (model, objective) = digits(Kernel::available()[0], 57);
    let start = model.initialise(3);
    assert_eq!(start.len(), 39_760);
    let mut gradient = vec![0.0; start.len()];
    objective.gradient(&start, &mut gradient);
    // Along the gradient the slope is its squared length; along one tensor, that part of it.
    let mut from = 0;
    for tensor in model.tensors() {
        let range = from..from + tensor.len();
        from = range.end;
        let square: f64 = gradient[range.clone()]
            .iter()
            .map(|&g| f64::from(g).powi(2))
            .sum();
        // Short enough that few units cross the kink of ReLU, long enough for f32.
        let step = 1e-3 / square.sqrt();
        let loss_at = |sign: f64| {
            let mut moved = start.clone();
            for at in range.clone() {
                moved[at] = (f64::from(moved[at]) + sign * step * f64::from(gradient[at])) as f32;
            }
            objective.evaluate(&moved).loss
        };
        let slope = (loss_at(1.0) - loss_at(-1.0)) / (2.0 * step);
        assert!(
            (slope / square - 1.0).abs() < 5e-3,
            "{}: {slope} {square}",
            tensor.name
        );
    }
}

#[test]
fn threads_and_kernels_do_not_change_a_bit() {
    let train = |kernel, threads| {
        let (model, objective) = digits(kernel, 357);
        let start = model.initialise(1);
        let engine = Engine::new(threads).unwrap();
        let job = || Job {
            objective: objective.as_ref(),
            start: &start,
            epochs: 3,
            learning_rate: 0.1,
        };
        let trained = engine.train(&[job(), job()]);
        assert_eq!(trained[0], trained[1]);
        let evaluation = engine.evaluate(objective.as_ref(), &trained[0].parameters);
        assert!(evaluation.loss < trained[0].losses[0]);
        (trained, evaluation)
    };
    let expected = train(Kernel::PORTABLE, 1);
    for kernel in Kernel::available() {
        for threads in [1, 2, 4] {
            assert!(
                train(kernel, threads) == expected,
                "{kernel}, {threads} threads"
            );
        }
    }
}

#[test]
fn a_hundred_steps_learn_the_digits() {
    let (model, objective) = digits(Kernel::available()[0], 1000);
    let mut parameters = model.initialise(0);
    let losses = objective.descend(&mut parameters, 100, 0.5);
    assert!(losses[0] > 2.2 && losses[99] < 0.5, "{losses:?}");
    let set = embedded::mnist_subset().unwrap();
    let test = model.objective(&set.test, &(0..2000).collect::<Vec<u32>>());
    let accuracy = test.evaluate(&parameters).accuracy();
    assert!(accuracy > 0.84, "{accuracy}");
}

/// Memory is kept from one training to the next.
#[test]
fn a_training_leaves_nothing_to_the_next() {
    let set = embedded::mnist_subset().unwrap();
    let descend = |hidden: usize, samples: u32| {
        let model = Mlp::new(784, hidden, 10, Kernel::available()[0]);
        let objective = model.objective(&set.train, &(0..samples).collect::<Vec<_>>());
        let mut parameters = model.initialise(7);
        let losses = objective.descend(&mut parameters, 2, 0.1);
        (losses, parameters)
    };
    let alone = [(20, 130), (50, 250), (64, 30)].map(|(hidden, samples)| descend(hidden, samples));
    let again = [(64, 30), (50, 250), (20, 130)].map(|(hidden, samples)| descend(hidden, samples));
    for (first, last) in alone.iter().zip(again.iter().rev()) {
        assert_eq!(first, last);
    }
}
