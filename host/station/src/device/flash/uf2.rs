//! UF2, the format that a board in boot mode takes as a file: blocks of 512 bytes, each with the
//! address of its 256 bytes of flash.

const MAGIC_START: [u32; 2] = [0x0A32_4655, 0x9E5D_5157];
const MAGIC_END: u32 = 0x0AB1_6F30;
const FAMILY_PRESENT: u32 = 0x2000;
const PAYLOAD_BYTES: usize = 256;
const BLOCK_BYTES: usize = 512;
/// The flash's sector. The RP2040's boot loader may erase a partly written sector again (erratum
/// RP2040-E14), so sectors are written whole.
const SECTOR_BYTES: usize = 4_096;

/// Returns the UF2 file that writes each range of bytes to its address, which starts a sector, in the
/// flash of a board of this family. Sectors are filled up with ones, as in erased flash.
///
/// ```
/// use gleaner_station::device::flash::uf2;
///
/// let file = uf2::file(0xE48B_FF56, &[(0x1000_0000, &[1, 2, 3])]);
/// // One sector is 16 blocks of 512 bytes.
/// assert_eq!(file.len(), 16 * 512);
/// ```
#[must_use]
pub fn file(family: u32, stretches: &[(u32, &[u8])]) -> Vec<u8> {
    let blocks_of = |bytes: &[u8]| bytes.len().next_multiple_of(SECTOR_BYTES) / PAYLOAD_BYTES;
    let blocks: usize = stretches.iter().map(|(_, bytes)| blocks_of(bytes)).sum();
    let mut file = Vec::with_capacity(blocks * BLOCK_BYTES);
    let mut number = 0;
    for &(address, bytes) in stretches {
        for block in 0..blocks_of(bytes) {
            let at = block * PAYLOAD_BYTES;
            let header = [
                MAGIC_START[0],
                MAGIC_START[1],
                FAMILY_PRESENT,
                address + at as u32,
                PAYLOAD_BYTES as u32,
                number,
                blocks as u32,
                family,
            ];
            let rest = bytes.get(at..).unwrap_or_default();
            let payload = &rest[..rest.len().min(PAYLOAD_BYTES)];
            let end = file.len() + BLOCK_BYTES;
            file.extend(header.iter().flat_map(|word| word.to_le_bytes()));
            file.extend_from_slice(payload);
            file.resize(end - BLOCK_BYTES + 32 + PAYLOAD_BYTES, 0xFF);
            file.resize(end - 4, 0);
            file.extend(MAGIC_END.to_le_bytes());
            number += 1;
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    const RP2040: u32 = 0xE48B_FF56;

    /// Reads a file as the boot loader does: each payload with its address.
    fn payloads(file: &[u8]) -> Vec<(u32, &[u8])> {
        let blocks = file.chunks(BLOCK_BYTES);
        let total = blocks.len() as u32;
        (0..)
            .zip(blocks)
            .map(|(number, block)| {
                let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
                assert_eq!([word(0), word(4)], MAGIC_START);
                assert_eq!(word(BLOCK_BYTES - 4), MAGIC_END);
                assert_eq!([word(8), word(28)], [FAMILY_PRESENT, RP2040]);
                assert_eq!([word(16), word(20), word(24)], [256, number, total]);
                (word(12), &block[32..32 + PAYLOAD_BYTES])
            })
            .collect()
    }

    #[test]
    fn the_boot_loader_reads_whole_sectors_at_their_addresses() {
        let bytes: Vec<u8> = (0..4_200).map(|i| i as u8).collect();
        let file = file(RP2040, &[(0x1000_0000, &bytes), (0x1006_0000, &[7])]);
        let payloads = payloads(&file);
        assert_eq!(payloads.len(), 48, "two sectors and one, of 16 pages each");
        let addresses = payloads.iter().map(|&(address, _)| address);
        let expected = (0..32).map(|page| 0x1000_0000 + page * 256);
        let expected = expected.chain((0..16).map(|page| 0x1006_0000 + page * 256));
        assert!(addresses.eq(expected));
        let flash: Vec<u8> = payloads
            .iter()
            .flat_map(|&(_, bytes)| bytes)
            .copied()
            .collect();
        assert_eq!(flash[..4_200], bytes);
        assert_eq!(flash[8_192], 7);
        let filled = flash[4_200..8_192].iter().chain(&flash[8_193..]);
        assert!(filled.clone().all(|&byte| byte == 0xFF));
    }
}
