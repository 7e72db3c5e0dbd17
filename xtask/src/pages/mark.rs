//! Marks before a block: `<!-- test: WORD: VALUE -->`. CONTRIBUTING.md explains them.

use std::process::Command;

use crate::{process, setup};

/// A mark before a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Run these commands instead of the block, whose command lines are parsed.
    Short(String),
    /// Run nothing, for this reason; parse the command lines.
    Parse(String),
    /// Skip the block where this is not installed.
    Needs(Need),
    /// The block shows what the last one, or its own commands, printed.
    Output,
    /// Write the block to this file.
    File(String),
    /// Only show the block, for this reason.
    Shown(String),
}

/// Programs that blocks may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The emulator of an RP2040.
    Rp2040js,
    /// The emulator of the `m4`.
    Qemu,
    /// The JavaScript runtime.
    Node,
}

impl Mark {
    /// Reads a line if it is a mark; an error says what is wrong with it.
    pub fn comment(line: &str) -> Option<Result<Self, String>> {
        let inner = line.trim().strip_prefix("<!-- test:")?;
        let Some(inner) = inner.strip_suffix("-->") else {
            return Some(Err("a mark ends with --> on its own line".to_owned()));
        };
        let (word, value) = inner.split_once(':').unwrap_or((inner, ""));
        Some(Self::parse(word.trim(), value.trim()))
    }

    fn parse(word: &str, value: &str) -> Result<Self, String> {
        let text = || match value {
            "" => Err(format!(
                "`{word}` needs a value: <!-- test: {word}: VALUE -->"
            )),
            _ => Ok(value.to_owned()),
        };
        match word {
            "short" => text().map(Self::Short),
            "parse" => text().map(Self::Parse),
            "file" => text().map(Self::File),
            "shown" => text().map(Self::Shown),
            "needs" => Need::parse(value).map(Self::Needs),
            "output" if value.is_empty() => Ok(Self::Output),
            _ => Err(format!(
                "`{word}` is no mark: use short, parse, needs, output, file or shown (CONTRIBUTING.md)"
            )),
        }
    }
}

impl Need {
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "rp2040js" => Ok(Self::Rp2040js),
            "qemu" => Ok(Self::Qemu),
            "node" => Ok(Self::Node),
            _ => Err(format!("needs: `{word}`: use rp2040js, qemu or node")),
        }
    }

    /// Returns what is missing, or `None` if it is installed.
    pub fn missing(self) -> Option<&'static str> {
        let (found, missing) = match self {
            Self::Rp2040js => (setup::emulator::runner_is_installed(), "no rp2040js"),
            Self::Qemu => (process::exists("qemu-system-arm"), "no QEMU"),
            Self::Node => {
                let node = process::output(Command::new("node").arg("--version"));
                (node.is_some(), "no Node.js")
            }
        };
        (!found).then_some(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_comments_with_a_word_and_a_value() {
        let short = Mark::Short("gleaner week --days 0.1: x".to_owned());
        for (line, mark) in [
            (
                "<!-- test: short: gleaner week --days 0.1: x -->",
                Ok(short),
            ),
            ("  <!-- test: output -->", Ok(Mark::Output)),
            ("<!-- test: needs: qemu -->", Ok(Mark::Needs(Need::Qemu))),
        ] {
            assert_eq!(Mark::comment(line), Some(mark));
        }
        for wrong in ["short", "short: ", "needs: luck", "output: x", "skip: y"] {
            let line = format!("<!-- test: {wrong} -->");
            assert!(matches!(Mark::comment(&line), Some(Err(_))), "{wrong}");
        }
        assert_eq!(Mark::comment("<!-- tested -->"), None);
    }
}
