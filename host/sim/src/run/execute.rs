//! Starting, continuing and completing a run.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use gleaner_files::{
    FileError, hexadecimal, sha256, sha256_of, sync_parent, write_atomically, write_unsynced,
};

use super::checkpoint::Checkpoint;
use super::directory::RunDirectory;
use super::environment::{Environment, Program, thread_count};
use super::error::RunError;
use super::log::{Lengths, Logs};
use super::safetensors::encode_model;
use super::summary::{Summary, Tally};
use super::world::{self, Traces};
use crate::fleet::Deployment;
use crate::round::{Engine, EngineError, RoundLog};
use crate::scenario::{Scenario, resolve_text};

/// Is told what happens during a run.
pub trait Observer {
    /// Rounds begin, `done` of them being finished already.
    fn started(&mut self, _done: usize, _total: usize) {}
    /// A round is finished.
    fn round(&mut self, _log: &RoundLog) {}
    /// The last round is finished; what is left is writing files.
    fn ended(&mut self) {}
    /// Something worth saying that does not stop the run.
    fn notice(&mut self, _text: &str) {}
    /// Asked after every round: whether the run is to stop here, with a checkpoint to go on from.
    fn pauses(&mut self) -> bool {
        false
    }
}

/// An observer that does not listen.
pub struct Silent;

impl Observer for Silent {}

/// A completed run.
#[derive(Clone, Debug, PartialEq)]
pub struct Completed {
    /// What it comes down to.
    pub summary: Summary,
    /// SHA-256 of the final model file.
    pub model_sha256: String,
    /// Wall time of the rounds of this session.
    pub wall: Duration,
}

/// Runs a scenario from its first round in an empty directory.
///
/// # Errors
/// An occupied directory, a file that cannot be written, or a round that failed.
pub fn execute(
    scenario: &Scenario,
    deployment: &mut Deployment,
    directory: &RunDirectory,
    threads: usize,
    observer: &mut dyn Observer,
) -> Result<Completed, RunError> {
    prepare(scenario, directory)?;
    start(scenario, deployment, directory, threads, observer)
}

/// Makes an empty directory the directory of a run.
///
/// # Errors
/// An occupied directory, one that cannot be written to, or a trace that does not cover the run;
/// the last leaves nothing behind.
pub fn prepare(scenario: &Scenario, directory: &RunDirectory) -> Result<(), RunError> {
    set_up(scenario, directory, |path, text| {
        sync_parent(directory.path())?;
        write_atomically(path, text)
    })
}

/// As [`prepare`], for a directory that nobody relies on before it has a checkpoint or is complete: a
/// power cut may take what is in it until then.
///
/// # Errors
/// As [`prepare`].
pub fn draft(scenario: &Scenario, directory: &RunDirectory) -> Result<(), RunError> {
    set_up(scenario, directory, write_unsynced)
}

fn set_up(
    scenario: &Scenario,
    directory: &RunDirectory,
    write: impl Fn(&Path, &[u8]) -> Result<(), FileError>,
) -> Result<(), RunError> {
    check_vacant(directory)?;
    let path = directory.path();
    let traces = Traces::checked(scenario)?;
    fs::create_dir_all(path).map_err(gleaner_files::at(path))?;
    traces.stage(directory)?;
    let file = directory.file(RunDirectory::SCENARIO);
    write(&file, scenario.to_toml().as_bytes())?;
    traces.settle(directory)
}

/// Makes sure that a directory has room for a run.
///
/// # Errors
/// [`RunError::Occupied`] if it has not.
pub fn check_vacant(directory: &RunDirectory) -> Result<(), RunError> {
    if directory.is_vacant() {
        return Ok(());
    }
    Err(RunError::Occupied {
        path: directory.path().to_owned(),
    })
}

