//! The drive of a board in boot mode: found by its `INFO_UF2.TXT`, written as one UF2 file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use gleaner_files::create_private;

use super::target::Part;
use super::{FlashError, uf2};
use crate::device::row::Uf2Drive;

/// The file on the drive of every UF2 boot loader.
const INFO: &str = "INFO_UF2.TXT";
const FILE: &str = "gleaner.uf2";

/// The drive of a board in boot mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootDrive {
    path: PathBuf,
    kind: Uf2Drive,
}

impl BootDrive {
    /// Opens a folder as a drive of this kind.
    ///
    /// # Errors
    /// Returns an error if the folder is no such drive.
    pub fn open(path: &Path, kind: Uf2Drive) -> Result<Self, FlashError> {
        let wrong = |what: String| FlashError::NotADrive {
            path: path.to_owned(),
            product: kind.product,
            what,
        };
        let info = fs::read_to_string(path.join(INFO));
        let info = info.map_err(|error| wrong(format!("{INFO}: {error}")))?;
        let board = info.lines().find_map(|line| line.strip_prefix("Board-ID:"));
        match board.map(str::trim) {
            Some(label) if label == kind.label => Ok(Self {
                path: path.to_owned(),
                kind,
            }),
            Some(other) => Err(wrong(format!("its board is {other}, not {}", kind.label))),
            None => Err(wrong(format!("{INFO} names no Board-ID"))),
        }
    }

    /// Finds the only mounted drive of this kind.
    ///
    /// # Errors
    /// Returns an error unless there is exactly one.
    pub fn find(kind: Uf2Drive) -> Result<Self, FlashError> {
        Self::among(&mounted(), kind)
    }

    /// Returns all mounted drives of this kind.
    #[must_use]
    pub fn all(kind: Uf2Drive) -> Vec<Self> {
        Self::all_among(&mounted(), kind)
    }

    fn all_among(folders: &[PathBuf], kind: Uf2Drive) -> Vec<Self> {
        let drives = folders.iter().map(|folder| Self::open(folder, kind));
        drives.filter_map(Result::ok).collect()
    }

    fn among(folders: &[PathBuf], kind: Uf2Drive) -> Result<Self, FlashError> {
        let mut found = Self::all_among(folders, kind);
        match found.len() {
            0 => Err(FlashError::NoDrive(kind)),
            1 => Ok(found.remove(0)),
            _ => Err(FlashError::SeveralDrives {
                product: kind.product,
                folders: found.into_iter().map(|drive| drive.path).collect(),
            }),
        }
    }

    /// Returns the mount point.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies all parts as one file; the board writes them and restarts.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn copy(&self, parts: &[Part]) -> Result<(), FlashError> {
        let path = self.path.join(FILE);
        let stretches: Vec<(u32, &[u8])> = parts
            .iter()
            .map(|part| (part.address, &*part.bytes))
            .collect();
        let file = uf2::file(self.kind.family, &stretches);
        let copied = create_private(&path).and_then(|mut out| {
            out.write_all(&file)?;
            let synced = out.sync_all();
            // The board restarts with the last block, and its drive disappears.
            if self.is_there() { synced } else { Ok(()) }
        });
        let product = self.kind.product;
        copied.map_err(|source| FlashError::Copy {
            path,
            product,
            source,
        })
    }

    /// Tells whether the drive is still mounted.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.path.join(INFO).exists()
    }
}

/// Returns the mount points of this machine.
#[cfg(target_os = "linux")]
fn mounted() -> Vec<PathBuf> {
    mount_points(&fs::read_to_string("/proc/self/mounts").unwrap_or_default())
}

/// Returns the mount points of this machine.
#[cfg(target_os = "macos")]
fn mounted() -> Vec<PathBuf> {
    let volumes = fs::read_dir("/Volumes").into_iter().flatten().flatten();
    volumes.map(|volume| volume.path()).collect()
}

/// Returns the mount points of this machine.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn mounted() -> Vec<PathBuf> {
    ('A'..='Z')
        .map(|letter| format!("{letter}:\\").into())
        .collect()
}

/// Returns the second column of a mount table, in which blanks are written as `\040`.
#[cfg(any(target_os = "linux", test))]
fn mount_points(table: &str) -> Vec<PathBuf> {
    let folders = table.lines().filter_map(|line| line.split(' ').nth(1));
    folders
        .map(|folder| folder.replace("\\040", " ").into())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Board;

    fn kind() -> Uf2Drive {
        Board::Rp2040.row().boot_drive.unwrap()
    }

    /// Creates a folder that looks like a drive.
    fn folder(info: Option<&str>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        if let Some(info) = info {
            fs::write(folder.path().join(INFO), info).unwrap();
        }
        folder
    }

    const PICO: &str = "UF2 Bootloader v3.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n";

    #[test]
    fn one_drive_among_others_takes_all_parts_in_one_file() {
        let (pico, other) = (folder(Some(PICO)), folder(None));
        let folders = [other.path().to_owned(), pico.path().to_owned()];
        let drive = BootDrive::among(&folders, kind()).unwrap();
        let part = |what, address, bytes| Part {
            what,
            address,
            bytes,
        };
        let parts = [
            part("firmware", 0x1000_0000, vec![1; 300]),
            part("shard", 0x1006_0000, vec![2; 10]),
        ];
        drive.copy(&parts).unwrap();
        let file = fs::read(pico.path().join(FILE)).unwrap();
        let stretches = [(0x1000_0000, &[1; 300][..]), (0x1006_0000, &[2; 10])];
        assert_eq!(file, uf2::file(0xE48B_FF56, &stretches));
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_private_and_follows_no_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let pico = folder(Some(PICO));
        let (path, other) = (pico.path().join(FILE), pico.path().join("other"));
        fs::write(&other, "mine").unwrap();
        symlink(&other, &path).unwrap();
        BootDrive::open(pico.path(), kind())
            .unwrap()
            .copy(&[])
            .unwrap();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn none_and_several_drives_are_refused() {
        let none = BootDrive::among(&[], kind());
        assert!(matches!(none, Err(FlashError::NoDrive(_))));
        let (a, b) = (folder(Some(PICO)), folder(Some(PICO)));
        let both = [a.path().to_owned(), b.path().to_owned()];
        let several = BootDrive::among(&both, kind());
        assert!(
            matches!(several, Err(FlashError::SeveralDrives { folders, .. }) if folders == both)
        );
    }

    #[test]
    fn a_folder_of_another_kind_is_refused_with_its_content() {
        for (info, words) in [
            (None, INFO),
            (Some("Board-ID: RP2350\r\n"), "RP2350"),
            (Some(""), "Board-ID"),
        ] {
            let error = BootDrive::open(folder(info).path(), kind());
            let Err(FlashError::NotADrive { what, .. }) = error else {
                panic!("{error:?}");
            };
            assert!(what.contains(words), "{what}");
        }
    }

    #[test]
    fn mount_points_with_blanks_are_read() {
        let table = "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /media/a\\040b/RPI-RP2 vfat rw 0 0\n";
        let folders = mount_points(table);
        assert_eq!(folders, [Path::new("/"), Path::new("/media/a b/RPI-RP2")]);
    }
}
