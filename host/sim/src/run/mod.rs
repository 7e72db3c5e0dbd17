//! One run: its directory, logs that grow by whole rounds, checkpoints, resuming, and the figures it
//! is judged by.
//!
//! [`Run`] creates or resumes a run and drives it to its end; [`RunDirectory`] lists the files it
//! writes. A run writes no report: its caller does, with [`report::write_run`](crate::report::write_run).

mod checkpoint;
mod directory;
mod error;
mod execute;
mod identity;
mod inputs;
mod log;
mod noise;
mod peak;
mod processor;
mod provenance;
mod record;
mod safetensors;
mod split;
mod summary;

pub use checkpoint::Checkpoint;
pub use directory::RunDirectory;
pub use error::RunError;
pub use execute::{Completed, Observer, Run, Silent, model_metadata, scenario_of};
pub use identity::{new_id, run_id};
pub use inputs::Inputs;
pub use log::{LogError, LogPrefixes, each_client, each_energy, each_round, read_rounds};
pub use peak::PeakRates;
pub use provenance::{Program, ProgramFile, Provenance, peak_memory_mb, thread_count};
pub use record::record_channel;
pub use safetensors::{ModelFileError, decode_model, encode_model};
pub use split::{EnergySplit, EnergyUse};
pub use summary::{Summary, Tally};
