//! The option that permits programs named in files: scenarios, sweeps, directories of runs.

use std::path::Path;

use gleaner_sim::scenario::{Override, Scenario, ScenarioError};

/// Permission for programs that files name.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct AllowArgs {
    /// Start the programs that a scenario, a sweep or the directory of a run names with
    /// `process:COMMAND`; read the file first. A command in the options needs no permission.
    #[arg(long)]
    allow_process: bool,
}

impl AllowArgs {
    /// Refuses a scenario from a file or a directory that names a program, without permission; keys
    /// that are `given` in the options need none.
    ///
    /// # Errors
    /// Names the file, the key, its value and the option.
    pub fn check(
        self,
        file: impl AsRef<Path>,
        scenario: &Scenario,
        given: &[Override],
    ) -> Result<(), ScenarioError> {
        match self.allow_process {
            true => Ok(()),
            false => scenario.check_programs(&file.as_ref().display().to_string(), given),
        }
    }
}
