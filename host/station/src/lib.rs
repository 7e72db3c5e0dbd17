//! The base station over real links: a task per board, and the boards as a fleet for the round
//! engine.
//!
//! Layers, lowest first:
//! - [`text`]: what a board says of itself, fit to be shown.
//! - [`event`], [`bus`], [`log`]: what happens, its way to whoever follows, within the budget of each
//!   board, and `events.jsonl`.
//! - [`link`], [`peer`]: a line to a board, and the wire protocol driven over it; [`door`]: where
//!   boards open lines themselves; [`rekey`]: a new key over a line.
//! - [`board`]: one board, kept at work; its session is a state machine without I/O.
//! - [`stored_updates`]: what clients sent that nobody can recompute.
//! - [`fleet`], [`replay`]: all boards and simulated clients as a fleet for the engine, and the
//!   same fleet once more from the log.
//! - [`setup`], [`execute`], [`doctor`]: from a scenario and a list of boards to a run, or to a
//!   diagnosis.

pub mod board;
pub mod bus;
mod cycles;
pub mod demo;
pub mod device;
pub mod doctor;
pub mod event;
pub mod execute;
pub mod fleet;
pub mod fleet_file;
pub mod ledgers;
pub mod link;
pub mod listener;
pub mod log;
pub mod peer;
mod rate_limit;
pub mod replay;
pub mod service;
pub mod setup;
pub mod stop;
pub mod stored_updates;
pub mod text;

pub use cycles::cycles_warning;
pub use ledgers::{LEDGERS, ledgers_table, mismatched_boards, report_sections};

use std::future::Future;
use std::time::Duration;

use gleaner_shared::wire::link::Greeting;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use board::{Closing, Command, ConfirmedState, Identity, RoundWork, SessionError, WorkResult};
use bus::EventSender;

/// A board's task, from outside. Dropping it ends the task and closes the line.
#[derive(Debug)]
pub struct Handle {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<()>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Handle {
    /// Starts the task on the current runtime.
    #[must_use]
    pub fn spawn(identity: Identity, confirmed: ConfirmedState, events: EventSender) -> Self {
        let (commands, receiver) = mpsc::channel(4);
        let task = tokio::spawn(board::run(identity, confirmed, receiver, events));
        Self { commands, task }
    }

    /// Carries out a round's work.
    pub async fn work(&self, job: RoundWork) -> WorkResult {
        let asked = self
            .ask(|answer| Command::Work(Box::new(job), answer))
            .await;
        asked.unwrap_or_else(|| WorkResult::Missing(SessionError::TaskEnded.to_string()))
    }

    /// Closes a round and returns what is confirmed of the board, unless its task is gone.
    pub async fn close(&self, closing: Closing) -> Option<ConfirmedState> {
        self.ask(|answer| Command::Close(closing, answer)).await
    }

    /// Goes back to a checkpoint.
    pub async fn restore(&self, confirmed: ConfirmedState) {
        // A task that is gone has nothing to restore.
        let _ = self.commands.send(Command::Restore(confirmed)).await;
    }

    /// Waits for a session.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn greet(&self, limit: Duration) -> Result<Box<Greeting>, SessionError> {
        let asked = self.ask(|answer| Command::Greet(limit, answer)).await;
        asked.unwrap_or(Err(SessionError::TaskEnded))
    }

    /// Sends bytes there and back.
    ///
    /// # Errors
    /// What went wrong.
    pub async fn echo(&self, bytes: &[u8], limit: Duration) -> Result<Duration, SessionError> {
        let asked = self
            .ask(|answer| Command::Echo(bytes.into(), limit, answer))
            .await;
        asked.unwrap_or(Err(SessionError::TaskEnded))
    }

    fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> impl Future<Output = Option<T>> {
        let (answer, answered) = oneshot::channel();
        let command = command(answer);
        async move {
            self.commands.send(command).await.ok()?;
            answered.await.ok()
        }
    }
}
