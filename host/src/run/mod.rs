//! Runs: a directory per run, logs that grow by whole rounds, checkpoints, and resuming.
//!
//! | file | what |
//! |---|---|
//! | `scenario.toml` | the resolved scenario; with the data it determines everything else |
//! | `channel.csv` | the trace the gains were read from; not there if they were drawn |
//! | `rounds.jsonl`, `clients.csv` | one line per round, one row per client and round |
//! | `checkpoint.bin`, `checkpoint.previous.bin` | the state after a round, hashed |
//! | `model.safetensors` | the final model |
//! | `SHA256SUMS` | digests of the reproducible files; its presence means the run is complete |
//! | `environment.json` | where, when and how fast: what differs between equal runs |
//! | `report.html`, `plots/*.svg` | the report |

mod channel;
mod checkpoint;
mod digest;
mod directory;
mod environment;
mod error;
mod execute;
mod log;
mod pool;
mod record;
mod safetensors;
mod summary;

pub use channel::channel_of;
pub use checkpoint::{Checkpoint, CheckpointError};
pub use digest::{hexadecimal, sha256};
pub use directory::{RunDirectory, write_atomically};
pub use environment::{Environment, peak_memory_mb};
pub use error::RunError;
pub use execute::{
    Observer, Outcome, Silent, about, check_vacant, execute, outcome_of, prepare, resume,
    scenario_of, start, summary_of,
};
pub use log::{CLIENT_COLUMNS, LogError, Logs, read_clients, read_rounds};
pub use pool::{Job, JobError, run_all, thread_count};
pub use record::record_channel;
pub use safetensors::encode_model;
pub use summary::{Summary, jain, participations};
