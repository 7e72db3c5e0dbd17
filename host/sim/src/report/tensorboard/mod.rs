//! The rounds of a run as TensorBoard reads them: `tensorboard/events.out.tfevents.0.gleaner`.
//!
//! The file is a function of `rounds.jsonl`: its times are modelled ones, so equal runs have equal
//! files, and one that grows with the run ([`Live`]) ends as the one made afterwards
//! ([`write_tensorboard`]). A run that goes on after a crash begins the file anew from the log, which
//! was cut back to the checkpoint: no round is there twice, none is missing.

mod encode;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use gleaner_files::write_atomically;

use encode::{append_record, event, version};

use crate::round::{RoundLog, RoundRow};
use crate::run::{Observer, RunDirectory, RunError, each_round};

/// File of a run's events in its directory. TensorBoard looks for `tfevents`.
const FILE: &str = "tensorboard/events.out.tfevents.0.gleaner";

/// Writes the events of all rounds in the log of a run.
///
/// # Errors
/// Names the log and line that cannot be read, or the file that cannot be written.
pub fn write_tensorboard(directory: &RunDirectory) -> Result<PathBuf, RunError> {
    begin(directory)?;
    Ok(directory.file(FILE))
}

/// Writes the events of the rounds so far; returns when the last of them ended.
fn begin(directory: &RunDirectory) -> Result<Clock, RunError> {
    let path = directory.file(FILE);
    let folder = path.parent().unwrap_or(directory.path());
    let mut clock = Clock::default();
    let mut bytes = Vec::new();
    append_record(&version(), &mut bytes);
    for row in each_round(&directory.file(RunDirectory::ROUNDS))? {
        clock.append(&row?, &mut bytes);
    }
    fs::create_dir_all(folder).map_err(gleaner_files::at(folder))?;
    write_atomically(&path, &bytes)?;
    Ok(clock)
}

/// Modelled time since the run began.
#[derive(Default)]
struct Clock {
    modelled_s: f64,
}

impl Clock {
    /// Adds the event of a round to the bytes of a file.
    fn append(&mut self, row: &RoundRow, bytes: &mut Vec<u8>) {
        self.modelled_s += row.round_s;
        let event = event(self.modelled_s, row.round, &figures(row));
        append_record(&event, bytes);
    }
}

/// An observer that writes events while a run is made, and passes everything on to another.
pub struct Live<'a> {
    next: &'a mut dyn Observer,
    directory: &'a RunDirectory,
    wanted: bool,
    file: Option<Growing>,
    /// The write error after which the file is no longer written; the run continues.
    failed: Option<RunError>,
}

/// A file of events that grows.
struct Growing {
    path: PathBuf,
    file: File,
    clock: Clock,
}

impl<'a> Live<'a> {
    /// Prepares to write events if they are `wanted` or the run has some already.
    pub fn new(next: &'a mut dyn Observer, directory: &'a RunDirectory, wanted: bool) -> Self {
        Self {
            next,
            directory,
            wanted: wanted || directory.file(FILE).is_file(),
            file: None,
            failed: None,
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first write error of the run.
    pub fn finish(self) -> Result<(), RunError> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl Growing {
    fn open(directory: &RunDirectory) -> Result<Self, RunError> {
        let path = directory.file(FILE);
        let clock = begin(directory)?;
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(gleaner_files::at(&path))?;
        Ok(Self { path, file, clock })
    }

    fn append(&mut self, row: &RoundRow) -> Result<(), RunError> {
        let mut bytes = Vec::new();
        self.clock.append(row, &mut bytes);
        let written = self.file.write_all(&bytes);
        Ok(written.map_err(gleaner_files::at(&self.path))?)
    }
}

impl Observer for Live<'_> {
    fn started(&mut self, done: usize, total: usize) {
        if self.wanted {
            match Growing::open(self.directory) {
                Ok(file) => self.file = Some(file),
                Err(error) => self.failed = Some(error),
            }
        }
        self.next.started(done, total);
    }

    fn round(&mut self, log: &RoundLog) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.append(&log.round)
        {
            self.file = None;
            self.failed = Some(error);
        }
        self.next.round(log);
    }

    fn ended(&mut self) {
        self.next.ended();
    }

    fn pauses(&mut self) -> bool {
        self.next.pauses()
    }

    fn notice(&mut self, text: &str) {
        self.next.notice(text);
    }
}

/// Returns the figures of a round; TensorBoard groups them by the word before the slash.
fn figures(row: &RoundRow) -> Vec<(&'static str, f64)> {
    let always = |figure: f64| Some(figure);
    let count = |clients: usize| Some(clients as f64);
    let figures = [
        ("test/accuracy", row.accuracy),
        ("test/loss", row.test_loss),
        ("validation/accuracy", row.validation_accuracy),
        ("validation/loss", row.validation_loss),
        ("training/loss", row.train_loss),
        ("privacy/epsilon", row.privacy.map(|it| it.epsilon)),
        ("plan/bound", row.bound),
        ("plan/objective", row.objective),
        ("plan/rho", row.rho),
        ("plan/beta", row.beta),
        ("round/participants", count(row.participants.len())),
        ("round/epochs", always(row.epochs.into())),
        ("round/absent", count(row.absent.len())),
        ("round/seconds", always(row.round_s)),
        ("energy/compute_j", always(row.compute_j)),
        ("energy/radio_j", always(row.radio_j)),
        ("energy/harvest_j", always(row.harvest_j)),
        ("energy/cumulative_spent_j", always(row.cumulative_spent_j)),
        ("energy/overdrawn_clients", count(row.overdrawn.len())),
    ];
    let figures = figures.into_iter().filter_map(|(tag, it)| Some((tag, it?)));
    // The log has no numbers that are not finite either.
    figures.filter(|(_, figure)| figure.is_finite()).collect()
}

#[cfg(test)]
mod tests;
