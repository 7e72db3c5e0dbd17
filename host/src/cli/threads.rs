//! Value parser of the option `--threads`.

/// Largest accepted number; each thread takes memory of its own.
const MOST: usize = 1024;

/// Parses a number of threads.
///
/// # Errors
/// A number outside the range.
pub fn parse(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if threads <= MOST => Ok(threads),
        _ => Err(format!("give 0, for one per processor, to {MOST}")),
    }
}