/// Runs a scenario from its first round in a prepared directory.
///
/// # Errors
/// A file that cannot be written, or a round that failed.
pub fn start(
    scenario: &Scenario,
    deployment: &mut Deployment,
    directory: &RunDirectory,
    threads: usize,
    observer: &mut dyn Observer,
) -> Result<Completed, RunError> {
    let run = drive(scenario, deployment, directory, threads, None, observer);
    run.map_err(|error| error.unfinished(directory))
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
    Ok(fs::read_to_string(&file).map_err(gleaner_files::at(&file))?)
}

/// Continues the run in a directory from its newest whole checkpoint.
///
/// # Errors
/// As [`execute`], and when the checkpoint belongs to another scenario.
pub fn resume(
    scenario: &Scenario,
    deployment: &mut Deployment,
    directory: &RunDirectory,
    threads: usize,
    observer: &mut dyn Observer,
) -> Result<Completed, RunError> {
    let (checkpoint, complaints) = Checkpoint::read(directory);
    for complaint in &complaints {
        observer.notice(&format!("passing over a damaged checkpoint: {complaint}"));
    }
    match &checkpoint {
        Some(found) if !is_of(found, scenario, directory)? => {
            let path = directory.path().to_owned();
            let traced = !scenario.channel.trace.is_empty() || scenario.harvest.source.has_file();
            return Err(match traced {
                false => RunError::OtherScenario { path },
                true => RunError::OtherTraces { path },
            });
        }
        Some(found) => {
            observer.notice(&format!("continuing after round {}", found.state.round()));
        }
        None => observer.notice("no usable checkpoint: starting from the first round"),
    }
    let run = drive(
        scenario, deployment, directory, threads, checkpoint, observer,
    );
    run.map_err(|error| error.unfinished(directory))
}

/// Says whether a checkpoint is of this scenario: as it is written today, or as an earlier version
/// wrote it into the directory.
pub(super) fn is_of(
    checkpoint: &Checkpoint,
    scenario: &Scenario,
    directory: &RunDirectory,
) -> Result<bool, RunError> {
    if checkpoint.scenario == world::fingerprint(scenario, directory)? {
        return Ok(true);
    }
    let text = scenario_text(directory)?;
    Ok(checkpoint.scenario == sha256(text.as_bytes()) && scenario_of(directory)? == *scenario)
}

fn drive(
    scenario: &Scenario,
    deployment: &mut Deployment,
    directory: &RunDirectory,
    threads: usize,
    checkpoint: Option<Checkpoint>,
    observer: &mut dyn Observer,
) -> Result<Completed, RunError> {
    let resumed = checkpoint.is_some();
    let fingerprint = world::fingerprint(scenario, directory)?;
    let world = world::world_of(scenario, directory)?;
    let phases = !scenario.keeps_papers_books();
    let model = deployment.model.clone();
    let (fleet, examiner) = (&mut *deployment.fleet, &*deployment.examiner);
    let (mut engine, mut logs, mut tally) = match checkpoint {
        None => (
            Engine::new(scenario, fleet, examiner, world, model),
            Logs::open(directory, Lengths::default(), phases)?,
            Tally::new(phases),
        ),
        Some(saved) => {
            let logs = Logs::open(directory, saved.logs, phases)?;
            (
                Engine::resume(scenario, fleet, examiner, world, saved.state)?,
                logs,
                Tally::read(directory)?,
            )
        }
    };
    let program = Program::of(&scenario.run.scheduler);
    observer.started(engine.state().round() as usize, scenario.run.rounds);
    let begin = Instant::now();
    let every = scenario.run.checkpoint_every;
    let save = |engine: &Engine<'_>, logs: &mut Logs| -> Result<(), RunError> {
        let checkpoint = Checkpoint {
            scenario: fingerprint,
            logs: logs.sync()?,
            state: engine.checkpoint(),
        };
        Ok(checkpoint.write(directory)?)
    };
    while !engine.is_finished() {
        let step = engine.step();
        for words in engine.said() {
            observer.notice(&format!("scheduler: {words}"));
        }
        let round = engine.state().round() as usize;
        if matches!(step, Err(EngineError::Scheduler { .. })) && every > 0 && round > 0 {
            // The round was not begun: nothing before it is lost.
            save(&engine, &mut logs)?;
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
            save(&engine, &mut logs)?;
        }
        if pauses {
            let path = directory.path().to_owned();
            return Err(RunError::Paused { path, round });
        }
    }
    logs.sync()?;
    let wall = begin.elapsed();
    observer.ended();
    let about = about(scenario, &engine);
    let model = encode_model(engine.state().kept_model(), &deployment.tensors, &about);
    let environment = Environment {
        scheduler: program,
        ..Environment::here(thread_count(threads), wall, resumed)
    };
    let model_sha256 = complete(scenario, directory, &model, &environment)?;
    Ok(Completed {
        summary: tally.summary(),
        model_sha256,
        wall,
    })
}

