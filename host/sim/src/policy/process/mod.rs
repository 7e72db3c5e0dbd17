//! A program of the user's as the scheduler: one JSON object per line in, one decision out.
//!
//! One program per run, started when the run begins and ended with it. It may remember something
//! from round to round in a text of its own, its state: that is part of every checkpoint, and a
//! resumed run hands it back. `docs/guide/schedulers.md` has the protocol.

mod check;
mod child;
mod error;
mod message;
mod text;
mod watchdog;

use std::cell::RefCell;
use std::time::Duration;

use serde::Serialize;

use super::decider::CommandLine;
use super::{Decision, Policy, PolicyError, View};
use child::Child;
use message::{Answer, Averaging, Greeting, Hello, Request, Want};

pub use check::{STATE_MAX, decision_of};
pub use error::ProcessError;
pub use message::{Facts, VERSION};

/// A scheduler that is a program.
pub struct Process {
    command: CommandLine,
    limit: Duration,
    facts: Facts,
    inner: RefCell<Inner>,
}

#[derive(Default)]
struct Inner {
    running: Option<Running>,
    state: String,
    /// Messages that do not come from the running program.
    said: Vec<String>,
}

struct Running {
    child: Child,
    greeting: Greeting,
}

impl Process {
    /// Describes a program; it is started when the first round begins. `limit` is the wall time it
    /// may take for one answer.
    #[must_use]
    pub fn new(command: CommandLine, limit: Duration, facts: Facts) -> Self {
        Self {
            command,
            limit,
            facts,
            inner: RefCell::default(),
        }
    }

    fn start(&self) -> Result<Running, ProcessError> {
        let mut child = Child::start(&self.command)?;
        match self.greet(&mut child) {
            Ok(greeting) => Ok(Running { child, greeting }),
            Err(error) => {
                child.give_up();
                Err(error)
            }
        }
    }

    fn greet(&self, child: &mut Child) -> Result<Greeting, ProcessError> {
        let answer = child.ask(line(&Hello::from(self.facts)), self.limit)?;
        let greeting = check::read(&answer)?;
        check::greeting(&greeting)?;
        Ok(greeting)
    }

    fn ask(&self, inner: &mut Inner, view: &View<'_>) -> Result<Decision, ProcessError> {
        let running = match inner.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        // Put back before anything can fail, so that what it said last can still be had.
        let running = inner.running.insert(running);
        let request = line(&Request::of(view, &inner.state, &running.greeting.wants));
        let answer = running.child.ask(request, self.limit)?;
        let answer: Answer = check::read(&answer)?;
        let decision = check::decision(view.instance, view.round, &answer)?;
        if let Some(note) = &answer.note {
            let (round, note) = (view.round, text::shown(note.as_bytes()));
            inner.said.push(format!("round {round}: {note}"));
        }
        if let Some(state) = answer.state {
            inner.state = state;
        }
        Ok(decision)
    }

    /// Adds the name of the program to an error and ends the program.
    fn failed(&self, inner: &mut Inner, source: ProcessError) -> PolicyError {
        if let Some(Running { mut child, .. }) = inner.running.take() {
            inner.said.extend(child.take_warnings());
            child.give_up();
        }
        PolicyError::Process {
            command: self.command.to_string(),
            source,
        }
    }

    fn wants(&self, want: Want) -> bool {
        let inner = self.inner.borrow();
        let running = inner.running.as_ref();
        running.is_some_and(|running| running.greeting.wants.contains(&want))
    }
}

/// Writes a message with its line break.
fn line(message: &impl Serialize) -> Vec<u8> {
    // Plain data of known types always serialises.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

impl Policy for Process {
    fn begin(&self, memory: &str) -> Result<(), PolicyError> {
        let inner = &mut *self.inner.borrow_mut();
        memory.clone_into(&mut inner.state);
        match self.start() {
            Ok(running) => {
                inner.running = Some(running);
                Ok(())
            }
            Err(error) => Err(self.failed(inner, error)),
        }
    }

    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let inner = &mut *self.inner.borrow_mut();
        let decision = self.ask(inner, view);
        decision.map_err(|error| self.failed(inner, error))
    }

    fn wants_gradient_norms(&self) -> bool {
        self.wants(Want::GradientNorms)
    }

    fn wants_estimates(&self) -> bool {
        self.wants(Want::Estimates)
    }

    fn wants_nova(&self) -> bool {
        let inner = self.inner.borrow();
        let running = inner.running.as_ref();
        running.is_some_and(|running| running.greeting.aggregation == Averaging::Nova)
    }

    fn memory(&self) -> String {
        self.inner.borrow().state.clone()
    }

    fn name(&self) -> Option<String> {
        self.inner.borrow().running.as_ref()?.greeting.name.clone()
    }

    fn take_warnings(&self) -> Vec<String> {
        let inner = &mut *self.inner.borrow_mut();
        let mut said = std::mem::take(&mut inner.said);
        if let Some(running) = &inner.running {
            said.extend(running.child.take_warnings());
        }
        said
    }
}
