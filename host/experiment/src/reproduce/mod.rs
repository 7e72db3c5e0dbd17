//! Reproduction of the paper: every table and figure from one plan of runs, and a verdict on every
//! claim.
//!
//! An exhibit (a table or figure) lists the settings it needs and shows their runs; claims are
//! checked by stated rules from the same runs. Exhibits share runs of equal scenarios.

mod calibrate;
mod choice;
mod claims;
mod exhibit;
mod exhibits;
mod field;
mod least_power;
mod paper;
mod records;
mod report;
mod rows;
mod scale;
mod setting;

use std::collections::HashSet;
use std::path::Path;

use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::report::plot::{LineChart, Mark, Series};
use gleaner_sim::report::table::Table;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, resolve};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::error::ExperimentError;
use crate::execute::{newest_checkpoint, run_directory};
use crate::page::{Findings, Section, colour_of};
use crate::plan::Point;
use crate::stats::Statistic;
use crate::study::{Runs, Study};
use crate::table::columns;
pub use calibrate::{Calibration, Stage};
pub use choice::{Cells, Choice};
pub use exhibit::Exhibit;
use field::Field;
pub use paper::{Activity, Paper, SolutionRow, StatisticsRow, paper};
pub use records::RunRecord;
use records::{Group, Records};
pub use rows::{Keeper, Rows};
pub use scale::Scale;
use scale::{Cell, Extent};
pub use setting::{Formulas, Network};
use setting::{Recipe, SIX, Setting, baselines};

/// A reproduction of the paper.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Scale of the runs.
    pub scale: Scale,
    /// Seeds of every setting; by default the scale's.
    pub seeds: Option<u32>,
    /// Tables and figures to run; the report also shows others whose runs are complete.
    pub exhibits: Vec<Exhibit>,
    /// Runs of these to execute; the report shows all that are complete.
    pub choice: Choice,
    /// Runs that are complete elsewhere; they are shown, and not executed again.
    pub rows: Rows,
}

/// One run of a setting.
#[derive(Clone, Debug)]
pub struct Planned {
    setting: Setting,
    seed: u32,
    recipe: Recipe,
    point: Point,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its row is there.
    Row,
    /// Its directory is there.
    Complete,
    /// Not complete: the round of its newest checkpoint, 0 without one.
    Open(u32),
}

impl Planned {
    /// Returns the point of the run.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Returns the scheduler of the run.
    pub fn scheduler(&self) -> Scheduler {
        self.setting.scheduler
    }

    /// Returns the setting, cell and seed in words.
    pub fn name(&self) -> String {
        let (setting, seed) = (&self.setting, self.seed);
        format!("{}, {}, seed {seed}", setting.name(), setting.cell.name())
    }
}

impl Reproduction {
    /// Returns everything that a scale has.
    pub fn all(scale: Scale) -> Self {
        Self {
            scale,
            seeds: None,
            exhibits: Exhibit::VARIANTS.to_vec(),
            choice: Choice::default(),
            rows: Rows::default(),
        }
    }

    fn extent(&self, network: Network) -> Option<Extent> {
        let extent = self.scale.extent(network)?;
        Some(Extent {
            seeds: self.seeds.unwrap_or(extent.seeds),
            seeds_of_middle: self.seeds.unwrap_or(extent.seeds_of_middle),
            ..extent
        })
    }

    /// Returns the command that reproduces an exhibit.
    fn command(&self, exhibit: Exhibit) -> String {
        let seeds = self
            .seeds
            .map_or(String::new(), |count| format!(" --seeds {count}"));
        let scale = self.scale;
        format!("gleaner reproduce --scale {scale}{seeds} --only {exhibit}")
    }

    /// Lists the chosen runs, the first seed of every setting first: early results then compare.
    pub fn chosen(&self) -> Result<Vec<Planned>, ExperimentError> {
        let settings = self.by_setting(&self.exhibits)?;
        let mut chosen: Vec<Planned> = settings.into_iter().flat_map(|(_, all)| all).collect();
        chosen.retain(|it| self.choice.has(it));
        chosen.sort_by_key(|it| it.seed);
        let mut seen = HashSet::new();
        chosen.retain(|it| seen.insert(it.point.id.clone()));
        Ok(chosen)
    }

    /// Returns the state of a run whose directory would be in `dir`.
    pub fn progress(&self, planned: &Planned, dir: &Path) -> Progress {
        let complete = run_directory(dir, &planned.point).is_complete();
        match self.rows.get(&planned.point.id) {
            Some(_) => Progress::Row,
            None if complete => Progress::Complete,
            None => Progress::Open(newest_checkpoint(dir, &planned.point).unwrap_or_default()),
        }
    }

    /// Compares a run that was executed again in `dir` with its row: all of it but version and time.
    pub fn matches_row(&self, planned: &Planned, dir: &Path) -> Result<bool, ExperimentError> {
        let point = &planned.point;
        let directory = run_directory(dir, point);
        let run = RunRecord::read(point.id.clone(), &point.scenario, &directory)?;
        Ok(self.rows.get(&point.id).is_some_and(|row| {
            let RunRecord {
                program,
                processor_s,
                ..
            } = row.clone();
            let run = RunRecord {
                program,
                processor_s,
                ..run
            };
            *row == run
        }))
    }

    /// Lists the runs of some exhibits, one per seed of each setting.
    fn by_setting(
        &self,
        exhibits: &[Exhibit],
    ) -> Result<Vec<(Setting, Vec<Planned>)>, ExperimentError> {
        let mut all: Vec<(Setting, Vec<Planned>)> = Vec::new();
        for setting in exhibits.iter().flat_map(|exhibit| exhibit.settings(self)) {
            if all.iter().any(|(known, _)| *known == setting) {
                continue;
            }
            let Some(extent) = self.extent(setting.network) else {
                continue;
            };
            let planned = |seed: u32| {
                let values = vec![
                    ("setting".to_owned(), setting.name()),
                    ("cell".to_owned(), setting.cell.name()),
                    ("run.seed".to_owned(), seed.to_string()),
                ];
                let recipe = setting.recipe(&extent, seed)?;
                Ok(Planned {
                    setting,
                    seed,
                    point: Point::new(values, recipe.scenario()?),
                    recipe,
                })
            };
            let seeds = 0..extent.seeds_of(&setting);
            let runs: Result<_, ScenarioError> = seeds.map(planned).collect();
            all.push((setting, runs?));
        }
        Ok(all)
    }
}

impl Study for Reproduction {
    /// Reproductions of all scales may share a directory.
    fn name(&self) -> String {
        "reproduce".to_owned()
    }

    /// Lists the chosen runs that have no row.
    fn points(&self, _: &Runs) -> Result<Vec<Point>, ExperimentError> {
        let chosen = self.chosen()?.into_iter();
        let open = chosen.filter(|it| self.rows.get(&it.point.id).is_none());
        Ok(open.map(|it| it.point).collect())
    }

    /// Reads every complete run of the scale, whichever exhibit it belongs to.
    fn read(&self, runs: &Runs) -> Result<Findings, ExperimentError> {
        Ok(report::findings(&Records::read(self, runs.dir())?))
    }
}
