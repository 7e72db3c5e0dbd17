//! The hash of a model that is in memory as parameters, without a buffer for its bytes.

use gleaner_shared::mlp::params::Tensor;
use gleaner_shared::wire::message::ModelHash;

use crate::model::Params;

/// Returns the hash of the exact form of `params`: what an offer of those bytes would carry.
#[must_use]
pub fn hash_of(params: &Params) -> ModelHash {
    let mut hasher = blake3::Hasher::new();
    let mut block = heapless::Vec::<u8, 256>::new();
    for tensor in Tensor::ALL {
        let width = match tensor {
            Tensor::W1 | Tensor::W2 => 2,
            Tensor::B1 | Tensor::B2 => 4,
        };
        for index in 0..Params::range(tensor).len() {
            if block.capacity() - block.len() < width {
                hasher.update(&block);
                block.clear();
            }
            let bytes = params.get(tensor, index).to_le_bytes();
            // There is room: the line above made it.
            let _ = block.extend_from_slice(&bytes[..width]);
        }
    }
    hasher.update(&block);
    let mut hash = ModelHash::default();
    hash.0.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_hash_of_the_bytes_on_the_wire() {
        let mut params = Box::new(Params::new());
        params.initialise(5);
        let mut bytes = vec![0; Params::EXACT_BYTES];
        assert!(params.write_exact(&mut bytes));
        assert_eq!(hash_of(&params), ModelHash::of(&bytes));
    }
}
