//! Runs what the pages say: every code block, and the arguments of every command in a code span.
//!
//! CONTRIBUTING.md says how a block is marked. Blocks of one page run in order in one temporary folder.

mod mark;
mod markdown;
mod output;
mod sandbox;
mod shell;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::book::pages_in;
use crate::clock::Clock;
use crate::count::Count;
use crate::setup;
use mark::Mark;
use markdown::{Block, Content};
use sandbox::{Printed, Programs, Sandbox};

/// Pages that are tested beside those of `docs`.
const OTHERS: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// The page whose `hex` blocks are tested by `shared/tests/wire_document.rs`.
const WIRE: &str = "docs/reference/wire.md";

/// Result of one item that did not fail.
enum Outcome {
    Passed,
    Skipped(&'static str),
}

/// Tests all pages, or those whose path contains a word, and prints the results.
pub fn run(only: Option<&str>) -> Result<()> {
    let mut count = Count::default();
    let result = test(only, &mut count);
    println!("{count}");
    result
}

/// Tests all pages, or those whose path contains a word, and adds the results to `count`.
pub fn test(only: Option<&str>, count: &mut Count) -> Result<()> {
    ensure!(
        sandbox::has_bash(),
        "no bash: the blocks of the pages need it"
    );
    let programs = Programs::find()?;
    let mut pages: Vec<PathBuf> = OTHERS.iter().map(PathBuf::from).collect();
    pages.extend(pages_in("docs")?);
    pages.sort();
    let before = count.failed;
    for (number, path) in pages.iter().enumerate() {
        let name = path.display().to_string();
        if only.is_none_or(|word| name.contains(word)) {
            let clock = Clock::start();
            let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
            let mut page = Page {
                path,
                programs: &programs,
                sandbox: Sandbox::new(number)?,
                last: None,
            };
            page.test(&text, count);
            println!("{name:<32} {}", clock.taken());
        }
    }
    let failed = count.failed - before;
    ensure!(
        failed == 0,
        "{failed} blocks or commands of the pages failed"
    );
    Ok(())
}

/// A page under test.
struct Page<'a> {
    path: &'a Path,
    programs: &'a Programs,
    sandbox: Sandbox,
    /// What the last block printed, if it was run.
    last: Option<Printed>,
}

