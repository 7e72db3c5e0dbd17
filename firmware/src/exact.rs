//! The exact form of a model and its hash, computed piece by piece, without a buffer for all of it.

use gleaner_shared::mlp::params::Tensor;
use gleaner_shared::wire::message::ModelHash;

use crate::model::{HIDDEN, INPUTS, OUTPUTS, Params};

/// Writes bytes of the exact form from `offset` on, a multiple of four, until `out` is full or the
/// form ends; returns their number.
pub fn piece(params: &Params, offset: usize, out: &mut [u8]) -> usize {
    const {
        let pairs = (INPUTS * HIDDEN).is_multiple_of(2) && (HIDDEN * OUTPUTS).is_multiple_of(2);
        assert!(pairs, "a tensor would begin in the middle of four bytes");
    }
    let (mut start, mut written) = (0, 0);
    for tensor in Tensor::ALL {
        let width = match tensor {
            Tensor::W1 | Tensor::W2 => 2,
            Tensor::B1 | Tensor::B2 => 4,
        };
        let count = Params::range(tensor).len();
        let first = (offset + written).saturating_sub(start) / width;
        let columns = tensor.columns(Params::ROOM);
        // A division for every parameter would take most of the time.
        let (mut row, mut column) = (first / columns, first % columns);
        for _ in first..count {
            let Some(place) = out.get_mut(written..written + width) else {
                return written;
            };
            let number = params.at(tensor, row, column);
            place.copy_from_slice(&number.to_le_bytes()[..width]);
            written += width;
            column += 1;
            if column == columns {
                (row, column) = (row + 1, 0);
            }
        }
        start += count * width;
    }
    written
}

/// Returns the hash of the exact form of `params`, as an offer of those bytes carries it.
#[must_use]
pub fn hash_of(params: &Params) -> ModelHash {
    let mut hasher = blake3::Hasher::new();
    let (mut block, mut offset) = ([0; 256], 0);
    loop {
        match piece(params, offset, &mut block) {
            0 => break,
            count => {
                hasher.update(&block[..count]);
                offset += count;
            }
        }
    }
    let mut hash = ModelHash::default();
    hash.0.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_are_the_bytes_on_the_wire() {
        let mut params = Box::new(Params::new());
        params.initialise(5);
        let mut whole = vec![0; Params::EXACT_BYTES];
        assert!(params.write_exact(&mut whole));
        for size in [4, 100, 256, 4_096, Params::EXACT_BYTES + 4] {
            let mut pieces = Vec::new();
            let mut out = vec![0; size];
            loop {
                let count = piece(&params, pieces.len(), &mut out);
                pieces.extend_from_slice(&out[..count]);
                if count < size {
                    break;
                }
            }
            assert!(pieces == whole, "pieces of {size} bytes");
        }
    }

    #[test]
    fn the_hash_is_that_of_the_bytes_on_the_wire() {
        let mut params = Box::new(Params::new());
        params.initialise(5);
        let mut bytes = vec![0; Params::EXACT_BYTES];
        assert!(params.write_exact(&mut bytes));
        assert_eq!(hash_of(&params), ModelHash::of(&bytes));
    }
}
