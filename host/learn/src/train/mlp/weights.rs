//! The parameters, and gradients of their shape, with rows padded to whole vectors.

use super::Mlp;
use crate::train::aligned::Aligned;
use crate::train::kernel::{Kernel, ROW, descend};
use crate::train::softmax::LANES;

/// The parameters, padded to whole rows.
pub(super) struct Weights {
    /// One row of units per input.
    pub w1: Aligned,
    pub small: Small,
    /// One row of units per class.
    pub w2_transposed: Aligned,
}

/// All parameters except W1.
pub(super) struct Small {
    pub b1: [f32; ROW],
    /// One row of classes per unit.
    pub w2: Aligned,
    pub b2: [f32; LANES],
}

impl Weights {
    pub(super) fn zeros(model: &Mlp) -> Self {
        Self {
            w1: Aligned::zeros(model.inputs * ROW),
            small: Small::zeros(model),
            w2_transposed: Aligned::zeros(model.outputs * ROW),
        }
    }

    /// Takes the parameters of a model, whatever was held before.
    ///
    /// # Panics
    /// When `flat` is not as long as the model's parameters.
    pub(super) fn read(&mut self, model: &Mlp, flat: &[f32]) {
        let Mlp {
            inputs,
            hidden,
            outputs,
            ..
        } = *model;
        let expected = (inputs + 1) * hidden + (hidden + 1) * outputs;
        assert_eq!(flat.len(), expected, "not the parameters of this network");
        let (w1, rest) = flat.split_at(inputs * hidden);
        let (b1, rest) = rest.split_at(hidden);
        let (w2, b2) = rest.split_at(hidden * outputs);
        self.w1.resize(inputs * ROW);
        self.w2_transposed.resize(outputs * ROW);
        let small = &mut self.small;
        small.resize(model);
        widen::<ROW>(w1, hidden, &mut self.w1);
        widen::<ROW>(b1, hidden, &mut small.b1);
        widen::<LANES>(w2, outputs, &mut small.w2);
        widen::<LANES>(b2, outputs, &mut small.b2);
        self.w2_transposed.fill(0.0);
        self.turn();
    }

    /// Takes a step against the gradient of everything but W1.
    pub(super) fn descend(&mut self, kernel: Kernel, slope: &Small, rate: f32) {
        let Small { b1, w2, b2 } = &mut self.small;
        descend(kernel, b1, &slope.b1, rate);
        descend(kernel, w2, &slope.w2, rate);
        descend(kernel, b2, &slope.b2, rate);
        self.turn();
    }

    /// Brings the transpose of W2 up to date.
    fn turn(&mut self) {
        for (unit, row) in self.small.w2.as_chunks::<LANES>().0.iter().enumerate() {
            for (to, &value) in self.w2_transposed.chunks_exact_mut(ROW).zip(row) {
                to[unit] = value;
            }
        }
    }
}

impl Small {
    pub(super) fn zeros(model: &Mlp) -> Self {
        Self {
            b1: [0.0; ROW],
            w2: Aligned::zeros(model.hidden * LANES),
            b2: [0.0; LANES],
        }
    }

    pub(super) fn resize(&mut self, model: &Mlp) {
        self.w2.resize(model.hidden * LANES);
    }

    pub(super) fn add(mut self, other: &Self) -> Self {
        add(&mut self.b1, &other.b1);
        add(&mut self.w2, &other.w2);
        add(&mut self.b2, &other.b2);
        self
    }
}

/// Writes the parameters, or a gradient, without the padding.
pub(super) fn write(model: &Mlp, w1: &[f32], small: &Small, flat: &mut [f32]) {
    let Mlp {
        inputs,
        hidden,
        outputs,
        ..
    } = *model;
    let (to_w1, rest) = flat.split_at_mut(inputs * hidden);
    let (to_b1, rest) = rest.split_at_mut(hidden);
    let (to_w2, to_b2) = rest.split_at_mut(hidden * outputs);
    narrow::<ROW>(w1, hidden, to_w1);
    to_b1.copy_from_slice(&small.b1[..hidden]);
    narrow::<LANES>(&small.w2, outputs, to_w2);
    to_b2.copy_from_slice(&small.b2[..outputs]);
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// Widens rows of `width` values to `N`.
fn widen<const N: usize>(rows: &[f32], width: usize, wide: &mut [f32]) {
    for (to, from) in wide.chunks_exact_mut(N).zip(rows.chunks_exact(width)) {
        to[..width].copy_from_slice(from);
        to[width..].fill(0.0);
    }
}

/// Narrows rows of `N` values to `width`.
fn narrow<const N: usize>(wide: &[f32], width: usize, rows: &mut [f32]) {
    for (to, from) in rows.chunks_exact_mut(width).zip(wide.chunks_exact(N)) {
        to.copy_from_slice(&from[..width]);
    }
}
