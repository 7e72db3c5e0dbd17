//! The sum of all test programs' results, which `cargo test` does not print itself.

use std::collections::BTreeMap;
use std::fmt;

/// Numbers of tests by outcome, and the tests that said they were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: u64,
    pub failed: u64,
    ignored: u64,
    /// Test name to reason. Rust's harness counts these tests as passed.
    skipped: BTreeMap<String, String>,
}

impl Count {
    /// Adds a line of `cargo test`'s output, or of Node's in TAP, Python's or pytest's, if it is a
    /// result.
    pub fn read(&mut self, line: &str) {
        if let Some((test, reason)) =
            (line.split_once("skipped: ")).and_then(|(_, skipped)| skipped.split_once(": "))
        {
            self.skipped.insert(test.to_owned(), reason.to_owned());
            return;
        }
        self.read_python(line);
        self.read_pytest(line);
        let of_node = |outcome: &str| line.trim().strip_prefix(outcome)?.parse::<u64>().ok();
        self.passed += of_node("# pass ").unwrap_or(0);
        self.failed += of_node("# fail ").unwrap_or(0);
        self.ignored += of_node("# skipped ").unwrap_or(0);
        let Some(result) = line.trim().strip_prefix("test result: ") else {
            return;
        };
        let number = |word: &str| -> u64 {
            result
                .split([';', '.'])
                .filter_map(|part| part.trim().strip_suffix(word))
                .find_map(|number| number.trim().parse().ok())
                .unwrap_or(0)
        };
        self.passed += number("passed");
        self.failed += number("failed");
        self.ignored += number("ignored");
    }

    /// Python counts all tests first, then those that failed.
    fn read_python(&mut self, line: &str) {
        let ran = |line: &str| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok();
        self.passed += ran(line).unwrap_or(0u64);
        let Some(outcomes) = line.strip_prefix("FAILED (") else {
            return;
        };
        let failed: u64 = (outcomes.trim_end_matches(')').split(", "))
            .filter_map(|outcome| outcome.split_once('='))
            .filter(|(what, _)| ["failures", "errors"].contains(what))
            .filter_map(|(_, number)| number.parse::<u64>().ok())
            .sum();
        self.failed += failed;
        self.passed = self.passed.saturating_sub(failed);
    }

    /// Pytest ends with `1 failed, 23 passed, 2 skipped in 5.10s`.
    fn read_pytest(&mut self, line: &str) {
        let Some((outcomes, _)) = line
            .rsplit_once(" in ")
            .filter(|(_, time)| time.ends_with('s'))
        else {
            return;
        };
        for outcome in outcomes.split(", ").filter_map(|it| it.split_once(' ')) {
            let Ok(number) = outcome.0.parse::<u64>() else {
                continue;
            };
            match outcome.1 {
                "passed" => self.passed += number,
                "failed" | "error" | "errors" => self.failed += number,
                "skipped" => self.ignored += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (test, reason) in &self.skipped {
            writeln!(f, "skipped: {test}: {reason}")?;
        }
        let skipped = self.skipped.len() as u64;
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed.saturating_sub(skipped),
            self.failed,
            self.ignored + skipped
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_results_and_ignores_the_rest() {
        let mut count = Count::default();
        count.read("running 3 tests");
        count.read(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.04s",
        );
        count
            .read("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        assert_eq!(count.to_string(), "15 passed, 2 failed, 1 skipped");
        for line in [
            "# tests 4",
            "# pass 3",
            "# fail 1",
            "# skipped 0",
            "# duration_ms 5.1",
        ] {
            count.read(line);
        }
        assert_eq!(count.to_string(), "18 passed, 3 failed, 1 skipped");
        count.read("Ran 10 tests in 0.921s");
        count.read("FAILED (failures=1, errors=2)");
        assert_eq!(count.to_string(), "25 passed, 6 failed, 1 skipped");
        count.read("1 failed, 23 passed, 2 skipped, 1 error in 5.10s");
        assert_eq!(count.to_string(), "48 passed, 8 failed, 3 skipped");
    }

    #[test]
    fn names_each_test_that_says_it_was_skipped_and_counts_it_once() {
        let mut count = Count::default();
        for line in [
            "skipped: boots: no QEMU",
            "test trains ... skipped: trains: no QEMU",
            "skipped: boots: no rp2040js: run `npm ci`",
            "test result: ok. 5 passed; 0 failed; 0 ignored",
        ] {
            count.read(line);
        }
        assert_eq!(
            count.to_string(),
            "skipped: boots: no rp2040js: run `npm ci`\nskipped: trains: no QEMU\n\
             3 passed, 0 failed, 2 skipped"
        );
    }
}
