//! A one-hidden-layer network as the formulas read: ReLU, softmax cross-entropy, full-batch
//! gradient descent, every number a double.

/// Weights `w1[input][hidden]`, `w2[hidden][output]` and biases; also the shape of a gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
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
    pub labels: Vec<u8>,
}

impl Network {
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
    pub fn loss_and_gradient(&self, samples: &Samples) -> (f64, Self) {
        let mut gradient = self.zeroed();
        let mut loss = 0.0;
        let scale = 1.0 / samples.inputs.len() as f64;
        for (input, &label) in samples.inputs.iter().zip(&samples.labels) {
            let (hidden, output) = self.forward(input);
            let peak = output.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let exponentials: Vec<f64> = output.iter().map(|o| libm::exp(o - peak)).collect();
            let sum: f64 = exponentials.iter().sum();
            loss += scale * (libm::log(sum) + peak - output[usize::from(label)]);
            let mut blame: Vec<f64> = exponentials.iter().map(|e| scale * e / sum).collect();
            blame[usize::from(label)] -= scale;
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
    pub fn accuracy(&self, samples: &Samples) -> f64 {
        let right = samples
            .inputs
            .iter()
            .zip(&samples.labels)
            .filter(|(input, label)| {
                let (_, output) = self.forward(input);
                let best =
                    (0..output.len()).reduce(|a, b| if output[b] > output[a] { b } else { a });
                best == Some(usize::from(**label))
            });
        right.count() as f64 / samples.inputs.len() as f64
    }

    /// Takes `epochs` steps of size `eta` against the gradient; returns the loss before each.
    pub fn descend(&mut self, samples: &Samples, epochs: u32, eta: f64) -> Vec<f64> {
        let step = |_| {
            let (loss, gradient) = self.loss_and_gradient(samples);
            for (row, change) in self.rows_mut().zip(gradient.rows()) {
                add_scaled(row, change, -eta);
            }
            loss
        };
        (0..epochs).map(step).collect()
    }

    fn zeroed(&self) -> Self {
        let mut zero = self.clone();
        zero.rows_mut().for_each(|row| row.fill(0.0));
        zero
    }

    /// Returns all parameters, tensor by tensor.
    pub fn flat(&self) -> Vec<f64> {
        self.rows().flatten().copied().collect()
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
