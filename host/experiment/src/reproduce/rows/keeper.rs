//! Writes the row of every run when it ends, so that an interruption loses none.

use std::collections::HashMap;

use super::*;
use crate::execute::{Outcome, Watcher, run_directory};

/// A watcher that writes rows beside whatever another one does.
pub struct Keeper<'a> {
    rows: &'a mut Rows,
    planned: HashMap<String, Planned>,
    runs: PathBuf,
    watcher: &'a mut dyn Watcher,
    failed: Option<ExperimentError>,
}

impl<'a> Keeper<'a> {
    /// Writes rows of the runs of a reproduction in the directory `runs`.
    pub fn new(
        reproduction: &Reproduction,
        runs: &Path,
        rows: &'a mut Rows,
        watcher: &'a mut dyn Watcher,
    ) -> Result<Self, ExperimentError> {
        let settings = reproduction.by_setting(Exhibit::VARIANTS)?;
        let planned = settings.into_iter().flat_map(|(_, all)| all);
        Ok(Self {
            rows,
            planned: planned.map(|it| (it.point.id.clone(), it)).collect(),
            runs: runs.to_owned(),
            watcher,
            failed: None,
        })
    }

    /// Writes the rows of complete runs that have none yet.
    pub fn gather(&mut self) {
        let ids: Vec<String> = self.planned.keys().cloned().collect();
        ids.iter().for_each(|id| self.keep(id));
    }

    /// Returns the error that kept the first row from being written.
    pub fn finish(self) -> Result<(), ExperimentError> {
        self.failed.map_or(Ok(()), Err)
    }

    fn keep(&mut self, id: &str) {
        let Some(planned) = self.planned.get(id) else {
            return;
        };
        let directory = run_directory(&self.runs, &planned.point);
        if self.rows.get(id).is_some() || !directory.is_complete() {
            return;
        }
        let point = &planned.point;
        let run = RunRecord::read(point.id.clone(), &point.scenario, &directory);
        if let Err(error) = run.and_then(|run| self.rows.add(planned, run)) {
            self.failed.get_or_insert(error);
        }
    }
}

impl Watcher for Keeper<'_> {
    fn begin(&mut self, points: usize) {
        self.watcher.begin(points);
    }

    fn finished(&mut self, point: &Point, outcome: &Outcome) {
        if outcome.is_ok() {
            self.keep(&point.id);
        }
        self.watcher.finished(point, outcome);
    }

    fn notice(&mut self, text: &str) {
        self.watcher.notice(text);
    }

    fn end(&mut self) {
        self.watcher.end();
    }
}
