//! Text from a board, made fit to be shown: a terminal obeys some characters instead of showing them.

/// Returns the text with everything escaped that a terminal might obey: control characters, and
/// marks that hide letters or turn their order around.
#[must_use]
pub fn printable(text: &str) -> String {
    let show = |letter: char| match is_obeyed(letter) {
        true => letter.escape_unicode().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(show).collect()
}

/// Tells control characters (C0, DEL, C1), line and paragraph separators, and format characters.
fn is_obeyed(letter: char) -> bool {
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
    fn a_board_cannot_speak_to_the_terminal() {
        for (said, shown) in [
            ("\x1b]0;owned\x07", "\\u{1b}]0;owned\\u{7}"),
            ("fine\rBAD", "fine\\u{d}BAD"),
            ("two\nlines", "two\\u{a}lines"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ] {
            assert_eq!(printable(said), shown);
        }
    }

    #[test]
    fn an_ordinary_name_stays_as_it_is() {
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
