//! ELF files to flash.

/// Value of `e_machine` for ARM.
pub const ARM: u16 = 40;

/// Returns a minimal ELF file with segments at their load addresses.
pub fn elf_file(machine: u16, segments: &[(u32, &[u8])]) -> Vec<u8> {
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let halves = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|it| it.to_le_bytes()));
    };
    let words = |file: &mut Vec<u8>, values: &[u32]| {
        file.extend(values.iter().flat_map(|it| it.to_le_bytes()));
    };
    halves(&mut file, &[2, machine]);
    words(&mut file, &[1, 0, 52, 0, 0]);
    halves(&mut file, &[52, 32, segments.len() as u16, 40, 0, 0]);
    let mut offset = 52 + 32 * segments.len() as u32;
    for &(address, bytes) in segments {
        let len = bytes.len() as u32;
        let header = [1, offset, 0x2000_0000, address, len, len, 5, 4];
        words(&mut file, &header);
        offset += len;
    }
    file.extend(segments.iter().flat_map(|&(_, bytes)| bytes));
    file
}
