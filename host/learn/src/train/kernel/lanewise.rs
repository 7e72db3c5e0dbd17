//! Steps of the perceptron that go value by value, in plain Rust that the compiler vectorises.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::rows::ROW;
use super::select::{Kernel, dispatch};

/// Replaces every row of `rows` by `row`.
pub(in crate::train) fn repeat(kernel: Kernel, row: &[f32; ROW], rows: &mut [f32]) {
    dispatch!(kernel, repeat_all, (row: &[f32; ROW], rows: &mut [f32]));
}

/// Replaces values below zero by zero.
pub(in crate::train) fn rectify(kernel: Kernel, values: &mut [f32]) {
    dispatch!(kernel, rectify_all, (values: &mut [f32]));
}

/// Replaces the outputs of the hidden layer by its errors: those of the outputs where a unit is active,
/// zero elsewhere. Returns their sum over the rows, in order.
pub(in crate::train) fn gate(kernel: Kernel, errors: &[f32], hidden: &mut [f32]) -> [f32; ROW] {
    let mut total = [0.0; ROW];
    let sum = &mut total;
    dispatch!(kernel, gate_all, (errors: &[f32], hidden: &mut [f32], sum: &mut [f32; ROW]));
    total
}

/// Takes a step: parameters less `rate` times their gradient.
pub(in crate::train) fn descend(
    kernel: Kernel,
    parameters: &mut [f32],
    gradient: &[f32],
    rate: f32,
) {
    dispatch!(kernel, descend_all, (parameters: &mut [f32], gradient: &[f32], rate: f32));
}

/// # Safety
/// The processor must have the instructions of `V`; so for every function below.
#[inline(always)]
unsafe fn repeat_all<V: Lanes>(row: &[f32; ROW], rows: &mut [f32]) {
    let _ = V::WIDTH;
    for to in rows.as_chunks_mut::<ROW>().0 {
        *to = *row;
    }
}

#[inline(always)]
unsafe fn rectify_all<V: Lanes>(values: &mut [f32]) {
    let _ = V::WIDTH;
    for value in values {
        *value = if *value > 0.0 { *value } else { 0.0 };
    }
}

#[inline(always)]
unsafe fn gate_all<V: Lanes>(errors: &[f32], hidden: &mut [f32], sum: &mut [f32; ROW]) {
    let _ = V::WIDTH;
    let hidden = hidden.as_chunks_mut::<ROW>().0;
    for (errors, hidden) in errors.as_chunks::<ROW>().0.iter().zip(hidden) {
        for lane in 0..ROW {
            let error = if hidden[lane] > 0.0 {
                errors[lane]
            } else {
                0.0
            };
            hidden[lane] = error;
            sum[lane] += error;
        }
    }
}

#[inline(always)]
unsafe fn descend_all<V: Lanes>(parameters: &mut [f32], gradient: &[f32], rate: f32) {
    let _ = V::WIDTH;
    for (parameter, slope) in parameters.iter_mut().zip(gradient) {
        *parameter -= rate * slope;
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn every_kernel_gates_steps_and_repeats_as_the_definition_says() {
        let mut rng = Rng::stream(3, Purpose::Synthetic, 0, 0);
        let mut draw = || {
            (0..5 * ROW)
                .map(|_| rng.uniform() as f32 - 0.5)
                .collect::<Vec<_>>()
        };
        let (outputs, errors) = (draw(), draw());
        for kernel in Kernel::available() {
            let mut hidden = outputs.clone();
            rectify(kernel, &mut hidden);
            assert!(hidden.iter().zip(&outputs).all(|(a, b)| *a == b.max(0.0)));
            let sum = gate(kernel, &errors, &mut hidden);
            let mut expected = [0.0; ROW];
            for (at, error) in errors.iter().enumerate() {
                let error = if outputs[at] > 0.0 { *error } else { 0.0 };
                assert_eq!(hidden[at], error, "{kernel} {at}");
                expected[at % ROW] += error;
            }
            assert_eq!(sum, expected, "{kernel}");
            let mut stepped = outputs.clone();
            descend(kernel, &mut stepped, &errors, 0.3);
            let step = |(value, slope): (&f32, &f32)| value - 0.3 * slope;
            let expected: Vec<f32> = outputs.iter().zip(&errors).map(step).collect();
            assert_eq!(stepped, expected, "{kernel}");
            repeat(kernel, &sum, &mut stepped);
            assert!(stepped.as_chunks().0.iter().all(|row| *row == sum));
        }
    }
}
