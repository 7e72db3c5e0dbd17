//! The trace files a run reads, its channel gains and its harvest, and the secret of its noise.
//!
//! All are written into the run's directory before the first round, so that resuming and verifying read
//! the copies, and a checkpoint is tied to their content.

use std::fs;
use std::io::Write;

use super::directory::RunDirectory;
use super::error::RunError;
use super::noise;
use crate::round::{Environment, EnvironmentError, NoiseKey, environment};
use crate::scenario::Scenario;
use gleaner_energy::harvest;
use gleaner_files::{FileError, read_at_most, sha256, sync_parent};

/// The trace files of a run, and the environment built from them.
#[derive(Clone, Debug)]
pub struct Inputs {
    traces: Traces,
    /// The text of the file with the noise's secret, where there is one.
    secret: Option<String>,
    environment: Environment,
}

/// The bytes of the trace files; `None` where the scenario names no file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Traces {
    channel: Option<Vec<u8>>,
    harvest: Option<Vec<u8>>,
}

impl Inputs {
    /// Reads the trace files that a scenario names and checks that they cover the run.
    ///
    /// # Errors
    /// Names the file and what is wrong with it or missing in it.
    pub fn read(scenario: &Scenario) -> Result<Self, RunError> {
        let traces = Traces::named(scenario)?;
        let names = (&*scenario.channel.trace, &*scenario.harvest.file);
        let mut inputs = traces.with_environment(scenario, names)?;
        if noise::is_secret(scenario) {
            inputs.keep(noise::draw()?);
        }
        Ok(inputs)
    }

    /// Reads the copies of the trace files in the directory of a run.
    ///
    /// # Errors
    /// Names the copy and what is wrong with it.
    pub fn kept(scenario: &Scenario, directory: &RunDirectory) -> Result<Self, RunError> {
        let name = |name| directory.file(name).display().to_string();
        let names = (name(RunDirectory::CHANNEL), name(RunDirectory::HARVEST));
        let traces = Traces::kept(scenario, directory)?;
        let mut inputs = traces.with_environment(scenario, (&names.0, &names.1))?;
        if noise::is_secret(scenario) {
            inputs.keep(noise::read(directory)?);
        }
        Ok(inputs)
    }

    /// Says whether the run in a directory was started with the files that its scenario names now.
    ///
    /// # Errors
    /// Names the file that cannot be read.
    pub fn are_unchanged(scenario: &Scenario, directory: &RunDirectory) -> Result<bool, RunError> {
        Ok(Traces::named(scenario)? == Traces::kept(scenario, directory)?)
    }

    fn keep(&mut self, key: NoiseKey) {
        self.secret = Some(noise::text(&key));
        self.environment.noise = Some(key);
    }

    /// Returns the channel, the harvest and the noise of the run.
    #[must_use]
    pub fn into_environment(self) -> Environment {
        self.environment
    }

    /// Returns the hash of the text of a scenario and of the trace files, to which checkpoints are tied.
    pub(super) fn fingerprint(&self, scenario: &str) -> [u8; 32] {
        let mut content = scenario.as_bytes().to_vec();
        for (_, _, trace) in self.traces.copies() {
            content.extend(trace);
        }
        content.extend(self.secret.iter().flat_map(|text| text.bytes()));
        sha256(&content)
    }

    /// Copies the files under temporary names into a directory that has no scenario yet.
    pub(super) fn stage(&self, directory: &RunDirectory) -> Result<(), FileError> {
        for (_, staged, content) in self.traces.copies() {
            let file = directory.file(staged);
            let write = || {
                let mut staged = gleaner_files::create_anew(&file)?;
                staged.write_all(content)?;
                staged.sync_all()
            };
            write().map_err(gleaner_files::at(&file))?;
        }
        if let Some(text) = &self.secret {
            noise::stage(directory, text)?;
        }
        Ok(())
    }

    /// Gives the copies their final names, once the scenario is written.
    pub(super) fn settle(&self, directory: &RunDirectory) -> Result<(), FileError> {
        for (name, staged, _) in self.traces.copies() {
            settle(directory, name, staged)?;
        }
        if self.secret.is_some() {
            settle(directory, RunDirectory::NOISE, RunDirectory::STAGED_NOISE)?;
        }
        Ok(())
    }
}

impl Traces {
    fn named(scenario: &Scenario) -> Result<Self, EnvironmentError> {
        let path = &scenario.channel.trace;
        let channel = (!path.is_empty()).then(|| environment::read_gains(path));
        Ok(Self {
            channel: channel.transpose()?,
            harvest: harvest::read(&scenario.income_settings())?,
        })
    }

