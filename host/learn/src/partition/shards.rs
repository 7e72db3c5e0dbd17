//! Shards (McMahan et al., "Communication-efficient learning of deep networks from
//! decentralized data", 2017): the training set sorted by class is cut into equal pieces and
//! every client draws a few of them, so that it sees few classes.
//!
//! A client takes its D_i samples in equal parts from the fronts of its pieces.

use gleaner_shared::rng::{Purpose, Rng};

use super::{PartitionError, Pool};

/// Returns each client's samples.
pub(super) fn split(
    per_client: usize,
    sizes: &[usize],
    labels: &[u8],
    seed: u64,
) -> Result<Vec<Vec<u32>>, PartitionError> {
    let mut rng = Rng::stream(seed, Purpose::Partition, 0, 0);
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    rng.shuffle(&mut order);
    order.sort_by_key(|&sample| labels[sample as usize]);
    let pieces = sizes.len() * per_client;
    let mut shards: Vec<&[u32]> = order
        .chunks((labels.len() / pieces).max(1))
        .take(pieces)
        .collect();
    rng.shuffle(&mut shards);
    let give = |(client, &size): (usize, &usize)| {
        let mut samples = Vec::with_capacity(size);
        for part in 0..per_client {
            // Integer parts that add up to the size.
            let wanted = size * (part + 1) / per_client - size * part / per_client;
            let number = client * per_client + part;
            let shard = shards
                .get(number)
                .map_or(Vec::new(), |shard| shard.to_vec());
            samples.extend(Pool::new(format!("shard {number}"), shard).take(client, wanted)?);
        }
        Ok(samples)
    };
    sizes.iter().enumerate().map(give).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::tests::labels;

    #[test]
    fn a_client_sees_no_more_classes_than_its_pieces_touch() {
        let labels = labels(20_000);
        for samples in split(2, &[900; 10], &labels, 3).unwrap() {
            let mut classes: Vec<u8> = samples.iter().map(|&s| labels[s as usize]).collect();
            classes.sort_unstable();
            classes.dedup();
            // 20 pieces of 1000 samples over 10 classes of 2000: no piece straddles two.
            assert!(classes.len() <= 2, "{classes:?}");
        }
    }

    #[test]
    fn errors_name_the_shard_that_is_too_small() {
        let refused = split(2, &[300], &labels(200), 0).unwrap_err();
        assert!(matches!(
            refused,
            PartitionError::Exhausted {
                client: 0,
                wanted: 150,
                left: 100,
                ..
            }
        ));
    }
}
