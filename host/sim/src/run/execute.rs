//! One run: creating, resuming and completing it.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner_files::{
    FileError, hexadecimal, open_regular, read_text, sha256, sha256_of, sync_parent,
    write_atomically, write_unsynced,
};

use super::checkpoint::Checkpoint;
use super::directory::RunDirectory;
use super::error::RunError;
use super::inputs::Inputs;
use super::log::{LogPrefixes, Logs};
use super::processor::ProcessorTime;
use super::provenance::{Program, Provenance, thread_count};
use super::safetensors::encode_model;
use super::summary::{Summary, Tally};
use crate::fleet::Deployment;
use crate::round::{Engine, EngineError, Environment, RoundLog};
use crate::scenario::{Scenario, resolve_text};

/// Is told about the progress of a run.
pub trait Observer {
    /// The rounds begin; `done` of them are finished already.
    fn started(&mut self, _done: usize, _total: usize) {}
    /// A round is finished.
    fn round(&mut self, _log: &RoundLog) {}
    /// The last round is finished; only files remain to be written.
    fn ended(&mut self) {}
    /// A message that does not stop the run.
    fn notice(&mut self, _text: &str) {}
    /// Returns whether the run is to stop after this round, with a checkpoint to resume from.
    fn pauses(&mut self) -> bool {
        false
    }
}

/// An observer that ignores everything.
pub struct Silent;

impl Observer for Silent {}

/// The result of a completed run.
#[derive(Clone, Debug, PartialEq)]
pub struct Completed {
    /// The figures of the run.
    pub summary: Summary,
    /// SHA-256 of the final model file.
    pub model_sha256: String,
    /// Wall time of the rounds of this session.
    pub wall: Duration,
}

/// A run of a scenario in its directory, at its first round or at a checkpoint.
///
/// ```
/// use gleaner_sim::run::{Run, RunDirectory, Silent};
/// use gleaner_sim::{fleet, scenario};
///
/// let fewer = ["run.rounds=2", "partition.mean_samples=20", "data.test_samples=50"];
/// let fewer = fewer.map(|set| set.parse().expect("key=value"));
/// let scenario = scenario::resolve("paper-mlp", &fewer)?;
/// let data = fleet::load_data(&scenario)?;
/// let mut clients = fleet::build(&scenario, &data, 1)?;
/// let folder = tempfile::tempdir()?;
/// let directory = RunDirectory::new(folder.path());
/// let completed = Run::create(&scenario, &directory, 1, &mut Silent)?.drive(&mut clients)?;
/// assert_eq!(completed.summary.rounds, 2);
/// assert!(directory.is_complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run<'a> {
    scenario: &'a Scenario,
    directory: &'a RunDirectory,
    threads: usize,
    observer: &'a mut dyn Observer,
    environment: Environment,
    fingerprint: [u8; 32],
    checkpoint: Option<Checkpoint>,
    /// Processor time of earlier sessions, where it is known.
    earlier_s: Option<f64>,
    is_new: bool,
    directory_existed: bool,
}

