//! The drive that a board in boot mode shows: found by its `INFO_UF2.TXT`, fed one UF2 file.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gleaner_files::create_private;

use super::target::Part;
use super::uf2;
use crate::device::row::Uf2Drive;

/// The file that every UF2 boot loader shows.
const INFO: &str = "INFO_UF2.TXT";
const FILE: &str = "gleaner.uf2";

/// Why nothing was copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// No drive was found.
    #[error(
        "no {} in boot mode: hold BOOTSEL while plugging it in and mount its drive {}, or name \
         where it is mounted with --drive",
        .0.product,
        .0.label
    )]
    None(Uf2Drive),
    /// Several boards are in boot mode.
    #[error(
        "several {product}s are in boot mode, at {}; choose one with --drive",
        list(folders)
    )]
    Several {
        /// What they are.
        product: &'static str,
        /// Where they are mounted.
        folders: Vec<PathBuf>,
    },
    /// The folder is not such a drive.
    #[error("{} is not the drive of a {product} in boot mode: {what}", path.display())]
    NotADrive {
        /// The folder that should be the drive of a board.
        path: PathBuf,
        /// What was looked for.
        product: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The copy failed.
    #[error("{}: {source}; unplug the {product} and try again", path.display())]
    Copy {
        /// The file that was being copied.
        path: PathBuf,
        /// What it was copied to.
        product: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| path.display().to_string());
    paths.collect::<Vec<_>>().join(", ")
}

/// The drive of a board in boot mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootDrive {
    path: PathBuf,
    kind: Uf2Drive,
}

impl BootDrive {
    /// Takes a folder that should be a drive of that kind.
    ///
    /// # Errors
    /// Says what is in the folder instead.
    pub fn open(path: &Path, kind: Uf2Drive) -> Result<Self, DriveError> {
        let wrong = |what: String| DriveError::NotADrive {
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

    /// Looks among the mounted drives.
    ///
    /// # Errors
    /// Unless there is exactly one.
    pub fn find(kind: Uf2Drive) -> Result<Self, DriveError> {
        Self::among(&mounted(), kind)
    }

    /// Returns every drive of that kind which is mounted.
    #[must_use]
    pub fn all(kind: Uf2Drive) -> Vec<Self> {
        Self::all_among(&mounted(), kind)
    }

    fn all_among(folders: &[PathBuf], kind: Uf2Drive) -> Vec<Self> {
        let drives = folders.iter().map(|folder| Self::open(folder, kind));
        drives.filter_map(Result::ok).collect()
    }

    fn among(folders: &[PathBuf], kind: Uf2Drive) -> Result<Self, DriveError> {
        let mut found = Self::all_among(folders, kind);
        match found.len() {
            0 => Err(DriveError::None(kind)),
            1 => Ok(found.remove(0)),
            _ => Err(DriveError::Several {
                product: kind.product,
                folders: found.into_iter().map(|drive| drive.path).collect(),
            }),
        }
    }

    /// Returns where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies all parts as one file; the board writes them and restarts.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn copy(&self, parts: &[Part]) -> Result<(), DriveError> {
        let path = self.path.join(FILE);
        let stretches: Vec<(u32, &[u8])> = parts
            .iter()
            .map(|part| (part.address, &*part.bytes))
            .collect();
        let file = uf2::file(self.kind.family, &stretches);
        let copied = create_private(&path).and_then(|mut out| {
            out.write_all(&file)?;
            let synced = out.sync_all();
            // The board restarts with the last block, and takes its drive away.
            if self.is_there() { synced } else { Ok(()) }
        });
        let product = self.kind.product;
        copied.map_err(|source| DriveError::Copy {
            path,
            product,
            source,
        })
    }

    /// Tells whether the board still shows it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.path.join(INFO).exists()
    }
}

/// Returns where drives are mounted.
#[cfg(target_os = "linux")]
fn mounted() -> Vec<PathBuf> {
    mount_points(&fs::read_to_string("/proc/self/mounts").unwrap_or_default())
}

/// Returns where drives are mounted.
#[cfg(target_os = "macos")]
fn mounted() -> Vec<PathBuf> {
    let volumes = fs::read_dir("/Volumes").into_iter().flatten().flatten();
    volumes.map(|volume| volume.path()).collect()
}

/// Returns where drives are mounted.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn mounted() -> Vec<PathBuf> {
    ('A'..='Z')
        .map(|letter| format!("{letter}:\\").into())
        .collect()
}

/// Reads the second column of a mount table, where blanks are written as `\040`.
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

    /// A folder that looks like a drive, and goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, info: Option<&str>) -> Self {
            let path = std::env::temp_dir().join(format!("gleaner-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            if let Some(info) = info {
                fs::write(path.join(INFO), info).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const PICO: &str = "UF2 Bootloader v3.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n";

    #[test]
    fn one_drive_among_others_takes_all_parts_in_one_file() {
        let (pico, other) = (Folder::new("drive", Some(PICO)), Folder::new("stick", None));
        let drive = BootDrive::among(&[other.0.clone(), pico.0.clone()], kind()).unwrap();
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
        let file = fs::read(pico.0.join(FILE)).unwrap();
        let stretches = [(0x1000_0000, &[1; 300][..]), (0x1006_0000, &[2; 10])];
        assert_eq!(file, uf2::file(0xE48B_FF56, &stretches));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_a_key_is_its_owners_alone_and_follows_no_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let pico = Folder::new("secret", Some(PICO));
        let (path, other) = (pico.0.join(FILE), pico.0.join("other"));
        fs::write(&other, "mine").unwrap();
        symlink(&other, &path).unwrap();
        BootDrive::open(&pico.0, kind()).unwrap().copy(&[]).unwrap();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }

    #[test]
    fn none_and_several_are_told_with_the_way_out() {
        let none = BootDrive::among(&[], kind()).unwrap_err().to_string();
        assert!(
            none.contains("BOOTSEL") && none.contains("--drive"),
            "{none}"
        );
        let (a, b) = (Folder::new("a", Some(PICO)), Folder::new("b", Some(PICO)));
        let several = BootDrive::among(&[a.0.clone(), b.0.clone()], kind()).unwrap_err();
        let several = several.to_string();
        for path in [&a.0, &b.0] {
            assert!(several.contains(&*path.to_string_lossy()), "{several}");
        }
    }

    #[test]
    fn a_folder_of_another_kind_is_refused_by_name() {
        let plain = Folder::new("plain", None);
        let error = BootDrive::open(&plain.0, kind()).unwrap_err().to_string();
        assert!(error.contains(INFO), "{error}");
        let newer = Folder::new("newer", Some("Board-ID: RP2350\r\n"));
        let error = BootDrive::open(&newer.0, kind()).unwrap_err().to_string();
        assert!(
            error.contains("RP2350") && error.contains("RPI-RP2"),
            "{error}"
        );
        let empty = Folder::new("empty", Some(""));
        let error = BootDrive::open(&empty.0, kind()).unwrap_err().to_string();
        assert!(error.contains("Board-ID"), "{error}");
    }

    #[test]
    fn mount_points_with_blanks_are_read() {
        let table = "/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /media/a\\040b/RPI-RP2 vfat rw 0 0\n";
        let folders = mount_points(table);
        assert_eq!(folders, [Path::new("/"), Path::new("/media/a b/RPI-RP2")]);
    }
}
