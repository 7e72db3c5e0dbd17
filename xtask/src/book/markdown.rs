//! As much of Markdown as it takes to find links, headings and code spans.

use std::collections::BTreeSet;

/// The section whose tables list paths that no longer exist in their first column.
const MOVED: &str = "moved-files";

/// A link, a picture or a code span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Line number, from 1.
    pub line: usize,
    /// Target of a link, or text of a code span.
    pub text: String,
}

impl Span {
    /// Tells whether a link leads to a place in the repository.
    pub fn is_relative(&self) -> bool {
        !self.text.contains("://") && !self.text.starts_with("mailto:")
    }
}

/// Links, headings and code spans of a page; fenced code has none of them.
#[derive(Debug, Default)]
pub struct Page {
    pub links: Vec<Span>,
    /// Headings as links name them.
    pub headings: BTreeSet<String>,
    pub codes: Vec<Span>,
    section: String,
}

impl Page {
    /// Reads a page.
    pub fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut fence = None;
        for (number, line) in text.lines().enumerate() {
            let mark = ["```", "~~~"]
                .into_iter()
                .find(|it| line.trim_start().starts_with(it));
            match (fence, mark) {
                (None, None) => page.read_line(number + 1, line),
                (None, Some(_)) => fence = mark,
                (Some(open), Some(mark)) if open == mark => fence = None,
                (Some(_), _) => {}
            }
        }
        page
    }

    fn read_line(&mut self, number: usize, line: &str) {
        if let Some(heading) = line.strip_prefix('#') {
            let name = name(heading.trim_start_matches('#').trim());
            self.section.clone_from(&name);
            let numbered = (1..).map(|again| format!("{name}-{again}"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            self.headings
                .extend(names.find(|name| !self.headings.contains(name)));
        }
        let (text, codes) = split_code(line);
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            self.links.push(Span {
                line: number,
                text: target.to_owned(),
            });
        }
        let first_cell = line.strip_prefix('|').and_then(|row| row.split('|').next());
        let skipped = match first_cell {
            Some(cell) if self.section == MOVED => cell.matches('`').count() / 2,
            _ => 0,
        };
        let codes = codes.into_iter().skip(skipped);
        self.codes.extend(codes.map(|text| Span {
            line: number,
            text: text.to_owned(),
        }));
    }
}

/// Splits a line into its text without code spans and its code spans.
fn split_code(line: &str) -> (String, Vec<&str>) {
    let parts: Vec<&str> = line.split('`').collect();
    let open = parts.len().is_multiple_of(2);
    let mut text = String::new();
    let mut codes = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if at % 2 == 0 || (open && at == parts.len() - 1) {
            text.push_str(part);
        } else {
            codes.push(*part);
        }
    }
    (text, codes)
}

/// Returns the anchor of a heading: small letters, dashes for spaces, no other signs.
fn name(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_neither_links_nor_headings() {
        let page = Page::read("```sh\n# no\n[no](no.md)\n```\n`[no](no.md)` [yes](yes.md \"t\")\n");
        assert!(page.headings.is_empty());
        let targets: Vec<_> = page.links.iter().map(|link| link.text.as_str()).collect();
        assert_eq!(targets, ["yes.md"]);
        assert_eq!(page.links[0].line, 5);
        assert_eq!(page.codes.len(), 1);
    }

    #[test]
    fn headings_are_named_as_links_do() {
        let page = Page::read("# The `wire`, V2\n## Twice\n## Twice\n### a_b-C 1 & 2\n");
        let expected = ["a_b-c-1--2", "the-wire-v2", "twice", "twice-1"];
        assert!(page.headings.iter().eq(expected.iter()));
    }

    #[test]
    fn old_paths_of_moved_files_are_no_code() {
        let page = Page::read("## Moved files\n| `a/b.rs`, `c` | `d/e.rs` |\n## Next\n| `f` |\n");
        let codes: Vec<_> = page.codes.iter().map(|code| code.text.as_str()).collect();
        assert_eq!(codes, ["d/e.rs", "f"]);
    }
}