    fn kept(scenario: &Scenario, directory: &RunDirectory) -> Result<Self, FileError> {
        let read = |name: &'static str, staged| {
            let copy = directory.file(name);
            // A crash may have come between the scenario and the renaming.
            if !copy.exists() && directory.file(staged).exists() {
                settle(directory, name, staged)?;
            }
            read_at_most(&copy, environment::TRACE_MAX).map_err(gleaner_files::at(&copy))
        };
        let (channel, harvest) = (
            !scenario.channel.trace.is_empty(),
            scenario.harvest.source.has_file(),
        );
        Ok(Self {
            channel: channel
                .then(|| read(RunDirectory::CHANNEL, RunDirectory::STAGED_CHANNEL))
                .transpose()?,
            harvest: harvest
                .then(|| read(RunDirectory::HARVEST, RunDirectory::STAGED_HARVEST))
                .transpose()?,
        })
    }

    /// Builds the environment; errors name the files as `names` does.
    fn with_environment(
        self,
        scenario: &Scenario,
        (channel_name, harvest_name): (&str, &str),
    ) -> Result<Inputs, EnvironmentError> {
        let environment = Environment {
            channel: match &self.channel {
                Some(trace) => environment::channel_from(scenario, channel_name, &trace[..])?,
                None => environment::channel(scenario)?,
            },
            harvest: match &self.harvest {
                Some(trace) => environment::harvest_from(scenario, harvest_name, trace)?,
                None => environment::harvest(scenario)?,
            },
            noise: None,
        };
        Ok(Inputs {
            traces: self,
            secret: None,
            environment,
        })
    }

    /// Returns the final name, the temporary name and the content of each copy.
    fn copies(&self) -> impl Iterator<Item = (&'static str, &'static str, &[u8])> {
        let channel = self.channel.as_deref().map(|content| {
            let (name, staged) = (RunDirectory::CHANNEL, RunDirectory::STAGED_CHANNEL);
            (name, staged, content)
        });
        let harvest = self.harvest.as_deref().map(|content| {
            let (name, staged) = (RunDirectory::HARVEST, RunDirectory::STAGED_HARVEST);
            (name, staged, content)
        });
        channel.into_iter().chain(harvest)
    }
}

pub(super) fn settle(directory: &RunDirectory, name: &str, staged: &str) -> Result<(), FileError> {
    let copy = directory.file(name);
    fs::rename(directory.file(staged), &copy).map_err(gleaner_files::at(&copy))?;
    sync_parent(&copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Override, resolve};

    fn solar(folder: &std::path::Path) -> (Scenario, std::path::PathBuf) {
        let trace = folder.join("light.csv");
        fs::write(&trace, "t_s,p_w\n0,0.5\n10,0.5\n").unwrap();
        let sets = [
            Override::new("harvest.source", "trace"),
            Override::new("harvest.file", trace.display().to_string()),
        ];
        (resolve("paper-mlp", &sets).unwrap(), trace)
    }

    #[test]
    fn a_run_keeps_its_first_trace_and_detects_another() {
        let folder = tempfile::tempdir().unwrap();
        let (scenario, trace) = solar(folder.path());
        let directory = RunDirectory::new(folder.path().join("run"));
        fs::create_dir(directory.path()).unwrap();
        let inputs = Inputs::read(&scenario).unwrap();
        inputs.stage(&directory).unwrap();
        inputs.settle(&directory).unwrap();
        let kept = || Inputs::kept(&scenario, &directory).unwrap();
        let income = || kept().environment.harvest.income(0, 1);
        let (before, first) = (kept().fingerprint(""), income());
        assert!(Inputs::are_unchanged(&scenario, &directory).unwrap());

        fs::write(&trace, "t_s,p_w\n0,0.1\n10,0.1\n").unwrap();
        assert!(!Inputs::are_unchanged(&scenario, &directory).unwrap());
        assert_eq!(income(), first);
        assert_eq!(kept().fingerprint(""), before);

        let copy = directory.file(RunDirectory::HARVEST);
        fs::write(&copy, "t_s,p_w\n0,1\n9,1\n").unwrap();
        assert_ne!(kept().fingerprint(""), before);
        fs::write(&copy, "t_s,p_w\n0,x\n").unwrap();
        let refused = Inputs::kept(&scenario, &directory).unwrap_err().to_string();
        assert!(refused.contains("harvest.csv:2"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_staged_copy_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (scenario, trace) = solar(folder.path());
        let other = folder.path().join("other");
        fs::write(&other, "mine").unwrap();
        let directory = RunDirectory::new(folder.path().join("run"));
        fs::create_dir(directory.path()).unwrap();
        let staged = directory.file(RunDirectory::STAGED_HARVEST);
        std::os::unix::fs::symlink(&other, &staged).unwrap();
        Inputs::read(&scenario).unwrap().stage(&directory).unwrap();
        assert_eq!(fs::read(&staged).unwrap(), fs::read(&trace).unwrap());
        assert_eq!(fs::read(&other).unwrap(), b"mine");
    }
}
