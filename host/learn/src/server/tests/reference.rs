//! A second implementation of the spectral step: in double precision, by its definition, with matrices
//! as lists of rows.

use super::Spectral;
use crate::train::Tensor;

type Matrix = Vec<Vec<f64>>;

/// The spectral step with its own state.
pub(super) struct Reference {
    settings: Spectral,
    /// Weights' start, rows and columns, and the bias's length.
    layers: Vec<(usize, usize, usize, usize)>,
    first_sizes: Vec<f64>,
    steps: f64,
    pub(super) momentum: Vec<f64>,
    pub(super) mean_square: f64,
    last: Vec<Option<f64>>,
}

impl Reference {
    pub(super) fn new(
        tensors: &[Tensor],
        first: &[f32],
        clients: usize,
        settings: Spectral,
    ) -> Self {
        let mut layers = Vec::new();
        let mut at = 0;
        let mut rest = tensors.iter().peekable();
        while let Some(tensor) = rest.next() {
            let (start, count) = (at, tensor.len());
            at += count;
            let is_matrix = tensor.shape.len() >= 2;
            let columns = if is_matrix {
                tensor.shape[tensor.shape.len() - 1]
            } else {
                1
            };
            let bias = rest.next_if(|next| is_matrix && next.shape.len() == 1);
            let bias = bias.map_or(0, Tensor::len);
            at += bias;
            layers.push((start, count / columns, columns, bias));
        }
        let size = |&(start, rows, columns, _): &(usize, usize, usize, usize)| {
            let weights = &first[start..start + rows * columns];
            let squares: f64 = weights.iter().map(|&x| f64::from(x).powi(2)).sum();
            if squares > 0.0 {
                squares.sqrt()
            } else {
                (columns as f64 / 3.0).sqrt()
            }
        };
        Self {
            settings,
            first_sizes: layers.iter().map(size).collect(),
            layers,
            steps: 0.0,
            momentum: vec![0.0; first.len()],
            mean_square: 0.0,
            last: vec![None; clients],
        }
    }

    pub(super) fn step(
        &mut self,
        start: &[f32],
        heard: &[(usize, u32, u32, Vec<f32>)],
    ) -> Vec<f64> {
        let Spectral {
            learning_rate: eta,
            momentum: most,
            step: c,
            clip,
            anneal,
        } = self.settings;
        let mut gradients = Vec::new();
        for (client, samples, epochs, model) in heard {
            let slope =
                |(&x, &y): (&f32, &f32)| (f64::from(x) - f64::from(y)) / (eta * f64::from(*epochs));
            let gradient: Vec<f64> = start.iter().zip(model).map(slope).collect();
            self.last[*client] = Some(norm(&gradient));
            gradients.push((f64::from(*samples), gradient));
        }
        let mut known: Vec<f64> = self.last.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        let r = known[(known.len() - 1) / 2];
        let total: f64 = gradients.iter().map(|(weight, _)| weight).sum();
        let mut mean = vec![0.0; start.len()];
        for (weight, gradient) in &gradients {
            let cut = (clip * r / norm(gradient)).min(1.0);
            for (sum, value) in mean.iter_mut().zip(gradient) {
                *sum += weight * cut * value / total;
            }
        }
        self.steps += 1.0;
        let mu = most.min((self.steps - 1.0) / (self.steps + 2.0));
        let mut ahead = vec![0.0; start.len()];
        for ((d, m), g) in ahead.iter_mut().zip(&mut self.momentum).zip(&mean) {
            *m = mu * *m + (1.0 - mu) * g;
            *d = (1.0 - mu) * g + mu * *m;
        }
        self.mean_square += (norm(&mean).powi(2) - self.mean_square) / self.steps;
        let shrunk = (norm(&ahead) / self.mean_square.sqrt()).min(1.0).sqrt();
        let q = if anneal { shrunk } else { 1.0 };
        let mut next: Vec<f64> = start.iter().map(|&x| f64::from(x)).collect();
        for (&(first, rows, columns, bias), size) in self.layers.iter().zip(&self.first_sizes) {
            let count = rows * columns;
            let d: Matrix = (0..rows)
                .map(|row| ahead[first + row * columns..first + (row + 1) * columns].to_vec())
                .collect();
            let o = newton_schulz(&d).concat();
            for (x, o_of) in next[first..first + count].iter_mut().zip(&o) {
                *x -= c * q * size * o_of / norm(&o);
            }
            let d_bias = &ahead[first + count..first + count + bias];
            for (x, d) in next[first + count..].iter_mut().zip(d_bias) {
                *x -= c * q * size * (bias as f64 / count as f64).sqrt() * d / norm(d_bias);
            }
        }
        next
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn transpose(a: &Matrix) -> Matrix {
    (0..a[0].len())
        .map(|j| a.iter().map(|row| row[j]).collect())
        .collect()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let b = transpose(b);
    let dot = |row: &[f64], column: &[f64]| row.iter().zip(column).map(|(x, y)| x * y).sum();
    a.iter()
        .map(|row| b.iter().map(|column| dot(row, column)).collect())
        .collect()
}

/// Returns NS5(D) by its definition.
pub(in crate::server) fn newton_schulz(d: &Matrix) -> Matrix {
    if d.len() < d[0].len() {
        return transpose(&newton_schulz(&transpose(d)));
    }
    let size = norm(&d.concat());
    let mut x: Matrix = d
        .iter()
        .map(|row| row.iter().map(|v| v / size).collect())
        .collect();
    for _ in 0..5 {
        let gram = product(&transpose(&x), &x);
        let squared = product(&gram, &gram);
        let mut factor = gram.clone();
        for (i, row) in factor.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                let unit = if i == j { 3.4445 } else { 0.0 };
                *value = unit - 4.7750 * gram[i][j] + 2.0315 * squared[i][j];
            }
        }
        x = product(&x, &factor);
    }
    x
}
