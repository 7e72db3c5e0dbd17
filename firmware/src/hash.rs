//! The hash of a model in memory, computed without a buffer for its bytes.

use gleaner_shared::wire::message::ModelHash;

use crate::exact;
use crate::model::Params;

/// Returns the hash of the exact form of `params`, as an offer of those bytes carries it.
#[must_use]
pub fn hash_of(params: &Params) -> ModelHash {
    let mut hasher = blake3::Hasher::new();
    let (mut block, mut offset) = ([0; 256], 0);
    loop {
        match exact::piece(params, offset, &mut block) {
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
    fn equals_the_hash_of_the_bytes_on_the_wire() {
        let mut params = Box::new(Params::new());
        params.initialise(5);
        let mut bytes = vec![0; Params::EXACT_BYTES];
        assert!(params.write_exact(&mut bytes));
        assert_eq!(hash_of(&params), ModelHash::of(&bytes));
    }
}
