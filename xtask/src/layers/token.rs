//! The words of a Rust file with their lines, without comments, strings and characters.

/// One word or sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// An identifier, a number, `::` or a single character.
    pub text: &'a str,
    /// Its line, from one.
    pub line: usize,
}

/// Splits `text`; what is not Rust yields some words or other, never a panic.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (len, is_code) = next(rest, first);
        let (taken, after) = rest.split_at(len);
        if is_code {
            found.push(Token { text: taken, line });
        }
        line += taken.matches('\n').count();
        rest = after;
    }
    found
}

/// The length of what `rest` begins with, and whether it is code.
fn next(rest: &str, first: char) -> (usize, bool) {
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), false)
    } else if rest.starts_with("/*") {
        (comment(rest), false)
    } else if let Some(len) = string(rest) {
        (len, false)
    } else if first == '\'' {
        (quoted(rest), false)
    } else if first.is_alphanumeric() || first == '_' {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        (end.unwrap_or(rest.len()), true)
    } else if rest.starts_with("::") {
        (2, true)
    } else {
        (first.len_utf8(), !first.is_whitespace())
    }
}

/// The length of a comment between `/*` and `*/`, which may hold others.
fn comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        let step = match here {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a string of any kind, if `rest` begins with one.
fn string(rest: &str) -> Option<usize> {
    let prefix = ["\"", "b\"", "c\""]
        .into_iter()
        .find(|p| rest.starts_with(p));
    if let Some(prefix) = prefix {
        return Some(escaped(rest, prefix.len(), b'"'));
    }
    let raw = ["r", "br", "cr"].into_iter().find_map(|p| {
        let body = rest.strip_prefix(p)?.trim_start_matches('#');
        body.starts_with('"').then_some((p, body))
    });
    let (prefix, body) = raw?;
    let hashes = rest.len() - prefix.len() - body.len();
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - body.len() + 1;
    let close = body[1..].find(&end).map(|at| start + at + end.len());
    Some(close.unwrap_or(rest.len()))
}

/// The length of a character, or of the sign before a lifetime.
fn quoted(rest: &str) -> usize {
    let mut inner = rest[1..].chars();
    match (inner.next(), inner.next()) {
        (Some('\\'), _) => escaped(rest, 1, b'\''),
        (Some(character), Some('\'')) => 2 + character.len_utf8(),
        _ => 1,
    }
}

/// The length up to the `end` that no backslash precedes, from `start` on.
fn escaped(rest: &str, start: usize, end: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            byte if byte == end => return at + 1,
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_strings_and_characters_are_no_words() {
        let text = "a // crate::x\n/* crate::y /* z */ w */ b \"crate::\\\" v\" r#\"a \" b\"# \
                    b\"u\" 'c' '\\'' '\"' c";
        assert_eq!(words(text), ["a", "b", "c"]);
    }

    #[test]
    fn lifetimes_keep_their_names_and_paths_their_signs() {
        assert_eq!(
            words("&'a x::y<'static>"),
            ["&", "a", "x", "::", "y", "<", "static", ">"]
        );
    }

    #[test]
    fn lines_count_those_inside_comments_and_strings() {
        let found = tokens("/* one\ntwo */ a \"three\n\" b\nc");
        let lines: Vec<usize> = found.iter().map(|token| token.line).collect();
        assert_eq!(lines, [2, 3, 4]);
    }

    #[test]
    fn unfinished_code_ends_with_the_file() {
        for text in ["\"abc", "r##\"abc\"#", "/* abc", "'", "'\\", "\"\\", "r"] {
            assert!(tokens(text).len() <= 1, "{text}");
        }
    }
}
