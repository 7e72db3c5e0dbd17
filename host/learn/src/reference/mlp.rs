//! A one-hidden-layer network: ReLU, softmax cross-entropy, full-batch gradient descent.

/// Weights `w1[input][hidden]`, `w2[hidden][output]` and biases; also the shape of a gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    /// Input to hidden.
    pub w1: Vec<Vec<f64>>,
    /// Hidden biases.
    pub b1: Vec<f64>,
    /// Hidden to output.
    pub w2: Vec<Vec<f64>>,
    /// Output biases.
    pub b2: Vec<f64>,
}

/// Inputs and their classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// One row per sample.
    pub inputs: Vec<Vec<f64>>,
    /// The class of each row.
    pub labels: Vec<u32>,
}

impl Samples {
    /// Do they fit a network of `[input, hidden, output]`?
    #[must_use]
    pub fn fit(&self, [input, _, output]: [usize; 3]) -> bool {
        self.inputs.len() == self.labels.len()
            && !self.inputs.is_empty()
            && self.inputs.iter().all(|row| row.len() == input)
            && self.labels.iter().all(|&label| (label as usize) < output)
    }
}

impl Mlp {
    /// Has the network the shape `[input, hidden, output]`?
    #[must_use]
    pub fn has_shape(&self, [input, hidden, output]: [usize; 3]) -> bool {
        self.w1.len() == input
            && self.w1.iter().all(|row| row.len() == hidden)
            && self.b1.len() == hidden
            && self.w2.len() == hidden
            && self.w2.iter().all(|row| row.len() == output)
            && self.b2.len() == output
    }

    /// Returns the hidden activations and the outputs before softmax.
    fn forward(&self, input: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut hidden = affine(&self.w1, &self.b1, input);
        for unit in &mut hidden {
            *unit = unit.max(0.0);
        }
        let output = affine(&self.w2, &self.b2, &hidden);
        (hidden, output)
    }

    /// Returns the mean cross-entropy and its gradient; the derivative of ReLU at 0 is 0.
    #[must_use]
    pub fn loss_and_gradient(&self, samples: &Samples) -> (f64, Self) {
        let mut gradient = self.zeroed();
        let mut loss = 0.0;
        let scale = 1.0 / samples.inputs.len() as f64;
        for (input, &label) in samples.inputs.iter().zip(&samples.labels) {
            let (hidden, output) = self.forward(input);
            let peak = output.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let exponentials: Vec<f64> = output.iter().map(|o| libm::exp(o - peak)).collect();
            let sum: f64 = exponentials.iter().sum();
            loss += scale * (libm::log(sum) + peak - output[label as usize]);
            let mut blame: Vec<f64> = exponentials.iter().map(|e| scale * e / sum).collect();
            blame[label as usize] -= scale;
            for (unit, activation) in hidden.iter().enumerate() {
                add_scaled(&mut gradient.w2[unit], &blame, *activation);
            }
            add_scaled(&mut gradient.b2, &blame, 1.0);
            let inner: Vec<f64> = hidden
                .iter()
                .zip(&self.w2)
                .map(|(h, row)| {
                    let pull: f64 = row.iter().zip(&blame).map(|(w, b)| w * b).sum();
                    if *h > 0.0 { pull } else { 0.0 }
                })
                .collect();
            for (row, pixel) in gradient.w1.iter_mut().zip(input) {
                add_scaled(row, &inner, *pixel);
            }
            add_scaled(&mut gradient.b1, &inner, 1.0);
        }
        (loss, gradient)
    }

    /// Returns the fraction of samples whose largest output is their class.
    #[must_use]
    pub fn accuracy(&self, samples: &Samples) -> f64 {
        let right = samples
            .inputs
            .iter()
            .zip(&samples.labels)
            .filter(|(input, label)| {
                let (_, output) = self.forward(input);
                let best =
                    (0..output.len()).reduce(|a, b| if output[b] > output[a] { b } else { a });
                best == Some(**label as usize)
            });
        right.count() as f64 / samples.inputs.len() as f64
    }

    /// Takes one step of size `eta` against the gradient.
    pub fn step(&mut self, gradient: &Self, eta: f64) {
        for (row, change) in self.rows_mut().zip(gradient.rows()) {
            add_scaled(row, change, -eta);
        }
    }

    /// Returns the largest magnitude among all parameters.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.rows().flatten().fold(0.0, |most, x| x.abs().max(most))
    }

    fn zeroed(&self) -> Self {
        let mut zero = self.clone();
        zero.rows_mut().for_each(|row| row.fill(0.0));
        zero
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.w1
            .iter()
            .chain([&self.b1])
            .chain(&self.w2)
            .chain([&self.b2])
    }

    fn rows_mut(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        self.w1
            .iter_mut()
            .chain([&mut self.b1])
            .chain(&mut self.w2)
            .chain([&mut self.b2])
    }
}

fn affine(weights: &[Vec<f64>], bias: &[f64], input: &[f64]) -> Vec<f64> {
    let mut output = bias.to_vec();
    for (row, x) in weights.iter().zip(input) {
        add_scaled(&mut output, row, *x);
    }
    output
}

fn add_scaled(to: &mut [f64], from: &[f64], scale: f64) {
    for (a, b) in to.iter_mut().zip(from) {
        *a += scale * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_matches_finite_differences() {
        let network = Mlp {
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
}
