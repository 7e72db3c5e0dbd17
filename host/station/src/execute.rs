//! Runs a scenario on a fleet, and replays a run from its log.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::bus::{self, BusItem, EventReceiver};
use super::event::Event;
use super::listener::ListenerStatus;
use super::log::{self, EVENTS, EventLog, EventLogError};
use super::replay::{Record, ReplayFleet};
use super::setup::{self, Options, SetupError};
use super::stop::Stop;
use super::stored_updates::StoredUpdates;
use crate::fleet_file::{FleetFile, FleetFileError, find_in, write_private};
use crate::link::faults::FaultCounters;
use gleaner_files::FileError;
use gleaner_files::{hexadecimal, open_regular, read_text, sha256, sha256_of};
use gleaner_learn::data::Dataset;
use gleaner_sim::ClientId;
use gleaner_sim::fleet::{self, BuildError};
use gleaner_sim::policy::Decider;
use gleaner_sim::round::{Engine, EngineError, FleetError};
use gleaner_sim::run::{
    self, Completed, Inputs, Observer, Program, Provenance, Run, RunDirectory, RunError,
    encode_model,
};
use gleaner_sim::scenario::Scenario;

/// Error of a run or a replay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StationError {
    /// The fleet cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The run itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The event log failed.
    #[error(transparent)]
    EventLog(#[from] EventLogError),
    /// The fleet file is invalid.
    #[error(transparent)]
    FleetFile(#[from] FleetFileError),
    /// The replayed rounds differ from the log.
    #[error("the log does not replay: {0}")]
    Replay(#[from] EngineError),
    /// The simulated clients cannot be built.
    #[error(transparent)]
    Deployment(#[from] BuildError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The run is not complete.
    #[error("{} is not complete: continue it with `gleaner resume`", path.display())]
    Incomplete {
        /// Directory of the run.
        path: PathBuf,
    },
}

/// The result of a finished run.
#[derive(Debug)]
pub struct Finished {
    /// Final results of the run.
    pub outcome: Completed,
    /// Counts of the faults injected into the lines.
    pub faults: Arc<FaultCounters>,
    /// Events that could not be written to the log.
    pub dropped_events: u64,
}

/// File in a run's directory with the connection counts of the listener.
pub const CALLS: &str = RunDirectory::CALLS;

/// Handles every event of a run.
pub type Listener = Box<dyn FnMut(&Event) + Send>;

/// Observers of a run's events, and the handle that stops the run.
pub struct Audience {
    /// Handler of every event.
    pub listener: Listener,
    /// Handle that stops the run.
    pub stop: Stop,
    /// Counts incoming connections and has the address that boards call.
    pub calls: Arc<ListenerStatus>,
}

impl Default for Audience {
    fn default() -> Self {
        Self {
            listener: Box::new(|_| {}),
            stop: Stop::default(),
            calls: Arc::default(),
        }
    }
}

/// Drives a run on a fleet. A new run whose fleet cannot be set up leaves nothing behind, so that it
/// can be tried again.
///
/// # Errors
/// Errors that stop the whole run; boards that fail do not.
pub fn run(
    mut run: Run<'_>,
    fleet: &FleetFile,
    data: &Dataset,
    options: &Options,
    audience: Audience,
) -> Result<Finished, StationError> {
    let directory = run.directory();
    // A crash may have come between the scenario and the fleet file.
    let path = find_in(directory.path());
    if !path.is_file() {
        write_private(&path, fleet.to_toml()).map_err(gleaner_files::at(&path))?;
    }
    let log = match EventLog::open(&directory.file(EVENTS), run.round()) {
        Ok(log) => log,
        Err(error) => {
            if !matches!(error, EventLogError::InUse { .. }) {
                run.abandon();
            }
            return Err(error.into());
        }
    };
    let (events, heard) = bus::open();
    let Audience {
        listener,
        stop,
        calls,
    } = audience;
    let pump = Pump::start(log, heard, listener);
    let bus = (events, stop, Arc::clone(&calls));
    let mut assembly = match setup::assemble(&run, fleet, data, options, bus) {
        Ok(assembly) => assembly,
        Err(error) => {
            // The set-up error is the one to report, not that of its log.
            let _ = pump.finish();
            run.abandon();
            return Err(error.into());
        }
    };
    if let Some(address) = calls.address() {
        run.notice(&format!("boards may call in at {address}"));
    }
    let outcome = run.drive(&mut assembly.deployment);
    assembly.deployment.fleet.end();
    let faults = Arc::clone(&assembly.faults);
    drop(assembly);
    let logged = pump.finish();
    if calls.address().is_some() {
        let path = directory.file(CALLS);
        let tally = serde_json::to_string_pretty(&calls.counts()).unwrap_or_default();
        fs::write(&path, tally).map_err(gleaner_files::at(&path))?;
    }
    Ok(Finished {
        outcome: outcome?,
        faults,
        dropped_events: logged?,
    })
}

/// Writes events to the log and passes them to the listener, in a thread of its own. Dropping it waits
/// until the last sender is gone and all events are handled, so that the log is closed with the run.
struct Pump(Option<JoinHandle<Result<u64, EventLogError>>>);

impl Pump {
    fn start(mut log: EventLog, mut heard: EventReceiver, mut listener: Listener) -> Self {
        Self(Some(std::thread::spawn(move || {
            while let Some(heard) = heard.wait() {
                match heard {
                    BusItem::Event(event) => {
                        // The log keeps its error, and returns it on `sync`.
                        let _ = log.append(&event);
                        listener(&event);
                    }
                    BusItem::Flush(flush) => flush.answer(log.sync()),
                }
            }
            log.finish()
        })))
    }

    /// Closes the log and returns the number of dropped events.
    fn finish(mut self) -> Result<u64, EventLogError> {
        // A listener that panicked has printed a message, and the fleet got an error of the log.
        let ended = self.0.take().and_then(|thread| thread.join().ok());
        ended.unwrap_or(Ok(0))
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Number of replayed orders.
    pub orders: usize,
    /// Clients that compute in an arithmetic of their own, and how many updates of each were taken
    /// as they were sent.
    pub inexact: BTreeMap<ClientId, usize>,
    /// SHA-256 of the model file the run left.
    pub recorded: String,
    /// SHA-256 of the model file the replay leads to.
    pub replayed: String,
}

/// Replays a complete run from its event log; starts no program, whatever the directory names.
///
/// # Errors
/// Names the round and client where the replay differs from the log, or the unreadable file.
pub fn verify(directory: &RunDirectory, threads: usize) -> Result<Verdict, StationError> {
    verify_before(&mut run::Silent, directory, threads)
}

/// Replays a complete run and reports its rounds to an observer.
///
/// # Errors
/// As [`verify`].
pub fn verify_before(
    observer: &mut dyn Observer,
    directory: &RunDirectory,
    threads: usize,
) -> Result<Verdict, StationError> {
    let path = directory.path().to_owned();
    let scenario = run::scenario_of(directory)?;
    if !directory.is_complete() {
        return Err(StationError::Incomplete { path });
    }
    let rounds = u32::try_from(scenario.run.rounds).unwrap_or(u32::MAX);
    let record = Record::of(log::each_line_within(&directory.file(EVENTS), rounds)?)?;
    let (orders, inexact) = (record.orders(), record.inexact());
    let last_round = record.last_round();
    let kept = StoredUpdates::of(directory.path());
    let program = program_of(&scenario, directory)?;
    let decisions = program.map(|program| record.decisions(&program));
    let decisions = decisions.transpose().map_err(EngineError::from)?;
    let path = directory.file(RunDirectory::MODEL);
    let recorded = open_regular(&path).and_then(sha256_of);
    let recorded = recorded.map_err(gleaner_files::at(&path))?;
    let data = fleet::load_data(&scenario).map_err(BuildError::from)?;
    let partition = fleet::deal(&scenario, &data).map_err(BuildError::from)?;
    let mut deployment = fleet::build_around(&scenario, &data, &partition, threads, |fixed| {
        Ok(Box::new(ReplayFleet::new(fixed, record, kept)))
    })?;
    let model = deployment.model.clone();
    let mut engine = Engine::new(
        &scenario,
        &mut *deployment.fleet,
        &*deployment.examiner,
        Inputs::kept(&scenario, directory)?.into_environment(),
        model,
    );
    if let Some(decisions) = decisions {
        engine = engine.with_policy(Box::new(decisions));
    }
    observer.started(0, scenario.run.rounds);
    while !engine.is_finished() {
        engine.step()?.iter().for_each(|log| observer.round(log));
    }
    let state = engine.state();
    if last_round > state.round() {
        let ended = state.round();
        let what = format!("the log has round {last_round}, the run ends after round {ended}");
        return Err(EngineError::from(FleetError::Failed(what)).into());
    }
    let about = run::model_metadata(&scenario, &engine);
    let replayed = encode_model(state.kept_model(), &deployment.tensors, &about);
    Ok(Verdict {
        orders,
        inexact,
        recorded: hexadecimal(&recorded),
        replayed: hexadecimal(&sha256(&replayed)),
    })
}

/// Returns what a run's directory says of the program that scheduled the run, if one did.
fn program_of(scenario: &Scenario, directory: &RunDirectory) -> Result<Option<Program>, FileError> {
    if matches!(scenario.run.scheduler, Decider::Own(_)) {
        return Ok(None);
    }
    let path = directory.file(RunDirectory::ENVIRONMENT);
    let text = read_text(&path).map_err(gleaner_files::at(&path))?;
    let provenance: Provenance = serde_json::from_str(&text)
        .map_err(io::Error::from)
        .map_err(gleaner_files::at(&path))?;
    match provenance.scheduler {
        Some(program) => Ok(Some(program)),
        None => {
            let what = "no `scheduler`, though a program scheduled the run; restore the file";
            let error = io::Error::new(io::ErrorKind::InvalidData, what);
            Err(gleaner_files::at(&path)(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet_file::{Entry, Link};
    use gleaner_sim::scenario::{Override, resolve};

    #[test]
    fn a_run_whose_fleet_cannot_be_set_up_leaves_nothing_behind() {
        let fleet = FleetFile {
            clients: vec![Entry::new("board", 0, Link::Incoming { device: None })],
            ..FleetFile::default()
        };
        let mut sets = setup::overrides(&fleet);
        sets.push(Override::new("partition.mean_samples", 20));
        let scenario = resolve("rp2040", &sets).unwrap();
        let data = fleet::load_data(&scenario).unwrap();
        let options = Options {
            pace: Default::default(),
            faults: Default::default(),
            round_limit: None,
            // Boards call in nowhere: set-up fails after the directory was made.
            listen: None,
            threads: 1,
        };
        let folder = tempfile::tempdir().unwrap();
        for existed in [true, false] {
            let directory = RunDirectory::new(folder.path().join(if existed { "" } else { "new" }));
            for _ in 0..2 {
                let mut silent = run::Silent;
                let opened = Run::open(&scenario, &directory, 1, &mut silent).unwrap();
                let refused = run(opened, &fleet, &data, &options, Audience::default());
                assert!(
                    matches!(refused, Err(StationError::Setup(SetupError::Door(_)))),
                    "{refused:?}"
                );
            }
            assert_eq!(directory.path().exists(), existed);
        }
    }
}
