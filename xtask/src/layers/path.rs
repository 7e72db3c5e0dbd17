//! The paths a Rust file names inside its crate, from the crate's root.

use super::token::{Token, tokens};

/// One path, as the file's crate knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The module that names it.
    pub module: Vec<String>,
    /// The word it begins with in the text.
    pub start: String,
    /// The path from the crate's root, or from a word of `roots`.
    pub path: Vec<String>,
    /// Whether `use` brings it in.
    pub imported: bool,
    /// The line, from one.
    pub line: usize,
}

/// Reads every path of `text` that begins with `crate`, `super`, `self` or a word of `roots`, which
/// stands for the crate's root. `file` is the module that the file is; modules inside braces are
/// its children.
pub fn named(text: &str, file: &[String], roots: &[&str]) -> Vec<Named> {
    let tokens = tokens(text);
    let mut module = file.to_vec();
    let mut found = Vec::new();
    // How deep in braces each module within the file begins.
    let mut opened: Vec<usize> = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if opened.last() == Some(&depth) {
                    opened.pop();
                    module.pop();
                }
            }
            "mod" if word(&tokens, at + 2) == Some("{") => {
                module.extend(word(&tokens, at + 1).map(str::to_owned));
                opened.push(depth);
            }
            start if word(&tokens, at + 1) == Some("::") && !continues(&tokens, at) => {
                if let Some(base) = base(start, &module, roots) {
                    let begin = Named {
                        module: module.clone(),
                        start: start.to_owned(),
                        path: base,
                        imported: at > 0 && word(&tokens, at - 1) == Some("use"),
                        line: token.line,
                    };
                    at = read(&tokens, at + 2, begin, &mut found);
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn word<'a>(tokens: &[Token<'a>], at: usize) -> Option<&'a str> {
    tokens.get(at).map(|token| token.text)
}

/// Tells whether the word at `at` is the middle of a path.
fn continues(tokens: &[Token<'_>], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| word(tokens, before)) == Some("::")
}

/// What a path that begins with `start` in `module` continues.
fn base(start: &str, module: &[String], roots: &[&str]) -> Option<Vec<String>> {
    match start {
        "self" => Some(module.to_vec()),
        "super" => Some(parent(module)),
        _ => (start == "crate" || roots.contains(&start)).then(Vec::new),
    }
}

fn parent(module: &[String]) -> Vec<String> {
    module
        .split_last()
        .map_or_else(Vec::new, |(_, above)| above.to_vec())
}

/// Reads what continues `named` at `at`, with its branches in braces, and returns where it ends.
fn read(tokens: &[Token<'_>], mut at: usize, mut named: Named, found: &mut Vec<Named>) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => return branches(tokens, at + 1, &named, found),
            "super" => named.path = parent(&named.path),
            "self" => {}
            "*" => {
                at += 1;
                break;
            }
            name if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                named.path.push(name.to_owned());
            }
            _ => break,
        }
        named.line = token.line;
        at += 1;
        if word(tokens, at) != Some("::") {
            break;
        }
        at += 1;
    }
    found.push(named);
    at
}

fn branches(tokens: &[Token<'_>], mut at: usize, stem: &Named, found: &mut Vec<Named>) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.text {
            "}" => return at + 1,
            "," => at += 1,
            // A new name is no part of a path.
            "as" => at += 2,
            _ => at = read(tokens, at, stem.clone(), found).max(at + 1),
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, file: &[&str]) -> Vec<String> {
        let file: Vec<String> = file.iter().map(ToString::to_string).collect();
        let named = named(text, &file, &["gleaner_host"]);
        named.iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn branches_are_paths_of_their_own() {
        assert_eq!(
            paths(
                "use crate::{a::b, c::{self, d as e}, f::*};\nuse std::fmt;",
                &["x"]
            ),
            ["a::b", "c", "c::d", "f"]
        );
    }

    #[test]
    fn paths_in_expressions_and_of_the_library_count() {
        assert_eq!(
            paths("fn f() -> gleaner_host::a::B { crate::c::d::<u8>(1) }", &[]),
            ["a::B", "c::d"]
        );
    }

    #[test]
    fn self_and_super_are_resolved_in_files_and_in_modules_within() {
        let text = "use super::a; use self::b; mod tests { use super::*; use super::super::c; } \
                    fn f() { super::d() }";
        assert_eq!(
            paths(text, &["x", "y"]),
            ["x::a", "x::y::b", "x::y", "x::c", "x::d"]
        );
    }

    #[test]
    fn visibility_and_other_crates_name_no_path() {
        assert_eq!(
            paths("pub(crate) fn f() {} use serde::crate_like;", &["x"]),
            [""; 0]
        );
    }

    #[test]
    fn a_path_has_the_line_of_its_last_word() {
        let named = named("use crate::{\n    a::b,\n    c,\n};", &[], &[]);
        assert_eq!(named.iter().map(|n| n.line).collect::<Vec<_>>(), [2, 3]);
    }
}
