//! The world of a run in its directory: the traces of its channel and of its harvest are copied
//! there before the first round, and belong to what a checkpoint knows its run by.

use std::fs;

use super::copy::Copy;
use super::directory::RunDirectory;
use super::error::RunError;
use crate::round::{World, WorldError, channel, world};
use crate::scenario::Scenario;
use gleaner_cre::channel::TraceError;
use gleaner_energy::harvest;
use gleaner_files::sha256;

const CHANNEL: Copy = Copy {
    name: RunDirectory::CHANNEL,
    staged: RunDirectory::STAGED_CHANNEL,
};
const HARVEST: Copy = Copy {
    name: RunDirectory::HARVEST,
    staged: RunDirectory::STAGED_HARVEST,
};

/// The files a scenario names, as they are now or as a run's directory has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    channel: Option<Vec<u8>>,
    harvest: Option<Vec<u8>>,
}

impl Traces {
    /// Reads the files that a scenario names and checks that they cover the run.
    ///
    /// # Errors
    /// Names the file and what is wrong with it or missing in it.
    pub fn checked(scenario: &Scenario) -> Result<Self, RunError> {
        let traces = Self::of(scenario)?;
        traces.world(scenario, &scenario.channel.trace, &scenario.harvest.file)?;
        Ok(traces)
    }

    /// Says whether the run in a directory was started with the files that its scenario names now.
    ///
    /// # Errors
    /// Names the file that cannot be read.
    pub fn are_unchanged(scenario: &Scenario, directory: &RunDirectory) -> Result<bool, RunError> {
        Ok(Self::of(scenario)? == Self::kept(scenario, directory)?)
    }

    fn of(scenario: &Scenario) -> Result<Self, RunError> {
        let path = &scenario.channel.trace;
        let read = |name: &String| {
            fs::read(name).map_err(|source| TraceError::Read {
                name: name.clone(),
                source,
            })
        };
        let channel = (!path.is_empty()).then(|| read(path)).transpose();
        Ok(Self {
            channel: channel.map_err(WorldError::from)?,
            harvest: harvest::read(&scenario.income_settings()).map_err(WorldError::from)?,
        })
    }

    fn kept(scenario: &Scenario, directory: &RunDirectory) -> Result<Self, RunError> {
        let kept = |wanted: bool, copy: Copy| wanted.then(|| copy.read(directory)).transpose();
        Ok(Self {
            channel: kept(!scenario.channel.trace.is_empty(), CHANNEL)?,
            harvest: kept(scenario.harvest.source.has_file(), HARVEST)?,
        })
    }

    fn world(
        &self,
        scenario: &Scenario,
        channel_name: &str,
        harvest_name: &str,
    ) -> Result<World, WorldError> {
        Ok(World {
            channel: match &self.channel {
                Some(trace) => channel::traced(scenario, channel_name, &trace[..])?,
                None => channel::of(scenario)?,
            },
            harvest: match &self.harvest {
                Some(trace) => world::harvest_from(scenario, harvest_name, trace)?,
                None => world::harvest(scenario)?,
            },
        })
    }

    /// Puts the files into a directory that is still to become that of a run.
    pub(super) fn stage(&self, directory: &RunDirectory) -> Result<(), RunError> {
        for (copy, content) in self.copies() {
            copy.stage(content, directory)?;
        }
        Ok(())
    }

    /// Gives the staged files their names, once the scenario stands beside them.
    pub(super) fn settle(&self, directory: &RunDirectory) -> Result<(), RunError> {
        for (copy, _) in self.copies() {
            copy.settle(directory)?;
        }
        Ok(())
    }

    fn copies(&self) -> impl Iterator<Item = (Copy, &[u8])> {
        let both = [(CHANNEL, &self.channel), (HARVEST, &self.harvest)];
        both.into_iter()
            .filter_map(|(copy, content)| Some((copy, content.as_deref()?)))
    }
}

/// Returns the world of the run in a directory.
///
/// # Errors
/// Names the copy of the trace and what is wrong with it.
pub fn world_of(scenario: &Scenario, directory: &RunDirectory) -> Result<World, RunError> {
    let name = |copy: Copy| directory.file(copy.name).display().to_string();
    let traces = Traces::kept(scenario, directory)?;
    Ok(traces.world(scenario, &name(CHANNEL), &name(HARVEST))?)
}

/// Returns what a checkpoint knows its run by: the hash of the scenario and of its traces, if any.
pub(super) fn fingerprint(
    scenario: &Scenario,
    directory: &RunDirectory,
) -> Result<[u8; 32], RunError> {
    let traces = Traces::kept(scenario, directory)?;
    let mut content = scenario.to_toml().into_bytes();
    content.extend(traces.channel.unwrap_or_default());
    content.extend(traces.harvest.unwrap_or_default());
    Ok(sha256(&content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Override, resolve};

    #[test]
    fn a_run_keeps_the_trace_it_began_with_and_knows_another() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("light.csv");
        fs::write(&trace, "t_s,p_w\n0,0.5\n10,0.5\n").unwrap();
        let sets = [
            Override::new("harvest.source", "trace"),
            Override::new("harvest.file", trace.display().to_string()),
        ];
        let scenario = resolve("paper-mlp", &sets).unwrap();
        let directory = RunDirectory::new(folder.path().join("run"));
        fs::create_dir(directory.path()).unwrap();
        let traces = Traces::checked(&scenario).unwrap();
        traces.stage(&directory).unwrap();
        traces.settle(&directory).unwrap();
        let before = fingerprint(&scenario, &directory).unwrap();
        let income = |directory| {
            let world = world_of(&scenario, directory).unwrap();
            world.harvest.income(0, 1)
        };
        let first = income(&directory);
        assert!(Traces::are_unchanged(&scenario, &directory).unwrap());

        fs::write(&trace, "t_s,p_w\n0,0.1\n10,0.1\n").unwrap();
        assert!(!Traces::are_unchanged(&scenario, &directory).unwrap());
        assert_eq!(income(&directory), first);
        assert_eq!(fingerprint(&scenario, &directory).unwrap(), before);

        fs::write(directory.file(RunDirectory::HARVEST), "t_s,p_w\n0,1\n9,1\n").unwrap();
        assert_ne!(fingerprint(&scenario, &directory).unwrap(), before);
        fs::write(directory.file(RunDirectory::HARVEST), "t_s,p_w\n0,x\n").unwrap();
        let refused = world_of(&scenario, &directory).unwrap_err().to_string();
        assert!(refused.contains("harvest.csv:2"), "{refused}");
    }
}
