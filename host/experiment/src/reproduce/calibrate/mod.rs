//! Calibration: constants that the paper does not print, identified by the activity that it does.
//!
//! The table of statistics prints how often each of ten clients was scheduled under three schedulers, and
//! for how many epochs; the table of solutions prints ten rounds with powers. Rounds are planned with
//! the real channel, policies and solver, and never trained, so thousands take seconds. No accuracy is
//! part of the search.

mod activity;
mod channel;
mod planner;
mod printed;
mod record;
mod report;
mod training;

use std::path::PathBuf;

use gleaner_sim::scenario::{Override, resolve};
use serde::Serialize;
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::error::ExperimentError;
use crate::page::Findings;
use channel::{Base, Fit, READINGS, Reading};
use record::{Estimates, Norms};
use training::Replay;

/// The preset whose constants are identified.
const PRESET: &str = "paper-cnn";

/// Parts of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Stage {
    /// channel, cycles and the readings of random and importance-aware
    Channel,
    /// B_1 of CRE, with recorded estimates
    Training,
    /// both
    All,
}

/// The settings of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Parts of the calibration to execute.
    pub stage: Stage,
    /// Rounds that are planned under each reading.
    pub rounds: u32,
    /// Seed of channel and schedules.
    pub seed: u32,
    /// Keys that differ from the preset in every reading.
    pub overrides: Vec<Override>,
    /// Learning rates that are replayed; none means [`Calibration::RATES`].
    pub rates: Vec<f64>,
    /// Values of B_1 that are replayed with each rate; none means [`Calibration::B1`].
    pub b1: Vec<f64>,
    /// Recorded problems of a run under CRE, in place of the built-in estimates.
    pub instances: Option<PathBuf>,
}

impl Calibration {
    /// Learning rates that are replayed by default.
    pub const RATES: [f64; 4] = [0.005, 0.01, 0.02, 0.05];

    /// Values of B_1 that are replayed by default.
    pub const B1: [f64; 12] = [
        0.04, 0.05, 0.07, 0.083, 0.1, 0.12, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6,
    ];

    /// Executes the calibration; `progress` is told the finished and all steps, and the next one.
    ///
    /// # Errors
    /// When a key is invalid, or the recorded problems cannot be read.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(usize, usize, &str),
    ) -> Result<Findings, ExperimentError> {
        let (channel, training) = match self.stage {
            Stage::Channel => (true, false),
            Stage::Training => (false, true),
            Stage::All => (true, true),
        };
        let readings: &[Reading] = if channel { &READINGS } else { &[] };
        let replayed = match training {
            true => self.replayed(),
            false => Vec::new(),
        };
        let steps = readings.len() + replayed.len();
        let norms = Norms::built_in();
        let base = Base {
            preset: PRESET,
            overrides: &self.overrides,
            seed: self.seed,
            rounds: self.rounds,
            norms: &norms,
        };
        let mut fits: Vec<Vec<Fit>> = Vec::new();
        for (step, reading) in readings.iter().enumerate() {
            progress(step, steps, reading.name);
            fits.push(reading.scan(&base)?);
        }
        let estimates = match &self.instances {
            Some(path) => Estimates::read(path)?,
            None => Estimates::built_in(),
        };
        let mut replays: Vec<Replay> = Vec::new();
        for (step, &(rate, b1)) in replayed.iter().enumerate() {
            let next = format!("rate {rate}, B_1 = {b1}");
            progress(readings.len() + step, steps, &next);
            let mut overrides = self.overrides.clone();
            overrides.push(Override::new("learning.learning_rate", rate));
            overrides.push(Override::new("cre.b1", b1));
            overrides.push(Override::new("run.seed", i64::from(self.seed)));
            let scenario = resolve(PRESET, &overrides)?;
            replays.push(training::replay(&scenario, &estimates, self.rounds)?);
        }
        progress(steps, steps, "");
        Ok(report::findings(self, &fits, &replays, estimates.rounds()))
    }

    /// Returns the learning rates and values of B_1 that are replayed.
    fn replayed(&self) -> Vec<(f64, f64)> {
        let rates = match &*self.rates {
            [] => &Self::RATES[..],
            some => some,
        };
        let b1 = match &*self.b1 {
            [] => &Self::B1[..],
            some => some,
        };
        let pairs = rates
            .iter()
            .flat_map(|&rate| b1.iter().map(move |&b1| (rate, b1)));
        pairs.collect()
    }
}

#[cfg(test)]
mod tests;
