//! Programs run side by side, as many as there are processors, each with its output in one piece.

use std::collections::VecDeque;
use std::io::Read;
use std::num::NonZero;
use std::process::Command;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::count::Count;

/// One program of tests.
pub struct Program {
    /// Name shown to users.
    pub name: String,
    /// Command that starts the program.
    pub command: Command,
}

/// Result of a program.
struct Ended {
    name: String,
    output: String,
    succeeded: bool,
    took: Duration,
}

/// Tests that each program runs at a time, unless `RUST_TEST_THREADS` says otherwise: with a
/// program per processor more would only make each of them slow.
const AT_A_TIME: &str = "2";

/// Runs all `programs` in the order given, prints what they say and adds it to `count`; returns
/// the names of those that failed.
pub fn run(programs: Vec<Program>, count: &mut Count) -> Vec<String> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    println!("{} programs of tests, {workers} at a time", programs.len());
    let queue = Mutex::new(VecDeque::from(programs));
    let (sender, ended) = mpsc::channel();
    let mut failed = Vec::new();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (queue, sender) = (&queue, sender.clone());
            scope.spawn(move || {
                let next = || {
                    queue
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front()
                };
                while let Some(program) = next() {
                    if sender.send(end(program)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for ended in ended {
            println!("\n--- {} ({:.1} s)", ended.name, ended.took.as_secs_f64());
            print!("{}", ended.output);
            let before = count.failed;
            ended.output.lines().for_each(|line| count.read(line));
            if !ended.succeeded {
                // A program that crashed prints no result.
                count.failed = count.failed.max(before + 1);
                failed.push(ended.name);
            }
        }
    });
    failed
}

/// Runs `program` to its end.
fn end(program: Program) -> Ended {
    let begin = Instant::now();
    let (output, succeeded) = match gather(program.command) {
        Ok(ended) => ended,
        Err(error) => (format!("cannot be run: {error:#}\n"), false),
    };
    Ended {
        name: program.name,
        output,
        succeeded,
        took: begin.elapsed(),
    }
}

/// What `command` writes to both its outputs, in order, and whether it succeeds.
fn gather(mut command: Command) -> Result<(String, bool)> {
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", AT_A_TIME);
    }
    let (mut reader, writer) = std::io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // It holds the ends to write to, and reading goes on until all are closed.
    drop(command);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let mut output = String::from_utf8_lossy(&bytes).into_owned();
    let status = child.wait()?;
    if !status.success() {
        output.push_str(&format!("ended with {status}\n"));
    }
    Ok((output, status.success()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str) -> Program {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Program {
            name: name.to_owned(),
            command,
        }
    }

    #[test]
    fn failures_stop_nothing_and_are_named_and_counted() {
        let result = |passed: u32, failed: u32| {
            format!("echo 'test result: x. {passed} passed; {failed} failed'")
        };
        let programs = vec![
            shell("good", &result(3, 0)),
            shell("bad", &format!("{}; exit 101", result(1, 2))),
            shell("crashed", "kill -9 $$"),
            shell("after", &result(4, 0)),
        ];
        let mut count = Count::default();
        let mut failed = run(programs, &mut count);
        failed.sort();
        assert_eq!(failed, ["bad", "crashed"]);
        assert_eq!(count.to_string(), "8 passed, 3 failed, 0 skipped");
    }

    #[test]
    fn both_outputs_of_a_program_are_in_order() {
        let (output, succeeded) =
            gather(shell("", "echo one; echo two >&2; echo three").command).unwrap();
        assert_eq!(output, "one\ntwo\nthree\n");
        assert!(succeeded);
    }

    #[test]
    fn a_program_that_cannot_be_started_failed() {
        let program = Program {
            name: "absent".to_owned(),
            command: Command::new("/nonexistent/program"),
        };
        assert!(!end(program).succeeded);
    }
}
