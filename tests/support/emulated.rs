//! What the tests of emulated boards share.

use gleaner_host::emulator::EmulatorError;
use gleaner_host::emulator::image::is_strict;

/// Returns what is there. What is missing is a failure under `CI=true`; elsewhere it is said
/// loudly and the test passes as skipped.
///
/// # Panics
/// With the error, unless it only says that something is not installed.
#[track_caller]
pub fn available<T>(result: Result<T, EmulatorError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(missing @ EmulatorError::Missing { .. }) if !is_strict() => {
            eprintln!("\n*** SKIPPED: {missing} (`cargo xtask setup` installs all of it) ***\n");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
