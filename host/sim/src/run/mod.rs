//! One run: its directory, logs that grow by whole rounds, checkpoints, resuming, and the figures it
//! is judged by.
//!
//! A run writes no report; whoever ordered it does (`report::write_run`).
//!
//! | file | what |
//! |---|---|
//! | `scenario.toml` | the resolved scenario; with the data it determines everything else |
//! | `channel.csv` | the trace the gains were read from; not there if they were drawn |
//! | `harvest.csv` | the trace the incomes were read from; not there if the source has none |
//! | `run-id` | what its boards tell its work by; only where there are boards |
//! | `rounds.jsonl`, `clients.csv` | one line per round, one row per client and round |
//! | `energy.csv` | every client's energy by phase; not there under the paper's books |
//! | `checkpoint.bin`, `checkpoint.previous.bin` | the state after a round, hashed |
//! | `model.safetensors` | the final model |
//! | `SHA256SUMS` | digests of the reproducible files; its presence means the run is complete |
//! | `environment.json` | where, when and how fast: what differs between equal runs |
//! | `report.html`, `plots/*.svg` | the report, once somebody has made it |
//! | `tensorboard/` | the rounds as TensorBoard reads them, where asked for |

mod adopt;
mod checkpoint;
mod copy;
mod directory;
mod environment;
mod error;
mod execute;
mod identity;
mod log;
mod record;
mod safetensors;
mod split;
mod summary;
mod world;

pub use adopt::adopt;
pub use checkpoint::Checkpoint;
pub use directory::RunDirectory;
pub use environment::{Environment, Program, ProgramFile, peak_memory_mb, thread_count};
pub use error::RunError;
pub use execute::{
    Completed, Observer, Silent, about, check_vacant, draft, execute, prepare, resume, scenario_of,
    start,
};
pub use identity::{new_id, run_id};
pub use log::{Lengths, LogError, each_client, each_energy, each_round, read_rounds};
pub use record::record_channel;
pub use safetensors::{ModelFileError, decode_model, encode_model};
pub use split::EnergySplit;
pub use summary::{Summary, Tally};
pub use world::{Traces, world_of};
