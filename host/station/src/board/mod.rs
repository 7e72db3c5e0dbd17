//! One board: a task that keeps its line and session open and carries out a round's work, however
//! often the board disconnects on the way.
//!
//! This file has the commands and results of the task; `booking` has the base station's account of
//! the board and `bounds` what its ledger may be, `session` has the rules, as a state machine
//! without I/O, and `task` drives it with a line and a clock.

pub mod booking;
pub mod bounds;
mod session;
mod task;

pub use task::Handle;

use gleaner_sim::ClientId;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::board::Shape;
use gleaner_shared::energy::{CostModel, EnergyStore, Ledger, Pace, Snapshot};
use gleaner_shared::units::{Micros, PicoJoules};
use gleaner_shared::wire::HostKeys;
use gleaner_shared::wire::link::{Greeting, Timing};
use gleaner_shared::wire::message::{ModelHash, Order, RejectReason, Report, RoundMark, RunId};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::link::Endpoint;

/// The client that a board is, the line to it, and what it must hold.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Number of the client.
    pub client: ClientId,
    /// The line to the board.
    pub endpoint: Endpoint,
    /// Keys, of which the board proves to know one.
    pub keys: HostKeys,
    /// Timeouts of the line.
    pub timing: Timing,
    /// Identifier of the run.
    pub run: RunId,
    /// Seed of the run.
    pub seed: u64,
    /// Energy store of the board.
    pub store: EnergyStore,
    /// Energy of computing, radio and waiting.
    pub cost: CostModel,
    /// Expected cycles of its work.
    pub pace: Pace,
    /// The network that the firmware must be built for.
    pub network: Shape,
    /// Checksum of the shard that the board must hold; `None` accepts any.
    pub shard_crc: Option<u32>,
}

/// The state of a board as of the last closed round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmedState {
    /// Ledger of the board after that round.
    pub ledger: Snapshot,
    /// The last closed round.
    pub last_round: Option<RoundMark>,
    /// The same before that round was closed, for a board that did not hear its end.
    pub before: Option<LastRound>,
}

/// The last closed round of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRound {
    /// Ledger of the board before that round.
    pub ledger: Snapshot,
    /// The order of that round.
    pub order: Order,
}

impl ConfirmedState {
    /// Returns the state before the first round, with `stored` in the store.
    #[must_use]
    pub const fn new(stored: PicoJoules, store: EnergyStore) -> Self {
        Self {
            ledger: Ledger::new(stored, store).snapshot(),
            last_round: None,
            before: None,
        }
    }
}

/// A round's work for one board.
#[derive(Clone, Debug)]
pub struct RoundWork {
    /// The order to send.
    pub order: Order,
    /// The whole model to start from.
    pub model: Arc<[u8]>,
    /// The change since the previous model, with the hash of that one.
    pub update: Option<(ModelHash, Arc<[u8]>)>,
    /// Length of the update that must come back.
    pub upload_bytes: usize,
    /// Wall time for all of the work; neither a new line nor a new session renews it.
    pub limit: Duration,
    /// Whether the first loss of the session ends the work, as it does for a board that failed too
    /// often.
    pub on_trial: bool,
    /// Least wall time of download and upload.
    pub pace: Option<(Duration, Duration)>,
}

/// An update as the board sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The update in the code of the uplink.
    pub bytes: Vec<u8>,
    /// Whether the board declares that a replay can recompute the update to the bit.
    pub exact: bool,
}

/// The result of a round's work.
#[derive(Clone, Debug)]
pub enum WorkResult {
    /// The board sent report and update.
    Done(Box<Report>, Upload),
    /// The board sent no usable update, for this reason.
    Missing(String),
    /// The board declined the order because its energy does not suffice; names the shortfall.
    Declined(String),
}

/// Error of a request to a board outside of rounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The board was not connected in time; the text is the last problem.
    #[error("{0}")]
    NotConnected(String),
    /// The board's task ended.
    #[error("the system has no randomness for a session")]
    TaskEnded,
    /// The echo did not come back within this time.
    #[error("no echo within {} s", .0.as_secs())]
    EchoTimedOut(Duration),
    /// The board rejects the bytes of the echo.
    #[error("{}", session::rejection(*.0))]
    EchoRejected(RejectReason),
    /// The echo is not what was sent.
    #[error("the echo differs: {0}")]
    EchoDiffers(String),
}

/// The end of a round for one board.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// The round and the model it ended with.
    pub mark: RoundMark,
    /// Whether the board's update was aggregated.
    pub counted: bool,
    /// Energy that the board harvests in the round.
    pub income: PicoJoules,
    /// Modelled time from the round's start to that of the next.
    pub period: Micros,
    /// The order that only brings the income, for a board without another one.
    pub rest: Option<Order>,
}

/// A command to a board's task, with the channel for its answer.
#[allow(
    clippy::large_enum_variant,
    reason = "a confirmed state is long, and there is one at a time"
)]
#[derive(Debug)]
pub enum Command {
    /// Carries out a round's work.
    Work(Box<RoundWork>, oneshot::Sender<WorkResult>),
    /// Closes a round and returns the confirmed state.
    Close(Closing, oneshot::Sender<ConfirmedState>),
    /// Restores the state of a checkpoint.
    Restore(ConfirmedState),
    /// Waits until the board has everything it was sent, and ends the task; answers whether it has.
    End(Duration, oneshot::Sender<bool>),
    /// Waits for a session and returns the board's greeting.
    Greet(
        Duration,
        oneshot::Sender<Result<Box<Greeting>, SessionError>>,
    ),
    /// Sends bytes there and back and returns the time it took.
    Echo(
        Arc<[u8]>,
        Duration,
        oneshot::Sender<Result<Duration, SessionError>>,
    ),
}
