//! Escaping of text from a board, since a terminal interprets control characters.

/// Escapes control characters, and marks that hide letters or reverse their order.
///
/// ```
/// use gleaner_station::text::printable;
///
/// assert_eq!(printable("pico\u{1b}[2J"), "pico\\u{1b}[2J");
/// ```
#[must_use]
pub fn printable(text: &str) -> String {
    let show = |letter: char| match is_interpreted(letter) {
        true => letter.escape_unicode().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(show).collect()
}

/// Tells whether a letter is a control character (C0, DEL, C1), a separator of lines or paragraphs,
/// or a format character.
fn is_interpreted(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("\x1b]0;owned\x07", "\\u{1b}]0;owned\\u{7}"),
            ("fine\rBAD", "fine\\u{d}BAD"),
            ("two\nlines", "two\\u{a}lines"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn ordinary_names_are_unchanged() {
        for name in [
            "Raspberry Pi Pico",
            "0.1.0-65d9ded+usb",
            "Gänsefüßchen \"π\"",
            "",
        ] {
            assert_eq!(printable(name), name);
        }
    }
}
