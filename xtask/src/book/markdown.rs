//! As much of Markdown as it takes to find links and headings.

use std::collections::BTreeSet;

/// A link or a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The line it stands on, from 1.
    pub line: usize,
    /// Where it leads.
    pub target: String,
}

impl Link {
    /// Tells whether it leads to a place in the repository.
    pub fn is_relative(&self) -> bool {
        !self.target.contains("://") && !self.target.starts_with("mailto:")
    }
}

/// What a page links to, and what can be linked to in it.
#[derive(Debug, Default)]
pub struct Page {
    /// Its links.
    pub links: Vec<Link>,
    /// Its headings as links name them.
    pub headings: BTreeSet<String>,
}

impl Page {
    /// Reads a page; what stands in code is neither link nor heading.
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
            let numbered = (1..).map(|again| format!("{name}-{again}"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            self.headings
                .extend(names.find(|name| !self.headings.contains(name)));
        }
        let text = without_code(line);
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            self.links.push(Link {
                line: number,
                target: target.to_owned(),
            });
        }
    }
}

/// A line without what stands between strokes; a code's text is no link.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let whole = parts.len() % 2 == 1;
    let kept = parts.iter().enumerate();
    kept.filter(|(at, _)| at % 2 == 0 || (!whole && *at == parts.len() - 1))
        .map(|(_, part)| *part)
        .collect()
}

/// How links name a heading: in small letters, with dashes for spaces, without other signs.
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
        let targets: Vec<_> = page.links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, ["yes.md"]);
        assert_eq!(page.links[0].line, 5);
    }

    #[test]
    fn headings_are_named_as_links_do() {
        let page = Page::read("# The `wire`, V2\n## Twice\n## Twice\n### a_b-C 1 & 2\n");
        let expected = ["a_b-c-1--2", "the-wire-v2", "twice", "twice-1"];
        assert!(page.headings.iter().eq(expected.iter()));
    }
}
