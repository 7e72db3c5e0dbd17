//! Options of the execution engine, common to all studies.

use std::path::PathBuf;

use anyhow::Context;

use super::{threads, word};
use gleaner_experiment::{Engine, EngineOptions, Stopping};

/// Execution engine and its options.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// Execution engine.
    #[arg(long, value_parser = word::parser::<Engine>(), default_value = "local", value_name = "ENGINE")]
    engine: Engine,
    /// Threads: in all with the local engine, 0 meaning one per processor; of each point with the
    /// others, 0 meaning one. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    threads: usize,
    /// Most points at a time with Slurm, or with the HyperQueue that is started here.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max_jobs: Option<usize>,
    /// Time limit of a Slurm task, as in 02:00:00. Before the limit a point stops at a checkpoint and
    /// queues again.
    #[arg(long, value_name = "LIMIT")]
    time: Option<String>,
    /// Seconds before the limit of a Slurm task at which it stops: longer than a round takes.
    #[arg(long, default_value_t = 60, value_name = "S")]
    notice_s: u32,
    /// Further arguments of sbatch, separated by blanks: --slurm-args "--partition=long --mem=2G".
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    slurm_args: Option<String>,
    /// The Python with the package hyperqueue.
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: PathBuf,
    /// The directory of a HyperQueue server that runs already; its workers execute the points.
    #[arg(long, value_name = "DIR")]
    server_dir: Option<PathBuf>,
}

impl EngineArgs {
    pub fn is_local(&self) -> bool {
        self.engine == Engine::Local
    }

    pub fn options(&self) -> anyhow::Result<EngineOptions> {
        let arguments = self.slurm_args.iter().flat_map(|it| it.split_whitespace());
        Ok(EngineOptions {
            engine: self.engine,
            threads: self.threads,
            program: std::env::current_exe().context("cannot find this program")?,
            stopping: Stopping::default(),
            max_jobs: self.max_jobs,
            slurm_time: self.time.clone(),
            slurm_notice_s: self.notice_s,
            slurm_arguments: arguments.map(str::to_owned).collect(),
            python: self.python.clone(),
            server_dir: self.server_dir.clone(),
        })
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("give a number from 1".to_owned()),
    }
}
