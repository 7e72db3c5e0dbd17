//! The split that is no split: every client gets a slice of the shuffled training set.

use gleaner_shared::rng::{Purpose, Rng};

use super::{PartitionError, Pool};

/// Returns each client's samples.
pub(super) fn split(
    sizes: &[usize],
    samples: usize,
    seed: u64,
) -> Result<Vec<Vec<u32>>, PartitionError> {
    let mut order: Vec<u32> = (0..samples as u32).collect();
    Rng::stream(seed, Purpose::Partition, 0, 0).shuffle(&mut order);
    let mut pool = Pool::new("the training set", order);
    let give = |(client, &size)| Ok(pool.take(client, size)?.to_vec());
    sizes.iter().enumerate().map(give).collect()
}
