//! Why an engine could not work.

use std::path::PathBuf;

use gleaner_files::FileError;

use crate::batch::error::PlanError;

/// Why an engine could not work at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The plan is not in the directory.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The system refused a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A path that other programs are told must be text.
    #[error("{} is not valid Unicode; choose another directory", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// Slurm is not there.
    #[error(
        "cannot start `{command}`: {source}; --engine slurm needs Slurm's commands, which a login \
         node has; on a machine of your own `apt install slurm-wlm` and a slurm.conf"
    )]
    NoSlurm {
        /// What could not be started.
        command: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Slurm refused.
    #[error("`{command}` failed: {said}")]
    Slurm {
        /// The command.
        command: String,
        /// Its last words.
        said: String,
    },
    /// HyperQueue is not there.
    #[error(
        "--engine hyperqueue needs a Python with the package hyperqueue: {problem}; `python3 -m \
         venv hq && hq/bin/pip install hyperqueue`, then --python hq/bin/python"
    )]
    NoHyperqueue {
        /// What was missing.
        problem: String,
    },
    /// HyperQueue ended again and again.
    #[error("HyperQueue ended before its tasks did; its last words are in {}", log.display())]
    Hyperqueue {
        /// Where to look.
        log: PathBuf,
    },
}
