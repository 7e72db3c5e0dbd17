//! UF2, the format a Pico in boot mode takes as a file: blocks of 512 bytes, each with the
//! address of its 256 bytes of flash.

const MAGIC_START: [u32; 2] = [0x0A32_4655, 0x9E5D_5157];
const MAGIC_END: u32 = 0x0AB1_6F30;
const FAMILY_PRESENT: u32 = 0x2000;
/// The family number of the RP2040.
const RP2040: u32 = 0xE48B_FF56;
const PAYLOAD_BYTES: usize = 256;
const BLOCK_BYTES: usize = 512;

/// Returns the UF2 file that puts `bytes` at `address` of an RP2040's flash; the last block is
/// filled with ones, as erased flash.
#[must_use]
pub fn for_rp2040(address: u32, bytes: &[u8]) -> Vec<u8> {
    let blocks = bytes.len().div_ceil(PAYLOAD_BYTES) as u32;
    let mut file = Vec::with_capacity(blocks as usize * BLOCK_BYTES);
    for (number, payload) in (0..blocks).zip(bytes.chunks(PAYLOAD_BYTES)) {
        let header = [
            MAGIC_START[0],
            MAGIC_START[1],
            FAMILY_PRESENT,
            address + number * PAYLOAD_BYTES as u32,
            PAYLOAD_BYTES as u32,
            number,
            blocks,
            RP2040,
        ];
        let end = file.len() + BLOCK_BYTES;
        file.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        file.extend_from_slice(payload);
        file.resize(end - BLOCK_BYTES + 32 + PAYLOAD_BYTES, 0xFF);
        file.resize(end - 4, 0);
        file.extend(MAGIC_END.to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_carry_address_number_and_payload() {
        let bytes: Vec<u8> = (0..300).map(|i| i as u8).collect();
        let file = for_rp2040(0x1006_0000, &bytes);
        assert_eq!(file.len(), 2 * BLOCK_BYTES);
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!(
            [word(0), word(4), word(508)],
            [0x0A32_4655, 0x9E5D_5157, 0x0AB1_6F30]
        );
        assert_eq!(
            [word(512 + 12), word(512 + 20), word(512 + 24)],
            [0x1006_0100, 1, 2]
        );
        assert_eq!(file[32..288], bytes[..256]);
        assert_eq!(file[512 + 32..512 + 76], bytes[256..]);
        assert_eq!(file[512 + 76], 0xFF);
    }
}
