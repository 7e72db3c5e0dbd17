//! Escaping of text that others wrote, for a terminal or a page: cells and names in files, names of
//! folders, messages of boards and programs.

use std::borrow::Cow;

/// Escapes control characters, and marks that hide letters or reverse their order.
///
/// ```
/// use gleaner_files::printable;
///
/// assert_eq!(printable("pico\u{1b}[2J"), "pico\\u{1b}[2J");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_interpreted, |letter| {
        letter.escape_unicode().to_string()
    })
}

/// Escapes what [`printable`] does, but for ends of lines and tabs.
///
/// ```
/// use gleaner_files::printable_lines;
///
/// assert_eq!(printable_lines("one\n\ttwo\r\u{202e}"), "one\n\ttwo\\u{d}\\u{202e}");
/// ```
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let is_wrong = |letter| !matches!(letter, '\n' | '\t') && is_interpreted(letter);
    escaped(text, is_wrong, |letter| letter.escape_unicode().to_string())
}

/// Escapes what [`printable_lines`] does in JSON, in which such letters stand in strings only.
///
/// ```
/// use gleaner_files::printable_json;
///
/// assert_eq!(printable_json("\"a\u{202e}\""), "\"a\\u202e\"");
/// ```
#[must_use]
pub fn printable_json(text: &str) -> Cow<'_, str> {
    let is_wrong = |letter| !matches!(letter, '\n' | '\t') && is_interpreted(letter);
    escaped(text, is_wrong, |letter| {
        let mut units = [0; 2];
        let units = letter.encode_utf16(&mut units).iter();
        units.map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

fn escaped(
    text: &str,
    is_wrong: impl Fn(char) -> bool,
    escape: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if !text.chars().any(&is_wrong) {
        return Cow::Borrowed(text);
    }
    let show = |letter: char| match is_wrong(letter) {
        true => escape(letter),
        false => letter.to_string(),
    };
    text.chars().map(show).collect()
}

/// Tells whether a letter is a control character (C0, DEL, C1), a separator of lines or paragraphs,
/// or a format character.
#[must_use]
pub fn is_interpreted(letter: char) -> bool {
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
            assert!(matches!(printable(name), Cow::Borrowed(same) if same == name));
        }
    }

    #[test]
    fn escaped_json_has_the_same_values() {
        let json = "{\n  \"a\u{7f}\": \"b\u{202e}\u{e0041}\u{9b}\"\n}";
        let shown = "{\n  \"a\\u007f\": \"b\\u202e\\udb40\\udc41\\u009b\"\n}";
        assert_eq!(printable_json(json), shown);
    }
}
