//! One board: a task that keeps its line and session open and carries out a round's work, however
//! often the board vanishes on the way.
//!
//! Here is what the task is told and what it answers; `session` has the rules, as a state machine
//! without I/O, and `task` drives it with a line and a clock.

mod session;
mod task;

pub use task::run;

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::board::Shape;
use gleaner_shared::energy::{CostModel, Ledger, Reservoir, Snapshot};
use gleaner_shared::units::{Micros, PicoJoules};
use gleaner_shared::wire::HostKeys;
use gleaner_shared::wire::link::{Greeting, Timing};
use gleaner_shared::wire::message::{ModelHash, Order, Report, RoundMark, RunId};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::link::Endpoint;

/// Who a board is and how it is reached.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The client it plays.
    pub client: u32,
    /// Where it is.
    pub endpoint: Endpoint,
    /// What it proves to know one of.
    pub keys: HostKeys,
    /// How long to wait for what on its line.
    pub timing: Timing,
    /// The run.
    pub run: RunId,
    /// The seed of the run.
    pub seed: u64,
    /// Its store.
    pub store: Reservoir,
    /// What its work costs.
    pub cost: CostModel,
    /// The network it must be built for.
    pub network: Shape,
    /// The shard it must hold, by checksum; `None` takes any.
    pub shard_crc: Option<u32>,
}

/// What the base station has confirmed of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmedState {
    /// Its ledger.
    pub ledger: Snapshot,
    /// The last round that was closed.
    pub last_round: Option<RoundMark>,
}

impl ConfirmedState {
    /// A store with so much in it before the first round.
    #[must_use]
    pub const fn new(stored: PicoJoules, store: Reservoir) -> Self {
        Self {
            ledger: Ledger::new(stored, store).snapshot(),
            last_round: None,
        }
    }
}

/// How long each part of a round may take by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Being there and provisioned.
    pub connect: Duration,
    /// The way of the model to the board and its answer to the order.
    pub download: Duration,
    /// Training, for each epoch ordered.
    pub epoch: Duration,
    /// The way of the update to the base station.
    pub upload: Duration,
}

impl Limits {
    fn training(&self, epochs: u16) -> Duration {
        self.epoch * u32::from(epochs.max(1))
    }

    /// All phases together.
    fn whole(&self, epochs: u16) -> Duration {
        self.connect + self.download + self.training(epochs) + self.upload
    }
}

/// A round's work for one board.
#[derive(Clone, Debug)]
pub struct RoundWork {
    /// The order.
    pub order: Order,
    /// The whole model to start from.
    pub model: Arc<[u8]>,
    /// The change from the model of that hash, if there was one.
    pub update: Option<(ModelHash, Arc<[u8]>)>,
    /// Bytes of the update that must come back.
    pub upload_bytes: usize,
    /// Limits of wall time.
    pub limits: Limits,
    /// Wall time the way down and the way up take at least.
    pub pace: Option<(Duration, Duration)>,
}

/// An update as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether the client says that anyone can recompute it to the bit.
    pub exact: bool,
}

/// What came of a round's work.
#[derive(Clone, Debug)]
pub enum WorkResult {
    /// The report and the update.
    Done(Box<Report>, Upload),
    /// Nothing usable, and why.
    Missing(String),
    /// Nothing begun, for the board cannot pay, and what is missing.
    Declined(String),
}

/// The end of a round for one board.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// The round and the model it ended with.
    pub mark: RoundMark,
    /// Whether this board's update is part of it.
    pub counted: bool,
    /// What the board harvests in it.
    pub income: PicoJoules,
    /// Modelled time from its start to that of the next.
    pub period: Micros,
    /// The order that only brings the income, for a board that had no other.
    pub rest: Option<Order>,
}

/// What a board's task is told.
#[derive(Debug)]
pub enum Command {
    /// Carries out a round's work.
    Work(Box<RoundWork>, oneshot::Sender<WorkResult>),
    /// Closes a round; answers with what is confirmed.
    Close(Closing, oneshot::Sender<ConfirmedState>),
    /// Goes back to a checkpoint.
    Restore(ConfirmedState),
    /// Waits for a session and returns what the board is.
    Greet(Duration, oneshot::Sender<Result<Box<Greeting>, String>>),
    /// Sends bytes there and back and returns how long it took.
    Echo(
        Arc<[u8]>,
        Duration,
        oneshot::Sender<Result<Duration, String>>,
    ),
}
