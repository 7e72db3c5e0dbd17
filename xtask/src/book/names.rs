//! Paths, `file: item` names and names of tests in code spans, compared with the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::markdown::Page;

/// Folders that are not part of the repository.
const SKIPPED: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// Keywords that introduce an item in Rust, Python and JavaScript.
const KEYWORDS: [&str; 9] = [
    "fn", "struct", "enum", "trait", "const", "type", "def", "class", "function",
];

/// Files and folders of the repository, relative to its root.
pub fn tree() -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let place = Path::new(".").join(&folder);
        let entries = std::fs::read_dir(&place);
        let entries = entries.with_context(|| format!("cannot read {}", place.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') || SKIPPED.contains(&&*name) {
                continue;
            }
            let path = folder.join(&*name);
            if entry.file_type()?.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path);
        }
    }
    Ok(found)
}

/// Underscores from which on a bare name is that of a test; no key or column has as many.
const LONG: usize = 4;

/// Returns code spans that name a missing path or test, or an item that its file does not define.
pub fn missing(
    pages: &BTreeMap<PathBuf, Page>,
    tree: &BTreeSet<PathBuf>,
    read: impl Fn(&Path) -> String,
) -> Vec<String> {
    let functions = functions(tree, &read);
    let mut faults = Vec::new();
    for (page, content) in pages {
        for code in &content.codes {
            let name = &code.text;
            if is_name(name) && name.matches('_').count() >= LONG && !functions.contains(name) {
                let place = page.display();
                faults.push(format!("{place}:{}: there is no test {name}", code.line));
            }
            let Some((path, item)) = parse(&code.text) else {
                continue;
            };
            let what = match (find(path, tree), item) {
                (Found::Elsewhere, _) | (Found::At(_), None) => continue,
                (Found::Missing, _) => format!("there is no {path}"),
                (Found::At(files), Some(item)) => {
                    if files.iter().any(|file| defines(&read(file), item)) {
                        continue;
                    }
                    format!("{path} defines no {item}")
                }
            };
            faults.push(format!("{}:{}: {what}", page.display(), code.line));
        }
    }
    faults
}

/// Names of all functions in the Rust files of the repository.
fn functions(tree: &BTreeSet<PathBuf>, read: impl Fn(&Path) -> String) -> BTreeSet<String> {
    let sources = tree
        .iter()
        .filter(|path| path.extension().is_some_and(|it| it == "rs"));
    let mut names = BTreeSet::new();
    for source in sources {
        for rest in read(source).split("fn ").skip(1) {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            names.insert(rest[..end.unwrap_or(rest.len())].to_owned());
        }
    }
    names
}

fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    !text.is_empty() && text.chars().all(is_part)
}

/// Splits `path` or `path: Type::item` into the path and the last name; `None` if it is neither.
fn parse(text: &str) -> Option<(&str, Option<&str>)> {
    let (path, item) = match text.split_once(": ") {
        Some((path, item)) if item.split("::").all(is_name) => {
            (path, item.rsplit("::").next().filter(|it| is_name(it)))
        }
        Some(_) => return None,
        None => (text, None),
    };
    let plain = path
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "_./-".contains(letter));
    let is_path = plain && (path.contains('/') || path.ends_with(".rs"));
    is_path.then_some((path, item))
}

/// Place of a path in the repository.
enum Found {
    /// Files or folders of that name.
    At(Vec<PathBuf>),
    Missing,
    /// The path does not belong to the repository, such as a file of a run.
    Elsewhere,
}

/// Finds a path from the root, or a source file by the end of its path.
fn find(path: &str, tree: &BTreeSet<PathBuf>) -> Found {
    let whole = Path::new(path);
    let Some(first) = whole.components().next() else {
        return Found::Elsewhere;
    };
    if path.contains('/') && tree.contains(Path::new(&first)) {
        return match tree.get(whole) {
            Some(found) => Found::At(vec![found.clone()]),
            None => Found::Missing,
        };
    }
    if !path.ends_with(".rs") {
        return Found::Elsewhere;
    }
    let found: Vec<PathBuf> = tree
        .iter()
        .filter(|it| it.ends_with(whole))
        .cloned()
        .collect();
    match found.is_empty() {
        true => Found::Missing,
        false => Found::At(found),
    }
}

/// Tells whether a source text defines an item of that name.
fn defines(text: &str, item: &str) -> bool {
    let follows = |rest: &str| {
        let after = rest.chars().next();
        after.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
    };
    KEYWORDS.iter().any(|keyword| {
        let definition = format!("{keyword} {item}");
        let mut places = text.match_indices(&definition);
        places.any(|(at, _)| follows(&text[at + definition.len()..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_items_exist() {
        let text = "`host/src/a.rs: Engine::step` `host/src/a.rs: stop` `a.rs: Engine`\n\
            `host/src/b.rs` `src/b.rs` `host/src/` `points/ID/` `host/src/<name>.rs`\n\
            `cargo test` `cre: optim::check` `fleet.toml` `host/gone` `https://host/x`\n\
            `a_test_that_is_there` `a_test_that_is_gone`";
        let pages = BTreeMap::from([(PathBuf::from("README.md"), Page::read(text))]);
        let tree = ["host", "host/src", "host/src/a.rs", "README.md"];
        let tree = tree.into_iter().map(PathBuf::from).collect();
        let found = missing(&pages, &tree, |_| {
            "pub struct Engine;\nfn step(&self) {}\nfn stopped() {}\nfn a_test_that_is_there() {}"
                .to_owned()
        });
        let expected = [
            "README.md:1: host/src/a.rs defines no stop",
            "README.md:2: there is no host/src/b.rs",
            "README.md:2: there is no src/b.rs",
            "README.md:3: there is no host/gone",
            "README.md:4: there is no test a_test_that_is_gone",
        ];
        assert_eq!(found, expected);
    }
}
