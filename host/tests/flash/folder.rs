//! A folder of a test, and the ELF files it flashes.

use std::fs;
use std::path::{Path, PathBuf};

/// `e_machine` of ARM.
pub const ARM: u16 = 40;

/// A folder that goes with the test.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes an empty folder of that name.
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("flash-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the test folder is writable");
        Self(path)
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("the test folder is writable");
        path
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a minimal ELF file: a segment of each of these bytes at its load address.
pub fn elf_file(machine: u16, segments: &[(u32, &[u8])]) -> Vec<u8> {
    let halves = |values: &[u16]| {
        values
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let words = |values: &[u32]| {
        values
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend(halves(&[2, machine]));
    file.extend(words(&[1, 0, 52, 0, 0]));
    file.extend(halves(&[52, 32, segments.len() as u16, 40, 0, 0]));
    let mut offset = 52 + 32 * segments.len() as u32;
    for &(address, bytes) in segments {
        let len = bytes.len() as u32;
        file.extend(words(&[1, offset, 0x2000_0000, address, len, len, 5, 4]));
        offset += len;
    }
    file.extend(segments.iter().flat_map(|&(_, bytes)| bytes));
    file
}
