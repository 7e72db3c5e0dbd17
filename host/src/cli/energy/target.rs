//! Output files that are complete or absent and never overwrite others.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, ensure};
use gleaner_files::{create_anew, sync_parent};

/// Writes a new file; an existing one is an error.
///
/// # Errors
/// Names the file.
pub fn write_new<T>(
    path: &Path,
    write: impl FnOnce(BufWriter<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    ensure!(
        !path.exists(),
        "{} exists and is not overwritten; choose another name or remove it",
        path.display()
    );
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let whole = || {
        let written = write(BufWriter::with_capacity(1 << 20, create_anew(&part)?))?;
        File::open(&part)?.sync_all()?;
        fs::rename(&part, path)?;
        sync_parent(path)?;
        anyhow::Ok(written)
    };
    let written = whole();
    if written.is_err() {
        // The cause is the failed write; a failed removal is ignored.
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| path.display().to_string())
}
