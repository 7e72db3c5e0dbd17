//! Runs a scenario on a fleet, and replays a run from its log.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::bus::{self, BusItem, EventReceiver};
use super::event::Event;
use super::listener::ListenerStatus;
use super::log::{self, EVENTS, EventLog, EventLogError};
use super::replay::{Record, ReplayFleet};
use super::setup::{self, Options, SHARDS, SetupError};
use super::stop::Stop;
use super::stored_updates::StoredUpdates;
use crate::fleet_file::{FleetFile, FleetFileError, find_in, write_private};
use crate::link::faults::FaultCounters;
use gleaner_files::FileError;
use gleaner_files::{hexadecimal, sha256};
use gleaner_learn::data::Dataset;
use gleaner_sim::fleet::{self, BuildError};
use gleaner_sim::round::{Engine, EngineError, FleetError};
use gleaner_sim::run::{
    self, Checkpoint, Completed, Observer, RunDirectory, RunError, encode_model,
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
}

/// File in a run's directory with the connection counts of the listener.
pub const CALLS: &str = "calls.json";

/// Handles every event of a run.
pub type Listener = Box<dyn FnMut(&Event) + Send>;

/// Observers of a run, and the handle that stops it.
pub struct Audience<'a> {
    /// Observer of the rounds.
    pub observer: &'a mut dyn Observer,
    /// Handler of the boards' events.
    pub listener: Listener,
    /// Handle that stops the run.
    pub stop: Stop,
    /// Address and connection counts of the listener.
    pub calls: Arc<ListenerStatus>,
}

impl<'a> Audience<'a> {
    /// Returns an audience with an observer of the rounds alone.
    pub fn of(observer: &'a mut dyn Observer) -> Self {
        Self {
            observer,
            listener: Box::new(|_| {}),
            stop: Stop::default(),
            calls: Arc::default(),
        }
    }
}

/// Runs a scenario on a fleet, from its first round or from the last checkpoint. A new run whose
/// fleet cannot be set up leaves nothing behind, so that it can be tried again.
///
/// # Errors
/// What stops a whole run; boards that fail do not.
pub fn run(
    scenario: &Scenario,
    fleet: &FleetFile,
    data: &Dataset,
    directory: &RunDirectory,
    options: &Options,
    audience: Audience<'_>,
) -> Result<Finished, StationError> {
    let resumed = directory.is_started();
    let existed = directory.path().exists();
    let after_round = if resumed {
        let (checkpoint, _) = Checkpoint::read(directory);
        checkpoint.map_or(0, |checkpoint| checkpoint.state.round())
    } else {
        run::prepare(scenario, directory)?;
        0
    };
    // A crash may have come between writing the scenario and the fleet file.
    let path = find_in(directory.path());
    if !path.is_file() {
        write_private(&path, fleet.to_toml()).map_err(gleaner_files::at(&path))?;
    }
    let log = match EventLog::open(&directory.file(EVENTS), after_round) {
        Ok(log) => log,
        Err(error) => {
            if !resumed && !matches!(error, EventLogError::InUse { .. }) {
                abandon(directory, existed);
            }
            return Err(error.into());
        }
    };
    let (events, heard) = bus::open();
    let Audience {
        observer,
        listener,
        stop,
        calls,
    } = audience;
    let pump = Pump::start(log, heard, listener);
    let bus = (events, stop, Arc::clone(&calls));
    let assembled = setup::assemble(scenario, fleet, data, options, directory.path(), bus);
    let mut assembly = match assembled {
        Ok(assembly) => assembly,
        Err(error) => {
            // The error of the set-up matters more than one of the log.
            let _ = pump.finish();
            if !resumed {
                abandon(directory, existed);
            }
            return Err(error.into());
        }
    };
    if let Some(address) = calls.address() {
        observer.notice(&format!("listening for boards at {address}"));
    }
    let begin = if resumed { run::resume } else { run::start };
    let deployment = &mut assembly.deployment;
    let outcome = begin(scenario, deployment, directory, options.threads, observer);
    let faults = Arc::clone(&assembly.faults);
    drop(assembly);
    let logged = pump.finish();
    if calls.address().is_some() {
        let path = directory.file(CALLS);
        let tally = serde_json::to_string_pretty(&calls.counts()).unwrap_or_default();
        fs::write(&path, tally).map_err(gleaner_files::at(&path))?;
    }
    let outcome = outcome?;
    let left_out = logged?;
    if left_out > 0 {
        let path = directory.file(EVENTS);
        let path = path.display();
        observer.notice(&format!("{path}: {left_out} events were dropped"));
    }
    Ok(Finished { outcome, faults })
}

/// Removes what a run has written before its first round; the directory, too, if it was new. What
/// cannot be removed stays: the error that led here is the one to tell.
fn abandon(directory: &RunDirectory, existed: bool) {
    let _ = fs::remove_dir_all(directory.file(SHARDS));
    let fleet = find_in(directory.path());
    let files = [
        RunDirectory::CHANNEL,
        RunDirectory::ID,
        EVENTS,
        RunDirectory::SCENARIO,
    ];
    let files = files.map(|name| directory.file(name));
    for file in std::iter::once(fleet).chain(files) {
        let _ = fs::remove_file(file);
    }
    if !existed {
        let _ = fs::remove_dir(directory.path());
    }
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
    /// Stored updates per client, for clients whose updates cannot be recomputed.
    pub inexact: BTreeMap<u32, usize>,
    /// SHA-256 of the model file the run left.
    pub recorded: String,
    /// SHA-256 of the model file the replay leads to.
    pub replayed: String,
}

/// Replays a complete run from its event log.
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
    let path = directory.file(RunDirectory::MODEL);
    let recorded = fs::read(&path).map_err(gleaner_files::at(&path))?;
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
        run::world_of(&scenario, directory)?,
        model,
    );
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
    let about = run::about(&scenario, &engine);
    let replayed = encode_model(state.kept_model(), &deployment.tensors, &about);
    Ok(Verdict {
        orders,
        inexact,
        recorded: hexadecimal(&sha256(&recorded)),
        replayed: hexadecimal(&sha256(&replayed)),
    })
}
