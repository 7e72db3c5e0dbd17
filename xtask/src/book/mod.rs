//! Checks of the documentation: `docs/SUMMARY.md` lists every page, links within the repository lead
//! to a file or heading, and code spans name paths and items that exist.
//!
//! `mdbook build`, where it is installed, makes the book from the same files.

mod markdown;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use markdown::Page;

/// The folder of the pages.
const PAGES: &str = "docs";

/// The list of them.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages outside that folder.
const OTHERS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Checks the working tree.
pub fn check() -> Result<()> {
    let mut pages = BTreeMap::new();
    for path in OTHERS.iter().map(PathBuf::from).chain(pages_in(PAGES)?) {
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        pages.insert(path, Page::read(&text));
    }
    let mut faults = unlisted(&pages);
    faults.extend(broken(&pages, Path::exists));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    faults.extend(names::missing(&pages, &names::tree()?, read));
    if !faults.is_empty() {
        bail!("the documentation:\n  {}", faults.join("\n  "));
    }
    let links: usize = pages.values().map(|page| page.links.len()).sum();
    println!("book: {} pages, {links} links", pages.len());
    Ok(())
}

/// Returns the pages in a folder and its visible subfolders.
pub fn pages_in(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let folder = folder.as_ref();
    let entries = std::fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut pages = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        } else if entry.file_type()?.is_dir() {
            pages.extend(pages_in(path)?);
        } else if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
    Ok(pages)
}

/// Pages that the summary lacks or lists twice.
fn unlisted(pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let Some(summary) = pages.get(Path::new(SUMMARY)) else {
        return vec![format!("{SUMMARY} is missing")];
    };
    let mut faults = Vec::new();
    let mut listed = BTreeSet::new();
    for link in &summary.links {
        if !listed.insert(Path::new(PAGES).join(&link.text)) {
            faults.push(format!("{SUMMARY}:{}: {} again", link.line, link.text));
        }
    }
    let own = pages.keys().filter(|path| path.starts_with(PAGES));
    let lacking = own.filter(|path| !path.ends_with("SUMMARY.md") && !listed.contains(*path));
    faults.extend(lacking.map(|path| format!("{SUMMARY} does not list {}", path.display())));
    faults
}

/// Links that lead nowhere.
fn broken(pages: &BTreeMap<PathBuf, Page>, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, page) in pages {
        for link in page.links.iter().filter(|link| link.is_relative()) {
            let (file, heading) = link.text.split_once('#').unwrap_or((&link.text, ""));
            let place = match file {
                "" => path.clone(),
                _ => plain(&path.parent().unwrap_or(Path::new("")).join(file)),
            };
            let what = match pages.get(&place) {
                Some(there) if heading.is_empty() || there.headings.contains(heading) => continue,
                Some(_) => format!("{} has no heading #{heading}", place.display()),
                None if exists(&place) => continue,
                None => format!("there is no {}", place.display()),
            };
            faults.push(format!("{}:{}: {what}", path.display(), link.line));
        }
    }
    faults
}

/// A path without steps that lead back.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(texts: &[(&str, &str)]) -> BTreeMap<PathBuf, Page> {
        let page = |(path, text): &(&str, &str)| (PathBuf::from(path), Page::read(text));
        texts.iter().map(page).collect()
    }

    #[test]
    fn every_page_is_listed_once() {
        let summary = "- [A](a.md)\n- [B](b.md)\n- [A](a.md)\n";
        let found = unlisted(&pages(&[
            ("docs/SUMMARY.md", summary),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
            ("docs/c.md", ""),
            ("README.md", ""),
        ]));
        let expected = [
            "docs/SUMMARY.md:3: a.md again",
            "docs/SUMMARY.md does not list docs/c.md",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let read = "[good](docs/a.md#one-of-us) [web](https://example.org/x.md)\n\
            [file](LICENSE)\n[gone](docs/b.md)\n[none](docs/a.md#two) ![no](docs/x.svg)";
        let found = broken(
            &pages(&[
                ("README.md", read),
                (
                    "docs/a.md",
                    "# One of us\n[up](../README.md) [self](#one-of-us) [bad](#x)",
                ),
            ]),
            |path| path == Path::new("LICENSE"),
        );
        let expected = [
            "README.md:3: there is no docs/b.md",
            "README.md:4: docs/a.md has no heading #two",
            "README.md:4: there is no docs/x.svg",
            "docs/a.md:2: docs/a.md has no heading #x",
        ];
        assert_eq!(found, expected);
    }
}
