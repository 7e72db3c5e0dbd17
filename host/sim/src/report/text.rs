//! Words and signs that pages, tables and drawings have in common.

use gleaner_files::printable_lines;

/// Replaces what has a meaning in HTML and XML, and escapes letters that a page would hide or reorder.
pub(super) fn escape(text: &str) -> String {
    printable_lines(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Writes a number with its noun.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_in_the_plural() {
        assert_eq!(counted(1, "round"), "1 round");
        assert_eq!(counted(2, "round"), "2 rounds");
    }
}