impl<'a> Run<'a> {
    /// Makes an empty directory the directory of a run.
    ///
    /// # Errors
    /// An occupied directory, one that cannot be written to, or a trace that does not cover the run;
    /// the last leaves nothing behind.
    pub fn create(
        scenario: &'a Scenario,
        directory: &'a RunDirectory,
        threads: usize,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, RunError> {
        directory.check_vacant()?;
        Self::create_with(
            scenario,
            Inputs::read(scenario)?,
            directory,
            threads,
            observer,
        )
    }

    /// As [`Run::create`], with the traces read before.
    ///
    /// # Errors
    /// As [`Run::create`].
    pub fn create_with(
        scenario: &'a Scenario,
        inputs: Inputs,
        directory: &'a RunDirectory,
        threads: usize,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, RunError> {
        write_scenario(scenario, &inputs, directory, |path, text| {
            sync_parent(directory.path())?;
            write_atomically(path, text)
        })
        .map(|existed| Self::new(scenario, inputs, directory, threads, observer, existed))
    }

    /// As [`Run::create`], without waiting for the disk: a power cut may lose the directory before
    /// it has a checkpoint or is complete.
    ///
    /// # Errors
    /// As [`Run::create`].
    pub fn draft(
        scenario: &'a Scenario,
        directory: &'a RunDirectory,
        threads: usize,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, RunError> {
        directory.check_vacant()?;
        let inputs = Inputs::read(scenario)?;
        write_scenario(scenario, &inputs, directory, write_unsynced)
            .map(|existed| Self::new(scenario, inputs, directory, threads, observer, existed))
    }

    /// Continues the run in a directory from its newest intact checkpoint, or from the first round
    /// if there is none.
    ///
    /// # Errors
    /// Copies of traces that cannot be read, a checkpoint of another scenario or version, or a log that
    /// lost or changed what the checkpoint covers.
    pub fn resume(
        scenario: &'a Scenario,
        directory: &'a RunDirectory,
        threads: usize,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, RunError> {
        let inputs = Inputs::kept(scenario, directory)?;
        let mut run = Self::new(scenario, inputs, directory, threads, observer, true);
        run.is_new = false;
        let (checkpoint, complaints) = Checkpoint::read(directory);
        for complaint in &complaints {
            run.notice(&format!("skipping a damaged checkpoint: {complaint}"));
        }
        match &checkpoint {
            Some(found) if !run.owns(found)? => {
                let path = directory.path().to_owned();
                let traced =
                    !scenario.channel.trace.is_empty() || scenario.harvest.source.has_file();
                return Err(match traced {
                    false => RunError::OtherScenario { path },
                    true => RunError::OtherTraces { path },
                });
            }
            Some(found) => {
                found.logs.check(directory)?;
                run.notice(&format!("continuing after round {}", found.state.round()));
            }
            None if Checkpoint::are_foreign(directory) => {
                let path = directory.path().to_owned();
                return Err(RunError::OtherVersion { path });
            }
            None => run.notice("no usable checkpoint: starting from the first round"),
        }
        run.earlier_s = match &checkpoint {
            Some(_) => Provenance::read(directory).and_then(|it| it.processor_s),
            None => Some(0.0),
        };
        run.checkpoint = checkpoint;
        Ok(run)
    }

    /// Resumes the run in a directory, or creates one if none was started there.
    ///
    /// # Errors
    /// As [`Run::resume`] and [`Run::create`].
    pub fn open(
        scenario: &'a Scenario,
        directory: &'a RunDirectory,
        threads: usize,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, RunError> {
        match directory.is_started() {
            true => Self::resume(scenario, directory, threads, observer),
            false => Self::create(scenario, directory, threads, observer),
        }
    }

    fn new(
        scenario: &'a Scenario,
        inputs: Inputs,
        directory: &'a RunDirectory,
        threads: usize,
        observer: &'a mut dyn Observer,
        directory_existed: bool,
    ) -> Self {
        Self {
            scenario,
            directory,
            threads,
            observer,
            fingerprint: inputs.fingerprint(&scenario.to_toml()),
            environment: inputs.into_environment(),
            checkpoint: None,
            earlier_s: Some(0.0),
            is_new: true,
            directory_existed,
        }
    }

    /// Returns the scenario of the run.
    #[must_use]
    pub const fn scenario(&self) -> &'a Scenario {
        self.scenario
    }

    /// Returns the directory of the run.
    #[must_use]
    pub const fn directory(&self) -> &'a RunDirectory {
        self.directory
    }

    /// Returns the channel and the harvest of the run.
    #[must_use]
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the round of the checkpoint that the run continues from, 0 without one.
    #[must_use]
    pub fn round(&self) -> u32 {
        let checkpoint = self.checkpoint.as_ref();
        checkpoint.map_or(0, |checkpoint| checkpoint.state.round())
    }

    /// Passes a message on to the observer.
    pub fn notice(&mut self, text: &str) {
        self.observer.notice(text);
    }

    /// Removes everything that a new run has written before its first round; a resumed run is left
    /// as it is.
    pub fn abandon(self) {
        if self.is_new {
            self.directory.clear(!self.directory_existed);
        }
    }

    /// Copies the newest intact checkpoint of the same scenario and traces among `others`, with its
    /// logs, into the directory and continues from it; returns its round. The other directories are
    /// only read, and may belong to a process that still writes them.
    ///
    /// # Errors
    /// Names the file that cannot be written; checkpoints that cannot be read are skipped.
    pub fn adopt(&mut self, others: &[RunDirectory]) -> Result<Option<u32>, RunError> {
        let mut found: Vec<(Checkpoint, &RunDirectory)> = Vec::new();
        for other in others {
            if let (Some(checkpoint), _) = Checkpoint::read(other)
                && self.owns(&checkpoint)?
            {
                found.push((checkpoint, other));
            }
        }
        found.sort_by_key(|(checkpoint, _)| std::cmp::Reverse(checkpoint.state.round()));
        for (checkpoint, other) in found {
            if copy_logs(&checkpoint, other, self.directory)? {
                checkpoint.write(self.directory)?;
                self.checkpoint = Some(checkpoint);
                self.earlier_s = Provenance::read(other).and_then(|it| it.processor_s);
                return Ok(Some(self.round()));
            }
        }
        Ok(None)
    }

    /// Says whether a checkpoint belongs to this run: to its scenario as it is written today, or as
    /// an earlier version wrote it into the directory.
    fn owns(&self, checkpoint: &Checkpoint) -> Result<bool, RunError> {
        if checkpoint.scenario == self.fingerprint {
            return Ok(true);
        }
        let text = scenario_text(self.directory)?;
        let earlier = Inputs::kept(self.scenario, self.directory)?.fingerprint(&text);
        let same_text = checkpoint.scenario == earlier;
        Ok(same_text && scenario_of(self.directory)? == *self.scenario)
    }

    /// Runs all rounds that are left and writes the results.
    ///
    /// # Errors
    /// A file that cannot be written, or a round that failed.
    pub fn drive(self, deployment: &mut Deployment) -> Result<Completed, RunError> {
        let directory = self.directory;
        let completed = self.drive_rounds(deployment);
        completed.map_err(|error| error.unfinished(directory))
    }

    fn drive_rounds(self, deployment: &mut Deployment) -> Result<Completed, RunError> {
        let Self {
            scenario,
            directory,
            threads,
            observer,
            environment,
            fingerprint,
            checkpoint,
            earlier_s,
            ..
        } = self;
        // If this session is killed, the time of the next is unknown.
        let _ = fs::remove_file(directory.file(RunDirectory::ENVIRONMENT));
        let processor = ProcessorTime::begin();
        let resumed = checkpoint.is_some();
        let phases = !scenario.keeps_papers_books();
        let model = deployment.model.clone();
        let (fleet, examiner) = (&mut *deployment.fleet, &*deployment.examiner);
        let (mut engine, mut logs, mut tally) = match checkpoint {
            None => (
                Engine::new(scenario, fleet, examiner, environment, model),
                Logs::open(directory, LogPrefixes::default(), phases)?,
                Tally::new(phases),
            ),
            Some(saved) => {
                let logs = Logs::open(directory, saved.logs, phases)?;
                (
                    Engine::resume(scenario, fleet, examiner, environment, saved.state)?,
                    logs,
                    Tally::read(directory)?,
                )
            }
        };
        let program = Program::of(&scenario.run.scheduler);
        observer.started(engine.state().round() as usize, scenario.run.rounds);
        let begin = Instant::now();
        let every = scenario.run.checkpoint_every;
        let save = |engine: &mut Engine<'_>, logs: &mut Logs| -> Result<(), RunError> {
            let checkpoint = Checkpoint {
                scenario: fingerprint,
                logs: LogPrefixes {
                    events: engine.logged()?,
                    ..logs.sync()?
                },
                state: engine.checkpoint(),
            };
            Ok(checkpoint.write(directory)?)
        };
        while !engine.is_finished() {
            let step = engine.step();
            for message in engine.take_warnings() {
                observer.notice(&format!("scheduler: {message}"));
            }
            let round = engine.state().round() as usize;
            if matches!(step, Err(EngineError::Scheduler { .. })) && every > 0 && round > 0 {
                // The round was not begun: all rounds before it can be kept.
                save(&mut engine, &mut logs)?;
            }
            for log in step? {
                logs.append(&log)?;
                tally.add(&log);
                observer.round(&log);
            }
            if engine.is_finished() {
                break;
            }
            let round = engine.state().round() as usize;
            let pauses = observer.pauses();
            if pauses || (every > 0 && round.is_multiple_of(every)) {
                save(&mut engine, &mut logs)?;
            }
            if pauses {
                Provenance {
                    processor_s: earlier_s.zip(processor.end()).map(|(a, b)| a + b),
                    ..Provenance::here(thread_count(threads), begin.elapsed(), resumed)
                }
                .write(directory)?;
                let path = directory.path().to_owned();
                return Err(RunError::Paused { path, round });
            }
        }
        logs.sync()?;
        let wall = begin.elapsed();
        let processor_s = earlier_s.zip(processor.end()).map(|(a, b)| a + b);
        // From here on another run may begin.
        observer.ended();
        let about = model_metadata(scenario, &engine);
        let model = encode_model(engine.state().kept_model(), &deployment.tensors, &about);
        let provenance = Provenance {
            scheduler: program.map(|program| program.of_run(&engine)),
            processor_s,
            ..Provenance::here(thread_count(threads), wall, resumed)
        };
        Ok(Completed {
            summary: tally.summary(),
            model_sha256: complete(scenario, directory, &model, &provenance)?,
            wall,
        })
    }
}

/// Writes the scenario and the copies of its traces into a vacant directory; returns whether the
/// directory was there before.
fn write_scenario(
    scenario: &Scenario,
    inputs: &Inputs,
    directory: &RunDirectory,
    write: impl Fn(&Path, &[u8]) -> Result<(), FileError>,
) -> Result<bool, RunError> {
    directory.check_vacant()?;
    let path = directory.path();
    let existed = path.exists();
    fs::create_dir_all(path).map_err(gleaner_files::at(path))?;
    inputs.stage(directory)?;
    let file = directory.file(RunDirectory::SCENARIO);
    write(&file, scenario.to_toml().as_bytes())?;
    inputs.settle(directory)?;
    Ok(existed)
}

/// Copies the part of the logs that a checkpoint covers; `false` if they are shorter or differ.
fn copy_logs(
    checkpoint: &Checkpoint,
    from: &RunDirectory,
    into: &RunDirectory,
) -> Result<bool, FileError> {
    for (name, covered) in checkpoint.logs.by_name() {
        let mut content = Vec::new();
        let file = File::open(from.file(name));
        let read = file.and_then(|file| file.take(covered.bytes).read_to_end(&mut content));
        let is_whole = read.is_ok_and(|read| read as u64 == covered.bytes);
        if !is_whole || sha256(&content) != covered.sha256 {
            return Ok(false);
        }
        write_atomically(&into.file(name), &content)?;
    }
    Ok(true)
}

/// Reads the scenario of the run in a directory.
///
/// # Errors
/// When there is none or it cannot be read.
pub fn scenario_of(directory: &RunDirectory) -> Result<Scenario, RunError> {
    if !directory.is_started() {
        return Err(RunError::NotStarted {
            path: directory.path().to_owned(),
        });
    }
    let origin = directory.file(RunDirectory::SCENARIO);
    let text = scenario_text(directory)?;
    Ok(resolve_text(&text, &origin.display().to_string(), &[])?)
}

fn scenario_text(directory: &RunDirectory) -> Result<String, RunError> {
    let file = directory.file(RunDirectory::SCENARIO);
    Ok(read_text(&file).map_err(gleaner_files::at(&file))?)
}

/// Returns the metadata of a model file: the scheduler, the seed and the number of rounds.
#[must_use]
pub fn model_metadata(scenario: &Scenario, engine: &Engine<'_>) -> [(&'static str, String); 3] {
    [
        ("scheduler", engine.scheduler()),
        ("seed", scenario.run.seed.to_string()),
        ("rounds", engine.state().kept_round().to_string()),
    ]
}

/// Writes the results of a run and returns the digest of the model. The digests are written last and
/// mark the run complete.
fn complete(
    scenario: &Scenario,
    directory: &RunDirectory,
    model: &[u8],
    provenance: &Provenance,
) -> Result<String, RunError> {
    let write = |name: &str, bytes: &[u8]| write_atomically(&directory.file(name), bytes);
    let drafted = directory.file(RunDirectory::SCENARIO);
    let sync = File::open(&drafted).and_then(|file| file.sync_all());
    sync.map_err(gleaner_files::at(&drafted))?;
    write(RunDirectory::MODEL, model)?;
    provenance.write(directory)?;

    let (mut sums, mut last) = (String::new(), String::new());
    for name in RunDirectory::reproducible(scenario) {
        last = digest_of(directory, name)?;
        sums.push_str(&format!("{last}  {name}\n"));
    }
    write(RunDirectory::SUMS, sums.as_bytes())?;
    for name in [RunDirectory::CHECKPOINT, RunDirectory::PREVIOUS_CHECKPOINT] {
        // A leftover would only cost space.
        let _ = fs::remove_file(directory.file(name));
    }
    // The model is the last of the reproducible files.
    Ok(last)
}

fn digest_of(directory: &RunDirectory, name: &str) -> Result<String, RunError> {
    let path = directory.file(name);
    let digest = open_regular(&path)
        .and_then(sha256_of)
        .map_err(gleaner_files::at(&path))?;
    Ok(hexadecimal(&digest))
}

impl Completed {
    /// Reads the result of the complete run in a directory.
    ///
    /// # Errors
    /// Names the file, and the line of a log, that cannot be read.
    pub fn read(directory: &RunDirectory) -> Result<Self, RunError> {
        Ok(Self {
            summary: Tally::read(directory)?.summary(),
            model_sha256: digest_of(directory, RunDirectory::MODEL)?,
            wall: Duration::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Override, resolve};

    #[test]
    fn a_missing_trace_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let sets = [
            Override::new("harvest.source", "trace"),
            Override::new("harvest.file", "nowhere.csv"),
        ];
        let scenario = resolve("paper-mlp", &sets).unwrap();
        let directory = RunDirectory::new(folder.path().join("run"));
        let mut silent = Silent;
        let refused = Run::create(&scenario, &directory, 1, &mut silent);
        assert!(matches!(refused, Err(RunError::Environment(_))));
        assert!(!directory.path().exists());
    }
}