impl Page<'_> {
    /// Tests everything on the page.
    fn test(&mut self, text: &str, count: &mut Count) {
        for item in markdown::read(text) {
            let name = format!("{}:{}", self.path.display(), item.line);
            let outcome = match &item.content {
                Content::Block(block) => self.block(block),
                Content::Command(command) => self.parse(&shell::commands(command)),
                Content::Expected(words) => self.expected(words),
                Content::Fault(fault) => Err(anyhow::anyhow!("{fault}")),
            };
            match outcome {
                Ok(Outcome::Passed) => count.passed += 1,
                Ok(Outcome::Skipped(reason)) if !setup::strict() => {
                    // Taken off again where skipped tests are named.
                    count.passed += 1;
                    count.read(&format!("skipped: {name}: {reason}"));
                }
                Ok(Outcome::Skipped(reason)) => {
                    println!("FAILED {name}: {reason} (CI=true: nothing may be skipped)");
                    count.failed += 1;
                }
                Err(error) => {
                    println!("FAILED {name}: {error:#}");
                    count.failed += 1;
                }
            }
        }
    }

    /// Tests a block by its language and its marks.
    fn block(&mut self, block: &Block) -> Result<Outcome> {
        let missing = block.marks.iter().find_map(|mark| match mark {
            Mark::Needs(need) => need.missing(),
            _ => None,
        });
        if let Some(missing) = missing {
            self.last = None;
            return Ok(Outcome::Skipped(missing));
        }
        if block.marks.iter().any(|it| matches!(it, Mark::Shown(_))) {
            return Ok(Outcome::Passed);
        }
        let file = block.marks.iter().find_map(|mark| match mark {
            Mark::File(name) => Some(name.as_str()),
            _ => None,
        });
        match &*block.language {
            "sh" => self.script(block, &block.text, None),
            "console" => {
                let parts = shell::console(&block.text);
                let (script, printed) = parts.context("no line begins with the prompt `$ `")?;
                let printed = block.marks.contains(&Mark::Output).then_some(printed);
                self.script(block, &script, printed.as_deref())
            }
            "text" => self.text(block),
            "toml" => self.toml(file, &block.text),
            "python" => self.python(file, &block.text),
            "json" => json(&block.text),
            "rust" => self.included(),
            "hex" if self.path == Path::new(WIRE) => Ok(Outcome::Passed),
            other => bail!(
                "`{other}` blocks are not tested: use sh, console, text, toml, python, json or rust, or \
                 `<!-- test: shown: REASON -->` before it"
            ),
        }
    }

    /// Runs a script, or its short form, and parses the command lines of the long one.
    fn script(&mut self, block: &Block, script: &str, shown: Option<&str>) -> Result<Outcome> {
        self.last = None;
        let mut short = String::new();
        let mut only_parse = false;
        for mark in &block.marks {
            match mark {
                Mark::Short(commands) => short.push_str(&format!("{commands}\n")),
                Mark::Parse(_) => only_parse = true,
                _ => {}
            }
        }
        let commands = shell::commands(script);
        if only_parse || !short.is_empty() {
            let parsed = self.parse(&commands)?;
            if only_parse {
                ensure!(
                    !commands.is_empty(),
                    "no command of ours to parse: use `shown`"
                );
                return Ok(parsed);
            }
        }
        let script = if short.is_empty() { script } else { &short };
        let printed = self.sandbox.run(self.programs, script)?;
        let different = shown.and_then(|shown| output::difference(shown, &printed.stdout));
        self.last = Some(printed);
        different.map_or(Ok(Outcome::Passed), |different| bail!("{different}"))
    }

    /// Has the arguments of commands checked.
    fn parse(&self, commands: &[String]) -> Result<Outcome> {
        for command in commands {
            if command.starts_with("cargo figures") && self.programs.figures.is_none() {
                return Ok(Outcome::Skipped(
                    "no target/debug/figures: the step `tests` builds it",
                ));
            }
            // Dots stand for further arguments.
            let command = command.replace("...", "");
            let parsed = self.sandbox.parse(self.programs, &command);
            parsed.with_context(|| format!("`{command}`"))?;
        }
        Ok(Outcome::Passed)
    }

    /// Compares a text with what the last block printed.
    fn text(&self, block: &Block) -> Result<Outcome> {
        if !block.marks.contains(&Mark::Output) {
            ensure!(
                !block.follows,
                "a text after commands: mark it with `output`, or with `shown: REASON`"
            );
            return Ok(Outcome::Passed);
        }
        let Some(last) = &self.last else {
            return Ok(Outcome::Skipped("the commands before it were not run"));
        };
        match output::difference(&block.text, &last.stdout) {
            Some(different) => bail!("{different}"),
            None => Ok(Outcome::Passed),
        }
    }

    /// Looks for words in what the last block printed.
    fn expected(&self, words: &str) -> Result<Outcome> {
        let Some(Printed { stdout, stderr }) = &self.last else {
            return Ok(Outcome::Skipped("the commands before it were not run"));
        };
        let words = words.trim_end_matches(output::ANY);
        ensure!(
            stdout.contains(words) || stderr.contains(words),
            "the commands before it do not print `{words}` but\n{stdout}{stderr}"
        );
        Ok(Outcome::Passed)
    }

    /// Has a table read as what it is: a fleet, a sweep or a scenario.
    fn toml(&self, file: Option<&str>, text: &str) -> Result<Outcome> {
        let table: toml::Table = text.parse()?;
        let name = file.unwrap_or("block.toml");
        self.sandbox.write(name, text)?;
        let script = if table.contains_key("client") {
            format!("gleaner data shard --fleet {name} --client 0 --out block.bin; rm block.bin")
        } else if table.contains_key("grid") {
            format!("gleaner sweep plan {name} --out block; rm -r block")
        } else {
            format!("gleaner config show --preset {name}")
        };
        let clean = if file.is_none() {
            "; rm block.toml"
        } else {
            ""
        };
        self.sandbox
            .run(self.programs, &format!("{script}{clean}"))?;
        Ok(Outcome::Passed)
    }

    /// Runs a program, or writes it for the commands after it.
    fn python(&mut self, file: Option<&str>, text: &str) -> Result<Outcome> {
        self.last = None;
        if self.programs.python.is_none() {
            return Ok(Outcome::Skipped(
                "no Python with pandas: set-up says what is missing",
            ));
        }
        if let Some(name) = file {
            self.sandbox.write(name, text)?;
            let check = format!("compile(open('{name}').read(), '{name}', 'exec')");
            self.sandbox.python(self.programs, &["-c", &check])?;
        } else {
            self.last = Some(self.sandbox.python(self.programs, &["-c", text])?);
        }
        Ok(Outcome::Passed)
    }

    /// Checks that a crate has the examples of the page among its own, which `cargo test` runs.
    fn included(&self) -> Result<Outcome> {
        let path = self.path.display();
        let include = format!("{path}\")]");
        let sources =
            crate::process::output(std::process::Command::new("git").args(["ls-files", "*.rs"]));
        let sources = sources.context("`git ls-files` failed")?;
        let is_included = sources.lines().any(|source| {
            let text = std::fs::read_to_string(source).unwrap_or_default();
            text.contains("#[cfg(doctest)]") && text.contains(&include)
        });
        ensure!(
            is_included,
            "no crate runs it: add `#[cfg(doctest)] #[doc = include_str!(\"../../../{path}\")]` to one"
        );
        Ok(Outcome::Passed)
    }
}

