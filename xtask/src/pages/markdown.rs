//! Reads what a page shows as code: fenced blocks with their marks, and commands in code spans.

use super::mark::Mark;

/// Beginnings of the commands that are checked in code spans.
pub const COMMANDS: [&str; 5] = [
    "gleaner ",
    "cargo gleaner ",
    "cargo gleaner-probe ",
    "cargo figures ",
    "cargo xtask ",
];

/// One thing on a page that is tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Line number, from 1.
    pub line: usize,
    /// What is tested there, or a mistake.
    pub content: Content,
}

/// Kinds of things on a page that are tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A fenced block with its marks.
    Block(Block),
    /// A command in a code span.
    Command(String),
    /// A code span that the last block must have printed.
    Expected(String),
    /// A mistake of the page, with its fix.
    Fault(String),
}

/// A fenced block with the marks before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First word after the fence.
    pub language: String,
    /// Text between the fences, without their indentation.
    pub text: String,
    /// Marks on the lines before it.
    pub marks: Vec<Mark>,
    /// Whether it follows a block of the same section.
    pub follows: bool,
}

/// Reads a page.
pub fn read(page: &str) -> Vec<Item> {
    let mut reader = Reader::default();
    for (at, line) in page.lines().enumerate() {
        reader.take(at + 1, line);
    }
    reader.end_paragraph();
    reader.items
}

/// The state between two lines.
#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    marks: Vec<Mark>,
    /// Paragraph with the number of its first line, and whether a mark expects its first code span.
    paragraph: Option<(usize, String, bool)>,
    /// Open block with its line, its fence and the fence's indentation.
    block: Option<(usize, Block, &'static str, usize)>,
    has_block: bool,
}

impl Reader {
    fn take(&mut self, number: usize, line: &str) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some((at, mut block, fence, outer)) = self.block.take() {
            if text.trim_end() == fence {
                self.push(at, Content::Block(block));
                self.has_block = true;
            } else {
                block.text.push_str(&line[outer.min(indent)..]);
                block.text.push('\n');
                self.block = Some((at, block, fence, outer));
            }
        } else if let Some(fence) = ["```", "~~~"].into_iter().find(|it| text.starts_with(it)) {
            self.end_paragraph();
            let language = text[fence.len()..].split_whitespace().next();
            let block = Block {
                language: language.unwrap_or_default().to_owned(),
                marks: std::mem::take(&mut self.marks),
                follows: self.has_block,
                ..Block::default()
            };
            self.block = Some((number, block, fence, indent));
        } else if let Some(mark) = Mark::comment(text) {
            self.end_paragraph();
            match mark {
                Ok(mark) => self.marks.push(mark),
                Err(fault) => self.push(number, Content::Fault(fault)),
            }
        } else if text.is_empty() || text.starts_with('#') {
            self.end_paragraph();
            self.has_block &= text.is_empty();
        } else {
            self.take_text(number, indent, text);
        }
    }

    fn take_text(&mut self, number: usize, indent: usize, text: &str) {
        let starts = self.paragraph.is_none();
        if starts && indent >= 4 && COMMANDS.iter().any(|it| text.starts_with(it)) {
            let fault = "a command in an indented block: fence it with ```sh";
            self.push(number, Content::Fault(fault.to_owned()));
        }
        let marks = std::mem::take(&mut self.marks);
        let is_expected = marks == [Mark::Output];
        if !marks.is_empty() && !is_expected {
            let fault = "this mark needs a fenced block on the next line";
            self.push(number, Content::Fault(fault.to_owned()));
        }
        let (_, paragraph, _) =
            (self.paragraph).get_or_insert((number, String::new(), is_expected));
        paragraph.push_str(text);
        paragraph.push('\n');
        // Code spans do not cross the rows of a table.
        if text.starts_with('|') {
            self.end_paragraph();
        }
    }

    /// Finds the commands in the code spans of the paragraph.
    fn end_paragraph(&mut self) {
        let Some((first, text, is_expected)) = self.paragraph.take() else {
            return;
        };
        let mut line = first;
        let mut is_expected = is_expected;
        for (at, part) in text.split('`').enumerate() {
            let words = part.replace('\n', " ").replace("\\|", "|");
            if at % 2 == 1 && std::mem::take(&mut is_expected) {
                self.push(line, Content::Expected(words));
            } else if at % 2 == 1 && COMMANDS.iter().any(|it| words.starts_with(it)) {
                self.push(line, Content::Command(words));
            }
            line += part.matches('\n').count();
        }
    }

    fn push(&mut self, line: usize, content: Content) {
        self.items.push(Item { line, content });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(page: &str) -> Vec<(usize, Content)> {
        let items = read(page).into_iter();
        items.map(|item| (item.line, item.content)).collect()
    }

    #[test]
    fn blocks_have_their_language_marks_and_text_without_indentation() {
        let page = "# A\n\n1. x\n   <!-- test: file: a.toml -->\n   ```toml\n   a = 1\n     b = 2\n   ```\n\
                    ```\n```\n## B\n```sh x\n```\n";
        let block = |language: &str, text: &str, follows| Block {
            language: language.to_owned(),
            text: text.to_owned(),
            marks: Vec::new(),
            follows,
        };
        let first = Block {
            marks: vec![Mark::File("a.toml".to_owned())],
            ..block("toml", "a = 1\n  b = 2\n", false)
        };
        let expected = [
            (5, Content::Block(first)),
            (9, Content::Block(block("", "", true))),
            (12, Content::Block(block("sh", "", false))),
        ];
        assert_eq!(contents(page), expected);
    }

    #[test]
    fn commands_in_code_spans_may_cross_lines_but_not_rows() {
        let page = "a `x` `gleaner run\n--plain` and `gleaner` `cargo figures demo`\n\
                    | `gleaner a \\| b` ` |\n| `gleaner c` |\n";
        let command = |text: &str| Content::Command(text.to_owned());
        let expected = [
            (1, command("gleaner run --plain")),
            (2, command("cargo figures demo")),
            (3, command("gleaner a | b")),
            (4, command("gleaner c")),
        ];
        assert_eq!(contents(page), expected);
    }

    #[test]
    fn a_marked_paragraph_says_what_was_printed() {
        let page = "<!-- test: output -->\nExpected: `90 %`, not `gleaner x`.\n";
        let expected = [
            (2, Content::Expected("90 %".to_owned())),
            (2, Content::Command("gleaner x".to_owned())),
        ];
        assert_eq!(contents(page), expected);
    }

    #[test]
    fn indented_commands_unknown_marks_and_marks_without_a_block_are_faults() {
        for page in [
            "a\n\n    gleaner run\n",
            "<!-- test: later -->\n",
            "<!-- test: parse: no board -->\ntext\n",
        ] {
            let found = contents(page);
            assert!(
                matches!(found[..], [(_, Content::Fault(_))]),
                "{page}: {found:?}"
            );
        }
        assert_eq!(contents("<!-- a comment -->\n"), []);
    }
}
