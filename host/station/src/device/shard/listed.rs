//! Adds the lists to a shard, where the board's flash has room for them.

use gleaner_shared::board::Boot;
use gleaner_shared::lists;
use gleaner_shared::shard::{HEADER_BYTES, Shard, ShardHeader};

use crate::device::Board;

/// Returns a shard as a board trains on it fastest: with the lists of its samples if `room` bytes hold both,
/// unless the flash is read through a cache and more than half of their bytes are not zero. Lists of such
/// samples are longer than the samples themselves, and to fetch them takes longer than to look for what is
/// not zero.
#[must_use]
pub fn with_lists(shard: Vec<u8>, board: Board, room: usize) -> Vec<u8> {
    match Shard::open(&shard) {
        Ok(opened) if has_cached_flash(board) && is_dense(opened.pixels()) => shard,
        _ => listed(shard, room),
    }
}

/// Tells whether the flash is a chip beside the processor: those of the RP2040 and the RP2350.
fn has_cached_flash(board: Board) -> bool {
    board.row().built.boot != Boot::VectorTable
}

fn is_dense(pixels: &[u8]) -> bool {
    let lit = pixels.iter().filter(|&&x| x != 0).count();
    2 * lit > pixels.len()
}

/// Returns a shard with the lists of its samples, however dense, if both fit `room` bytes, and as it is
/// otherwise; so is one that has lists already, or is none.
#[must_use]
pub fn listed(shard: Vec<u8>, room: usize) -> Vec<u8> {
    let Ok(opened) = Shard::open(&shard) else {
        return shard;
    };
    let header = *opened.header();
    let body = [opened.pixels(), opened.labels()].concat();
    let start = (HEADER_BYTES + body.len()).next_multiple_of(4);
    if header.list_bytes != 0 || start >= room {
        return shard;
    }
    let mut lists = Vec::new();
    lists::write(opened.pixels(), header.inputs.into(), |part| {
        lists.extend_from_slice(part);
    });
    if lists.len() > room - start {
        return shard;
    }
    let header = ShardHeader {
        list_bytes: lists.len() as u32,
        ..header
    };
    let mut listed = [&header.to_bytes()[..], &body].concat();
    listed.resize(start, 0);
    listed.extend(lists);
    listed
}

#[cfg(test)]
mod tests {
    use super::super::{ClientSamples, image};
    use super::*;

    fn shard() -> Vec<u8> {
        let samples = ClientSamples {
            client: 2,
            inputs: 3,
            classes: 10,
            pixels: &[1, 0, 3, 0, 0, 6],
            labels: &[9, 0],
            key: Some([7; 32]),
        };
        image(&samples).unwrap()
    }

    #[test]
    fn lists_are_added_where_they_fit_and_change_nothing_else() {
        let plain = shard();
        let listed = with_lists(plain.clone(), Board::Rp2040, 4096);
        let (before, after) = (Shard::open(&plain).unwrap(), Shard::open(&listed).unwrap());
        assert!(after.lists().is_some());
        assert_eq!(after.header().key, Some([7; 32]));
        let what = |it: &Shard<'_>| (it.pixels().to_vec(), it.labels().to_vec(), it.header().crc);
        assert_eq!(what(&after), what(&before));
        assert_eq!(with_lists(listed.clone(), Board::Rp2040, 8192), listed);
        assert_eq!(
            with_lists(plain.clone(), Board::Rp2040, listed.len()),
            listed
        );
        for room in [0, plain.len(), listed.len() - 1] {
            assert_eq!(
                with_lists(plain.clone(), Board::Rp2040, room),
                plain,
                "{room}"
            );
        }
    }

    #[test]
    fn dense_samples_are_read_themselves_where_flash_has_a_cache() {
        let samples = ClientSamples {
            client: 2,
            inputs: 3,
            classes: 10,
            pixels: &[1, 0, 3, 0, 5, 6],
            labels: &[9, 0],
            key: None,
        };
        let dense = image(&samples).unwrap();
        assert_eq!(with_lists(dense.clone(), Board::Rp2040, 4096), dense);
        let lists = listed(dense.clone(), 4096);
        assert_eq!(with_lists(dense, Board::Stm32l4r5, 4096), lists);
        assert!(Shard::open(&lists).unwrap().lists().is_some());
    }

    #[test]
    fn what_is_no_shard_is_left_as_it_is() {
        for bytes in [vec![], vec![0xFF; 300]] {
            assert_eq!(with_lists(bytes.clone(), Board::Rp2040, 4096), bytes);
        }
        let mut damaged = shard();
        damaged[70] ^= 1;
        assert_eq!(with_lists(damaged.clone(), Board::Rp2040, 4096), damaged);
    }
}
