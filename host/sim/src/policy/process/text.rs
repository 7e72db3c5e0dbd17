//! Words of a program that schedules, made fit to be shown: short, on one line, and without the
//! control characters that would let them draw on a terminal.

/// Most characters of a line that are shown.
pub(super) const SHOWN: usize = 400;

/// Returns bytes as they can be shown, cut after [`SHOWN`] characters.
pub(super) fn shown(bytes: &[u8]) -> String {
    // No character has more than four bytes.
    let start = &bytes[..bytes.len().min(4 * SHOWN)];
    let text = String::from_utf8_lossy(start);
    let text = text.trim_end_matches(['\n', '\r']);
    let mut shown: String = text.chars().take(SHOWN).map(plain).collect();
    if text.chars().nth(SHOWN).is_some() || start.len() < bytes.len() {
        shown.push_str("...");
    }
    shown
}

/// Returns what stands around a byte of a line.
pub(super) fn around(line: &str, at: usize) -> String {
    const BEFORE: usize = 40;
    const BEHIND: usize = 40;
    let mut from = at.saturating_sub(BEFORE).min(line.len());
    while !line.is_char_boundary(from) {
        from -= 1;
    }
    let mut to = at.saturating_add(BEHIND).min(line.len());
    while !line.is_char_boundary(to) {
        to += 1;
    }
    let (head, tail) = (if from > 0 { "..." } else { "" }, &line[to..]);
    let tail = if tail.trim_end().is_empty() {
        ""
    } else {
        "..."
    };
    let middle: String = line[from..to].trim_end().chars().map(plain).collect();
    format!("{head}{middle}{tail}")
}

fn plain(letter: char) -> char {
    match letter {
        '\t' => ' ',
        letter if gleaner_files::is_interpreted(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_draws_or_goes_on_and_on() {
        assert_eq!(shown(b"a\x1b[2Jb\tc\r\n"), "a\u{fffd}[2Jb c");
        assert_eq!(shown("a\u{202e}b".as_bytes()), "a\u{fffd}b");
        assert_eq!(shown(&[0xff, b'x']), "\u{fffd}x");
        let long = shown(&vec![b'y'; 1_000_000]);
        assert_eq!(long.len(), SHOWN + 3);
        assert_eq!(shown("ä".repeat(SHOWN).as_bytes()).chars().count(), SHOWN);
    }

    #[test]
    fn an_excerpt_keeps_to_whole_characters() {
        let line = "ä".repeat(100);
        for at in 0..=line.len() + 5 {
            assert!(around(&line, at).chars().all(|it| it == 'ä' || it == '.'));
        }
        assert_eq!(around("{\"a\": NaN}\n", 6), "{\"a\": NaN}");
        assert_eq!(around("", 3), "");
    }
}
