//! The process of a scheduler program: started, spoken to line by line, and ended with its host.
//!
//! Three threads stand at its pipes, so that a program that does not read, does not write or writes
//! without end holds up nobody: a request that is not answered in time is an error. Whatever it
//! writes, a few lines are kept and no more. Wall time ends what hangs and decides nothing.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::ProcessError;
use super::text::shown;
use super::watchdog::{Watchdog, own_group};
use crate::policy::decider::CommandLine;

/// Most bytes of an answer: a state of the largest size, with every byte escaped, and the orders.
const LINE_MAX: usize = 8 << 20;

/// Lines of standard error that are shown; more are counted only.
const SHOWN_LINES: usize = 200;

/// Last lines of standard error that an error quotes.
const TAIL: usize = 10;

/// How long a program that has nothing more to do may take to end, and the rest of its standard
/// error to arrive.
const GRACE: Duration = Duration::from_secs(1);

/// Waiting is counted in pieces of this length: while both sides are stopped, say by the machine
/// going to sleep, at most one of them passes.
const SLICE: Duration = Duration::from_millis(100);

/// A scheduler program that runs.
pub(super) struct Child {
    process: std::process::Child,
    /// Ends it with all its children, also when this process is killed.
    watchdog: Option<Watchdog>,
    /// Lines for its standard input, which closes with this end.
    requests: Option<Sender<Vec<u8>>>,
    heard: Receiver<Heard>,
    stderr: Arc<Mutex<Stderr>>,
    /// Ends when its standard error does.
    silence: Receiver<()>,
    failed: bool,
}

/// Output of the program.
enum Heard {
    Line(Vec<u8>),
    TooLong,
    /// Its standard output is closed.
    End,
    /// Its standard input is.
    Deaf,
}

impl Child {
    pub(super) fn start(command: &CommandLine) -> Result<Self, ProcessError> {
        let mut watchdog = Watchdog::start();
        let mut program = Command::new(command.program());
        program.args(command.arguments()).stdin(Stdio::piped());
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = match own_group(&mut program).spawn() {
            Ok(process) => process,
            Err(source) => {
                if let Some(watchdog) = watchdog {
                    watchdog.release();
                }
                return Err(ProcessError::Start {
                    program: command.program().to_owned(),
                    source,
                });
            }
        };
        if let Some(watchdog) = &mut watchdog {
            watchdog.watch(process.id());
        }
        let (requests, lines) = mpsc::channel();
        // Two lines wait at most; a program that writes on is held up by its own pipe.
        let (hear, heard) = mpsc::sync_channel(2);
        let (quiet, silence) = mpsc::channel();
        let stderr = Arc::default();
        if let Some(stdin) = process.stdin.take() {
            let hear = hear.clone();
            thread::spawn(move || write(stdin, &lines, &hear));
        }
        if let Some(stdout) = process.stdout.take() {
            thread::spawn(move || read(stdout, &hear));
        }
        if let Some(pipe) = process.stderr.take() {
            let stderr = Arc::clone(&stderr);
            thread::spawn(move || {
                listen(pipe, &stderr);
                drop(quiet);
            });
        }
        Ok(Self {
            process,
            watchdog,
            requests: Some(requests),
            heard,
            stderr,
            silence,
            failed: false,
        })
    }

    /// Sends a line and returns the one that comes back within the limit.
    pub(super) fn ask(&mut self, line: Vec<u8>, limit: Duration) -> Result<Vec<u8>, ProcessError> {
        match self.heard.try_recv() {
            Err(TryRecvError::Empty) => {}
            Ok(Heard::Line(line)) => return Err(ProcessError::Unasked { line: shown(&line) }),
            Ok(other) => return self.answer(other),
            Err(TryRecvError::Disconnected) => return self.answer(Heard::End),
        }
        if let Some(requests) = &self.requests {
            // Whoever cannot write has said so.
            let _ = requests.send(line);
        }
        let mut left = limit;
        while !left.is_zero() {
            let slice = left.min(SLICE);
            match self.heard.recv_timeout(slice) {
                Ok(heard) => return self.answer(heard),
                Err(RecvTimeoutError::Disconnected) => return self.answer(Heard::End),
                Err(RecvTimeoutError::Timeout) => left -= slice,
            }
        }
        Err(ProcessError::Late {
            limit_s: limit.as_secs_f64(),
            stderr: self.last_words(),
        })
    }