/// Returns what a model file says of the run it came from, and of how many of its rounds.
#[must_use]
pub fn about(scenario: &Scenario, engine: &Engine<'_>) -> [(&'static str, String); 3] {
    [
        ("scheduler", engine.scheduler()),
        ("seed", scenario.run.seed.to_string()),
        ("rounds", engine.state().kept_round().to_string()),
    ]
}

/// Writes what a completed run consists of and returns the model's digest; the digests come last and
/// mark the run complete.
fn complete(
    scenario: &Scenario,
    directory: &RunDirectory,
    model: &[u8],
    environment: &Environment,
) -> Result<String, RunError> {
    let write = |name: &str, bytes: &[u8]| write_atomically(&directory.file(name), bytes);
    let drafted = directory.file(RunDirectory::SCENARIO);
    let sync = File::open(&drafted).and_then(|file| file.sync_all());
    sync.map_err(gleaner_files::at(&drafted))?;
    write(RunDirectory::MODEL, model)?;
    let json = serde_json::to_string_pretty(environment).unwrap_or_default();
    write(RunDirectory::ENVIRONMENT, format!("{json}\n").as_bytes())?;

    let mut sums = String::new();
    for (name, written) in [
        (RunDirectory::SCENARIO, true),
        (RunDirectory::CHANNEL, !scenario.channel.trace.is_empty()),
        (RunDirectory::HARVEST, scenario.harvest.source.has_file()),
        (RunDirectory::ROUNDS, true),
        (RunDirectory::CLIENTS, true),
        (RunDirectory::ENERGY, !scenario.keeps_papers_books()),
    ] {
        if !written {
            continue;
        }
        sums.push_str(&format!("{}  {name}\n", digest_of(directory, name)?));
    }
    let model_sha256 = digest_of(directory, RunDirectory::MODEL)?;
    sums.push_str(&format!("{model_sha256}  {}\n", RunDirectory::MODEL));
    write(RunDirectory::SUMS, sums.as_bytes())?;
    for name in [RunDirectory::CHECKPOINT, RunDirectory::PREVIOUS_CHECKPOINT] {
        // A leftover would only cost space.
        let _ = fs::remove_file(directory.file(name));
    }
    Ok(model_sha256)
}

fn digest_of(directory: &RunDirectory, name: &str) -> Result<String, RunError> {
    let path = directory.file(name);
    let digest = File::open(&path)
        .and_then(sha256_of)
        .map_err(gleaner_files::at(&path))?;
    Ok(hexadecimal(&digest))
}

impl Completed {
    /// Reads what the complete run in a directory came to.
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
    fn a_trace_that_is_not_there_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let sets = [
            Override::new("harvest.source", "trace"),
            Override::new("harvest.file", "nowhere.csv"),
        ];
        let scenario = resolve("paper-mlp", &sets).unwrap();
        let directory = RunDirectory::new(folder.path().join("run"));
        let refused = prepare(&scenario, &directory).unwrap_err().to_string();
        assert!(refused.contains("nowhere.csv"), "{refused}");
        assert!(!directory.path().exists());
    }
}
