//! The options of commands whose points any engine can make.

use anyhow::Context;

use super::{threads, word};
use gleaner_host::study::batch::{Engine, EngineOptions};

/// Who makes the points, and how.
#[derive(Debug, clap::Args)]
pub struct EngineArgs {
    /// Who makes the points.
    #[arg(long, value_parser = word::parser::<Engine>(), default_value = "local", value_name = "ENGINE")]
    engine: Engine,
    /// Threads: in all with the local engine, 0 meaning one per processor; of each point with the
    /// others, 0 meaning one. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    threads: usize,
}

impl EngineArgs {
    /// Returns what the options say.
    ///
    /// # Errors
    /// When this program cannot be found again for workers to start.
    pub fn options(&self) -> anyhow::Result<EngineOptions> {
        let _ = std::env::current_exe().context("cannot find this program")?;
        Ok(EngineOptions {
            engine: self.engine,
            threads: self.threads,
        })
    }
}