    fn answer(&mut self, heard: Heard) -> Result<Vec<u8>, ProcessError> {
        let stream = match heard {
            Heard::Line(line) => return Ok(line),
            Heard::TooLong => return Err(ProcessError::TooLong { limit: LINE_MAX }),
            Heard::End => "output",
            Heard::Deaf => "input",
        };
        let status = self.ended_within(GRACE);
        // What it said last may still be on its way.
        let _ = self.silence.recv_timeout(GRACE);
        let stderr = self.last_words();
        Err(match status {
            Some(status) => ProcessError::Died { status, stderr },
            None => ProcessError::Closed { stream, stderr },
        })
    }

    /// Waits for the program to end and returns how it did.
    fn ended_within(&mut self, grace: Duration) -> Option<String> {
        let begin = Instant::now();
        loop {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Some(status.to_string());
            }
            if begin.elapsed() >= grace {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn last_words(&self) -> String {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        if stderr.tail.is_empty() {
            return "; it wrote nothing to standard error".to_owned();
        }
        let lines: Vec<String> = stderr.tail.iter().map(|it| format!("\n  {it}")).collect();
        format!("; the last it wrote to standard error:{}", lines.concat())
    }

    /// Notes that the program has failed and is not worth waiting for when it is to end.
    pub(super) const fn give_up(&mut self) {
        self.failed = true;
    }

    /// Returns what it has written to standard error since the last time, as much as is shown.
    pub(super) fn take_warnings(&self) -> Vec<String> {
        let mut stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut stderr.fresh)
    }
}

impl Drop for Child {
    /// Closes its standard input, which ends a program that is well, and ends it otherwise.
    fn drop(&mut self) {
        self.requests = None;
        let grace = if self.failed || thread::panicking() {
            Duration::ZERO
        } else {
            GRACE
        };
        let ended = self.ended_within(grace).is_some();
        match (self.watchdog.take(), ended) {
            (Some(watchdog), true) => watchdog.release(),
            (Some(watchdog), false) => watchdog.kill(),
            (None, _) => {}
        }
        if !ended {
            // It can only have ended by itself in the meantime.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

fn write(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>, hear: &SyncSender<Heard>) {
    for line in lines {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            // Where nobody listens any more, nobody has to know.
            let _ = hear.send(Heard::Deaf);
            return;
        }
    }
}

fn read(stdout: impl Read, hear: &SyncSender<Heard>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let heard = match line(&mut stdout, LINE_MAX) {
            Ok(line) if line.is_empty() => Heard::End,
            Ok(line) if line.len() > LINE_MAX => Heard::TooLong,
            Ok(line) => Heard::Line(line),
            Err(_) => Heard::End,
        };
        let last = !matches!(heard, Heard::Line(_));
        if hear.send(heard).is_err() || last {
            return;
        }
    }
}

/// Reads to the end of a line, or one byte more than `most`.
fn line(from: &mut impl BufRead, most: usize) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(most as u64 + 1).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Standard error of a program.
#[derive(Default)]
struct Stderr {
    /// Lines to be shown.
    fresh: Vec<String>,
    tail: VecDeque<String>,
    lines: usize,
}

impl Stderr {
    fn note(&mut self, line: String) {
        self.lines += 1;
        if self.lines < SHOWN_LINES {
            self.fresh.push(line.clone());
        } else if self.lines == SHOWN_LINES {
            let more = "further lines on standard error are not shown";
            self.fresh.push(more.to_owned());
        }
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }
}

fn listen(pipe: impl Read, stderr: &Mutex<Stderr>) {
    const MOST: usize = 4096;
    let mut pipe = BufReader::new(pipe);
    while let Ok(line) = line(&mut pipe, MOST)
        && !line.is_empty()
    {
        let mut stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
        stderr.note(shown(&line));
    }
}
