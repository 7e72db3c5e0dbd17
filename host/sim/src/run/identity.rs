//! A run's own name: random bytes that its boards and its base station tell its work by, kept in
//! its directory so that a resumed run is the same run.

use std::io;

use gleaner_files::FileError;
use gleaner_shared::wire::message::RunId;

use super::RunDirectory;

/// Returns the name of the run in a directory; a run without one gets it now, for good.
///
/// # Errors
/// Names the file: it cannot be read or written, or holds something else.
pub fn run_id(directory: &RunDirectory) -> Result<RunId, FileError> {
    let path = directory.file(RunDirectory::ID);
    match gleaner_files::read_text(&path) {
        Ok(text) => parse(text.trim_end()).ok_or_else(|| {
            let what = "not the 32 hexadecimal digits of a run's name: restore the file, or start \
                        the run anew";
            gleaner_files::at(&path)(io::Error::new(io::ErrorKind::InvalidData, what))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let id = new_id().map_err(gleaner_files::at(&path))?;
            gleaner_files::write_atomically(&path, format!("{id}\n").as_bytes())?;
            Ok(id)
        }
        Err(error) => Err(gleaner_files::at(&path)(error)),
    }
}

/// Draws a name that no other run has.
///
/// # Errors
/// When the system has no randomness to give.
pub fn new_id() -> io::Result<RunId> {
    let mut id = RunId::default();
    getrandom::fill(&mut id.0).map_err(io::Error::other)?;
    Ok(id)
}

fn parse(text: &str) -> Option<RunId> {
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
    Some(RunId(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_run_keeps_its_name_and_no_two_share_one() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [first, second] = folders.each_ref().map(|folder| {
            let directory = RunDirectory::new(folder.path());
            let id = run_id(&directory).unwrap();
            assert_eq!(run_id(&directory).unwrap(), id);
            id
        });
        assert_ne!(first, second);
    }

    #[test]
    fn a_damaged_name_is_refused_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(folder.path());
        let path = directory.file(RunDirectory::ID);
        for text in ["", "abc", "+1234567890123456789012345678901"] {
            fs::write(&path, text).unwrap();
            let said = run_id(&directory).unwrap_err().to_string();
            assert!(said.contains("run-id") && said.contains("32"), "{said}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
