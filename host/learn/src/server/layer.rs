//! The layers of a network as matrices, and Euclidean lengths.

use std::ops::Range;

use crate::train::Tensor;

/// One layer of a flat parameter vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// The range of its weights, stored row by row.
    pub(super) weights: Range<usize>,
    /// Rows of the matrix: the inputs of a unit.
    pub(super) rows: usize,
    /// Columns of the matrix: its units.
    pub(super) columns: usize,
    /// The range of its bias, empty if it has none.
    pub(super) bias: Range<usize>,
}

/// Splits a network into layers. A tensor of two or more dimensions is a matrix whose columns are its
/// last dimension (a convolution of 5 x 5 x in x out has 25 in rows), and a vector right after it
/// is its bias; any other vector is a matrix of one column. If the tensors do not have
/// `parameters` values, all parameters are one vector.
pub(super) fn layers(tensors: &[Tensor], parameters: usize) -> Vec<Layer> {
    if tensors.iter().map(Tensor::len).sum::<usize>() != parameters {
        return vec![Layer {
            weights: 0..parameters,
            rows: parameters,
            columns: 1,
            bias: parameters..parameters,
        }];
    }
    let mut layers: Vec<Layer> = Vec::new();
    let mut end = 0;
    let mut awaits_bias = false;
    for tensor in tensors {
        let place = end..end + tensor.len();
        end = place.end;
        let is_matrix = tensor.shape.len() > 1;
        match layers.last_mut() {
            Some(layer) if awaits_bias && !is_matrix => layer.bias = place,
            _ => {
                let columns = match tensor.shape.last() {
                    Some(&last) if is_matrix => last.max(1),
                    _ => 1,
                };
                layers.push(Layer {
                    rows: tensor.len() / columns,
                    columns,
                    bias: place.end..place.end,
                    weights: place,
                });
            }
        }
        awaits_bias = is_matrix;
    }
    layers
}

/// Sums run in double precision over eight lanes: a stated order, equal on every machine, that the
/// compiler can turn into vectors.
const LANES: usize = 8;

/// Returns the length |values|.
pub(super) fn length<T: Copy + Into<f64>>(values: &[T]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for chunk in whole {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            let value: f64 = value.into();
            *sum += value * value;
        }
    }
    for (sum, &value) in sums.iter_mut().zip(rest) {
        let value: f64 = value.into();
        *sum += value * value;
    }
    sums.iter().sum::<f64>().sqrt()
}

/// Returns |a - b|.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut add = |a: &[f32], b: &[f32]| {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            let difference = f64::from(a) - f64::from(b);
            *sum += difference * difference;
        }
    };
    for (a, b) in a.iter().zip(b) {
        add(a, b);
    }
    add(a_rest, b_rest);
    sums.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{Cnn, Kernel, Mlp, Model};

    fn shapes(tensors: &[Tensor], parameters: usize) -> Vec<(usize, usize, usize)> {
        let layers = layers(tensors, parameters);
        let mut end = 0;
        for layer in &layers {
            assert_eq!(layer.weights, end..end + layer.rows * layer.columns);
            assert_eq!(layer.bias.start, layer.weights.end);
            end = layer.bias.end;
        }
        assert_eq!(end, parameters, "layers cover the vector");
        let shape = |layer: &Layer| (layer.rows, layer.columns, layer.bias.len());
        layers.iter().map(shape).collect()
    }

    #[test]
    fn both_networks_of_the_paper_are_matrices_with_a_bias_each() {
        let mlp = Mlp::paper(Kernel::PORTABLE);
        assert_eq!(
            shapes(&mlp.tensors(), mlp.parameters()),
            [(784, 50, 50), (50, 10, 10)]
        );
        let cnn = Cnn::paper(Kernel::PORTABLE);
        assert_eq!(
            shapes(&cnn.tensors(), cnn.parameters()),
            [
                (75, 64, 64),
                (1600, 64, 64),
                (1024, 384, 384),
                (384, 192, 192),
                (192, 10, 10)
            ]
        );
    }

    #[test]
    fn vectors_that_follow_no_matrix_and_models_of_another_size_are_one_column() {
        let vector = |length| Tensor::new("v", &[length], 1.0);
        let tensors = [
            vector(3),
            Tensor::new("w", &[2, 5], 1.0),
            vector(5),
            vector(4),
        ];
        assert_eq!(shapes(&tensors, 22), [(3, 1, 0), (2, 5, 5), (4, 1, 0)]);
        assert_eq!(shapes(&tensors, 7), [(7, 1, 0)]);
        assert_eq!(shapes(&[], 0), []);
    }

    #[test]
    fn lengths_are_those_of_the_definition_for_every_remainder() {
        for count in 0..40 {
            let a: Vec<f32> = (0..count).map(|i| 0.5 * i as f32 - 3.0).collect();
            let b: Vec<f32> = (0..count).map(|i| (i % 7) as f32).collect();
            let squares = a.iter().map(|&x| f64::from(x) * f64::from(x));
            assert!((length(&a) - squares.sum::<f64>().sqrt()).abs() < 1e-9);
            let apart: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| f64::from(a - b)).collect();
            assert!((distance(&a, &b) - length(&apart)).abs() < 1e-9);
        }
    }
}
