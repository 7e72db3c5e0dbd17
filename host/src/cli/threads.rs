//! The option `--threads`.

/// More than any machine this runs on has use for; each takes memory of its own.
const MOST: usize = 1024;

/// Parses a number of threads.
///
/// # Errors
/// Says what would do.
pub fn parse(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if threads <= MOST => Ok(threads),
        _ => Err(format!("give 0, for one per processor, to {MOST}")),
    }
}
