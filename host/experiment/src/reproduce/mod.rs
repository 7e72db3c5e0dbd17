//! Reproduction of the paper: every table and figure from one plan of runs, and a verdict on every
//! claim.
//!
//! An exhibit (a table or figure) lists the settings it needs and shows their runs; claims are
//! checked by stated rules from the same runs. Exhibits share runs of equal scenarios.

mod calibrate;
mod claims;
mod exhibit;
mod exhibits;
mod field;
mod least_power;
mod paper;
mod records;
mod report;
mod scale;
mod setting;

use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::report::plot::{LineChart, Mark, Series};
use gleaner_sim::report::table::Table;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, resolve};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::error::ExperimentError;
use crate::page::{Findings, Section, colour_of};
use crate::plan::Point;
use crate::stats::Statistic;
use crate::study::{Runs, Study};
use crate::table::columns;
pub use calibrate::{Calibration, Stage};
pub use exhibit::Exhibit;
use field::Field;
use paper::paper;
use records::{Group, Records};
pub use scale::Scale;
use scale::{Cell, Extent};
use setting::{Formulas, Network, SIX, Setting, baselines};

/// A reproduction of the paper.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Scale of the runs.
    pub scale: Scale,
    /// Seeds of every setting; by default the scale's.
    pub seeds: Option<u32>,
    /// Tables and figures to run; the report also shows others whose runs are complete.
    pub exhibits: Vec<Exhibit>,
}

impl Reproduction {
    /// Returns everything that a scale has.
    pub fn all(scale: Scale) -> Self {
        Self {
            scale,
            seeds: None,
            exhibits: Exhibit::VARIANTS.to_vec(),
        }
    }

    fn extent(&self, network: Network) -> Option<Extent> {
        let extent = self.scale.extent(network)?;
        Some(Extent {
            seeds: self.seeds.unwrap_or(extent.seeds),
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

    /// Lists the points of some exhibits, one per seed of each setting.
    fn by_setting(
        &self,
        exhibits: &[Exhibit],
    ) -> Result<Vec<(Setting, Vec<Point>)>, ExperimentError> {
        let mut all: Vec<(Setting, Vec<Point>)> = Vec::new();
        for setting in exhibits.iter().flat_map(|exhibit| exhibit.settings(self)) {
            if all.iter().any(|(known, _)| *known == setting) {
                continue;
            }
            let Some(extent) = self.extent(setting.network) else {
                continue;
            };
            let point = |seed: u32| {
                let values = vec![
                    ("setting".to_owned(), setting.name()),
                    ("run.seed".to_owned(), seed.to_string()),
                ];
                Ok(Point::new(values, setting.scenario(&extent, seed)?))
            };
            let points: Result<_, ScenarioError> = (0..extent.seeds).map(point).collect();
            all.push((setting, points?));
        }
        Ok(all)
    }
}

impl Study for Reproduction {
    /// Reproductions of all scales may share a directory.
    fn name(&self) -> String {
        "reproduce".to_owned()
    }

    /// Lists the first seed of every setting first: early results then compare.
    fn points(&self, _: &Runs) -> Result<Vec<Point>, ExperimentError> {
        let settings = self.by_setting(&self.exhibits)?;
        let most = settings.iter().map(|(_, points)| points.len()).max();
        let seeds = 0..most.unwrap_or(0);
        let points = seeds.flat_map(|at| settings.iter().filter_map(move |(_, all)| all.get(at)));
        Ok(points.cloned().collect())
    }

    /// Reads every complete run of the scale, whichever exhibit it belongs to.
    fn read(&self, runs: &Runs) -> Result<Findings, ExperimentError> {
        Ok(report::findings(&Records::read(self, runs.dir())?))
    }
}
