//! Vectors of local training: loss, gradient and descent of a small perceptron.

use gleaner_learn::train::{Kernel, Mlp};
use serde::Deserialize;

use super::compare::{Comparison, Tolerance};
use super::{Unfit, Vector};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Perceptron {
    n_in: usize,
    n_hidden: usize,
    n_out: usize,
    #[serde(rename = "W1")]
    w1: Vec<Vec<f64>>,
    b1: Vec<f64>,
    #[serde(rename = "W2")]
    w2: Vec<Vec<f64>>,
    b2: Vec<f64>,
    #[serde(rename = "X")]
    inputs: Vec<Vec<f64>>,
    y: Vec<u8>,
    eta: f64,
    tau: u32,
    loss: f64,
    accuracy: f64,
    #[serde(rename = "grad_W1")]
    grad_w1: Vec<Vec<f64>>,
    grad_b1: Vec<f64>,
    #[serde(rename = "grad_W2")]
    grad_w2: Vec<Vec<f64>>,
    grad_b2: Vec<f64>,
    #[serde(rename = "after_W1")]
    after_w1: Vec<Vec<f64>>,
    after_b1: Vec<f64>,
    #[serde(rename = "after_W2")]
    after_w2: Vec<Vec<f64>>,
    after_b2: Vec<f64>,
    loss_after: f64,
}

impl Vector for Perceptron {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        self.check_shapes()?;
        let (codes, table) = self.codes()?;
        let kernel = Kernel::chosen().map_err(|error| error.to_string())?;
        let model = Mlp::new(self.n_in, self.n_hidden, self.n_out, kernel);
        let samples = codes.iter().map(Vec::as_slice).zip(self.y.iter().copied());
        let objective = model.objective_of_codes(samples, table);

        let start = flat(&self.w1, &self.b1, &self.w2, &self.b2);
        let mut parameters: Vec<f32> = start.iter().map(|&value| value as f32).collect();
        let mut gradient = vec![0.0; parameters.len()];
        let loss = objective.gradient(&parameters, &mut gradient);
        let accuracy = objective.evaluate(&parameters).accuracy();
        found.within("loss", loss, self.loss, Tolerance::single_of(0.0));
        found.number("accuracy", accuracy, self.accuracy);
        let expected = flat(&self.grad_w1, &self.grad_b1, &self.grad_w2, &self.grad_b2);
        compare_all(found, "grad", &gradient, &expected);

        objective.descend(&mut parameters, self.tau, self.eta as f32);
        let expected = flat(
            &self.after_w1,
            &self.after_b1,
            &self.after_w2,
            &self.after_b2,
        );
        compare_all(found, "after", &parameters, &expected);
        let loss = objective.evaluate(&parameters).loss;
        found.within(
            "loss_after",
            loss,
            self.loss_after,
            Tolerance::single_of(0.0),
        );
        Ok(())
    }
}

impl Perceptron {
    /// Says which inputs are not of the size the network takes.
    fn check_shapes(&self) -> Result<(), Unfit> {
        let (n_in, n_hidden, n_out) = (self.n_in, self.n_hidden, self.n_out);
        if n_in == 0 || !(1..=64).contains(&n_hidden) || !(1..=16).contains(&n_out) {
            return Err(format!(
                "n_in, n_hidden, n_out = {n_in}, {n_hidden}, {n_out}: n_in is at least 1, \
                 n_hidden 1 to 64, n_out 1 to 16"
            )
            .into());
        }
        let is = |rows: &[Vec<f64>], count, width| {
            rows.len() == count && rows.iter().all(|row| row.len() == width)
        };
        let fits = is(&self.w1, n_in, n_hidden)
            && self.b1.len() == n_hidden
            && is(&self.w2, n_hidden, n_out)
            && self.b2.len() == n_out
            && is(&self.inputs, self.y.len(), n_in)
            && !self.y.is_empty()
            && self.y.iter().all(|&label| usize::from(label) < n_out);
        match fits {
            true => Ok(()),
            false => Err(Unfit(
                "W1, b1, W2, b2, X, y do not fit n_in, n_hidden, n_out".to_owned(),
            )),
        }
    }

    /// Gives every input other than 0 a code: the network takes bytes and a table of their values.
    fn codes(&self) -> Result<(Vec<Vec<u8>>, [f32; 256]), String> {
        let mut table = [0.0; 256];
        let mut used = 0u8;
        let mut code = |&value: &f64| {
            if value == 0.0 {
                return Ok(0);
            }
            used = used
                .checked_add(1)
                .ok_or("X has more than 255 inputs other than 0")?;
            table[usize::from(used)] = value as f32;
            Ok(used)
        };
        let rows = self.inputs.iter();
        let codes: Result<_, &str> = rows
            .map(|row| row.iter().map(&mut code).collect())
            .collect();
        Ok((codes.map_err(str::to_owned)?, table))
    }
}

/// Lays tensors out as the model's parameters are: W1, b1, W2, b2.
fn flat(w1: &[Vec<f64>], b1: &[f64], w2: &[Vec<f64>], b2: &[f64]) -> Vec<f64> {
    let first = w1.iter().flatten().chain(b1);
    first
        .chain(w2.iter().flatten())
        .chain(b2)
        .copied()
        .collect()
}

/// Compares parameters, whose sums have terms as large as the largest of them.
fn compare_all(found: &mut Comparison, key: &str, actual: &[f32], expected: &[f64]) {
    let actual: Vec<f64> = actual.iter().copied().map(f64::from).collect();
    let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    found.list(key, &actual, expected, Tolerance::single_of(largest));
}
