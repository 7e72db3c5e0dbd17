//! Checks the wording of sources: few one-line docs of three words or fewer, no banned words.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Largest number of one-line docs with at most [`SHORT_WORDS`] words. Lower it, never raise it.
const MAX_SHORT_DOCS: usize = 99;
const SHORT_WORDS: usize = 3;

/// Words that have a plainer one: fix, zero, energy budget, store state, request, fault.
const BANNED: [&str; 12] = [
    "mend", "mends", "mended", "mending", "nought", "purse", "purses", "shelf", "errand",
    "errands", "mortal", "mortals",
];

/// The file with the list itself.
const THIS: &str = "xtask/src/words.rs";

/// Checks every tracked Rust, Markdown and Python file.
pub fn check() -> Result<()> {
    let files = process::output(Command::new("git").args(["ls-files", "*.rs", "*.md", "*.py"]));
    let files = files.context("`git ls-files` failed: the words are checked in a clone")?;
    let (mut short, mut banned) = (Vec::new(), Vec::new());
    for path in files.lines().filter(|path| *path != THIS) {
        // A file that is deleted and not committed yet is listed still.
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        let place = |line: usize| format!("{path}:{}", line + 1);
        if path.ends_with(".rs") {
            short.extend(short_docs(&text).into_iter().map(place));
        }
        let found = banned_words(&text).into_iter();
        banned.extend(found.map(|(line, word)| format!("{}: `{word}`", place(line))));
    }
    println!(
        "{} one-line docs of {SHORT_WORDS} words or fewer",
        short.len()
    );
    if !banned.is_empty() {
        bail!("banned words:\n{}", banned.join("\n"));
    }
    if short.len() > MAX_SHORT_DOCS {
        bail!(
            "more than {MAX_SHORT_DOCS} short docs: say more or delete some of\n{}",
            short.join("\n")
        );
    }
    Ok(())
}

/// Returns the lines, from 0, of doc comments that are one line of few words.
fn short_docs(text: &str) -> Vec<usize> {
    let lines: Vec<Option<&str>> = text.lines().map(doc).collect();
    let is_doc = |line: usize| lines.get(line).is_some_and(Option::is_some);
    let alone = |line: usize| !is_doc(line + 1) && (line == 0 || !is_doc(line - 1));
    let few = |line: &str| line.split_whitespace().count() <= SHORT_WORDS;
    (0..lines.len())
        .filter(|&line| lines[line].is_some_and(few) && alone(line))
        .collect()
}

/// Returns the text of a line of a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
    (!line.starts_with("////")).then_some(text)
}

/// Returns banned words and their lines, from 0; parts of `snake_case` names are words.
fn banned_words(text: &str) -> Vec<(usize, &str)> {
    let words = |line: usize, text| -> Vec<(usize, &str)> {
        let words = str::split(text, |c: char| !c.is_alphanumeric());
        let banned = |word: &&str| BANNED.iter().any(|it| it.eq_ignore_ascii_case(word));
        words.filter(banned).map(|word| (line, word)).collect()
    };
    let lines = text.lines().enumerate();
    lines.flat_map(|(line, text)| words(line, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_docs_are_one_line_and_at_most_three_words() {
        let text = "//! One two three.\n\n/// Says a little more.\nfn a() {}\n    /// Short.\n    b: u8,\n\
                    /// Two lines.\n/// Of this.\n//// Not docs.\n";
        assert_eq!(short_docs(text), [0, 4]);
    }

    #[test]
    fn banned_words_are_whole_words_in_any_case() {
        let text = "a mender\nMend it\nlet purse_left = 0; // shelf\n";
        let found = banned_words(text);
        assert_eq!(found, [(1, "Mend"), (2, "purse"), (2, "shelf")]);
    }
}
