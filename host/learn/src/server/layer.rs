//! A network as the matrices a spectral step works on.

use std::ops::Range;

use crate::train::Tensor;

/// One layer of a flat parameter vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Where its weights lie, row by row.
    pub(super) weights: Range<usize>,
    /// Rows of the matrix: the values that enter a unit.
    pub(super) rows: usize,
    /// Columns of the matrix: its units.
    pub(super) columns: usize,
    /// Where its bias lies; nowhere if it has none.
    pub(super) bias: Range<usize>,
}

/// Cuts a network into layers. A tensor of two or more dimensions is a matrix whose columns are its
/// last dimension (a convolution of 5 x 5 x in x out has 25 in rows), and a vector right after it
/// is its bias; any other vector is a matrix of one column. Where the tensors do not make up
/// `parameters` values, all of those are one vector.
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
}