/// Reads a value, or one on each line.
fn json(text: &str) -> Result<Outcome> {
    let whole = serde_json::from_str::<serde_json::Value>(text);
    if whole.is_err() {
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).with_context(|| line.to_owned())?;
        }
    }
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests a page with `echo` in the place of `gleaner`, and returns the passed and the failed items.
    fn tested(text: &str) -> (u64, u64) {
        let programs = Programs {
            gleaner: PathBuf::from("/bin/echo"),
            figures: None,
            python: None,
        };
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut page = Page {
            path: Path::new("page.md"),
            programs: &programs,
            sandbox: Sandbox::new(number).unwrap(),
            last: None,
        };
        let mut count = Count::default();
        page.test(text, &mut count);
        (count.passed, count.failed)
    }

    #[test]
    fn blocks_of_a_page_run_in_order_in_one_folder() {
        let page = "```sh\necho 1 > a; test -f docs/SUMMARY.md\n```\n```sh\ntest -f a\n```\n\
                    ```sh\nfalse\ntrue\n```\n```sh\ntest -f b\n```\n";
        assert_eq!(tested(page), (2, 2));
        // Another page has another folder.
        assert_eq!(tested("```sh\ntest -f a\n```\n"), (0, 1));
    }

    #[test]
    fn shown_output_is_compared() {
        let console = "<!-- test: output -->\n```console\n$ gleaner 1 --x\n1 ...\n```\n";
        assert_eq!(tested(console), (1, 0));
        assert_eq!(tested(&console.replace("1 ...", "2 ...")), (0, 1));
        assert_eq!(
            tested(&console.replace("<!-- test: output -->\n", "")),
            (1, 0)
        );
        let text = "```sh\ncargo gleaner a\n```\n<!-- test: output -->\n```text\na\n```\n\
                    <!-- test: output -->\nExpected: `a`.\n";
        assert_eq!(tested(text), (3, 0));
        assert_eq!(
            tested(&text.replace("\na\n", "\nb\n").replace("`a`", "`b`")),
            (1, 2)
        );
        assert_eq!(tested("```sh\ntrue\n```\n```text\na\n```\n"), (1, 1));
    }

    #[test]
    fn a_short_form_runs_instead_and_parse_runs_nothing() {
        let block = "```sh\nexit 3\n```\n";
        assert_eq!(tested(block), (0, 1));
        assert_eq!(
            tested(&format!("<!-- test: short: true -->\n{block}")),
            (1, 0)
        );
        let block = "```sh\ngleaner x\nexit 3\n```\n";
        assert_eq!(
            tested(&format!("<!-- test: parse: no board -->\n{block}")),
            (1, 0)
        );
    }

    #[test]
    fn what_has_no_rule_fails() {
        for page in [
            "```\nx\n```\n",
            "```ruby\nx\n```\n",
            "```rust\nx\n```\n",
            "```json\n{\n```\n",
        ] {
            assert_eq!(tested(page), (0, 1), "{page}");
        }
        assert_eq!(tested("```json\n{}\n{\"a\":1}\n```\n"), (1, 0));
        assert_eq!(
            tested("<!-- test: shown: a diagram -->\n```\nx\n```\n"),
            (1, 0)
        );
    }
}
