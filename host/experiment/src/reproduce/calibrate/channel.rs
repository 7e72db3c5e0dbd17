//! First stage: the channel, the cycles of an epoch and the readings of two baselines.
//!
//! `random` and `importance-aware` follow from channel and deadline, apart from the order of clients
//! by gradient norms, which recorded norms give. So thousands of rounds are planned in seconds.

use gleaner_sim::policy::Scheduler;
use gleaner_sim::scenario::{Override, resolve};
use serde::Serialize;

use super::activity::{Activity, rank_correlation};
use super::planner::{self, Planner};
use super::printed;
use super::record::Norms;
use crate::error::ExperimentError;

/// Cycles per sample and epoch that are tried with every reading.
const CYCLES: [f64; 10] = [
    300.0, 400.0, 500.0, 550.0, 600.0, 650.0, 700.0, 800.0, 1000.0, 1200.0,
];

/// A reading: its name and the keys that differ from the preset.
#[derive(Clone, Debug)]
pub struct Reading {
    pub name: &'static str,
    keys: &'static [(&'static str, &'static str)],
}

/// The readings: the preset's, and those with one choice changed.
pub const READINGS: [Reading; 13] = [
    reading("preset", &[]),
    reading(
        "positions fixed for the run",
        &[("channel.placement", "fixed")],
    ),
    reading("fading of mean 1", &[("channel.fading", "normalised")]),
    reading("fading as amplitude", &[("channel.fading", "amplitude")]),
    reading("carrier 2.4 GHz", &[("channel.carrier_ghz", "2.4")]),
    reading("carrier 0.9 GHz", &[("channel.carrier_ghz", "0.9")]),
    reading("carrier 0.95 GHz", &[("channel.carrier_ghz", "0.95")]),
    reading("carrier 1.05 GHz", &[("channel.carrier_ghz", "1.05")]),
    reading("carrier 1.1 GHz", &[("channel.carrier_ghz", "1.1")]),
    reading(
        "random: most epochs",
        &[("baselines.common_epochs", "most")],
    ),
    reading(
        "importance-aware: own channels, can finish",
        &[("baselines.fixed_channels", "residue")],
    ),
    reading(
        "importance-aware: norm times weight",
        &[("baselines.importance", "weighted")],
    ),
    reading(
        "importance-aware: norm",
        &[("baselines.importance", "norm")],
    ),
];

const fn reading(name: &'static str, keys: &'static [(&'static str, &'static str)]) -> Reading {
    Reading { name, keys }
}

/// The activity under a reading with some cycles.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    pub reading: &'static str,
    pub cycles: f64,
    /// Sum of squared deviations from the printed figures, each over its standard error.
    pub misfit: f64,
    pub random: Activity,
    pub importance_aware: Activity,
}

/// A printed figure, what was found, and the standard error that 2,000 rounds leave.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    pub figure: &'static str,
    pub printed: f64,
    pub found: f64,
    pub error: f64,
}

impl Fit {
    /// Compares every printed figure that this stage has.
    pub fn compare(&self) -> Vec<Compared> {
        let (Some(random), Some(aware)) = (
            printed::statistics(Scheduler::Random),
            printed::statistics(Scheduler::ImportanceAware),
        ) else {
            return Vec::new();
        };
        // Slots are used independently of each other.
        let of_clients = |activity: &Activity| {
            let share = activity.clients() / 3.0;
            (3.0 * share * (1.0 - share) / f64::from(printed::ROUNDS)).sqrt()
        };
        let clients = printed::sizes().len() as f64;
        // Standard error of a standard deviation over ten clients.
        let of_spread = |spread: f64| spread / (2.0 * (clients - 1.0)).sqrt();
        let row = |figure, printed, found, error| Compared {
            figure,
            printed,
            found,
            error,
        };
        // Of several seeds the spread is the mean of each seed's, so that it compares with one run's.
        let figure =
            |name, of: fn(&Activity) -> f64, error| row(name, of(&random), of(&self.random), error);
        vec![
            figure(
                "random: clients per round",
                Activity::clients,
                of_clients(&random),
            ),
            figure(
                "random: epochs each",
                Activity::epochs_each,
                random.epochs_spread() / clients.sqrt(),
            ),
            figure(
                "random: spread of participation",
                Activity::share_spread,
                of_spread(random.share_spread()),
            ),
            figure(
                "random: spread of epochs",
                Activity::epochs_spread,
                of_spread(random.epochs_spread()),
            ),
            row(
                "importance-aware: clients per round",
                aware.clients(),
                self.importance_aware.clients(),
                of_clients(&aware),
            ),
        ]
    }

    /// Returns the rank correlation of participation by client with the printed row of
    /// `importance-aware`.
    pub fn correlation(&self) -> f64 {
        let printed = printed::statistics(Scheduler::ImportanceAware).unwrap_or_default();
        rank_correlation(&self.importance_aware.schedules, &printed.schedules)
    }
}

impl Reading {
    /// Plans the rounds with every number of cycles and returns the fits in this order.
    pub fn scan(&self, base: &Base<'_>) -> Result<Vec<Fit>, ExperimentError> {
        CYCLES
            .iter()
            .map(|&cycles| self.fit(base, cycles))
            .collect()
    }

    fn fit(&self, base: &Base<'_>, cycles: f64) -> Result<Fit, ExperimentError> {
        let activity = |scheduler| self.activity(base, cycles, scheduler);
        let mut fit = Fit {
            reading: self.name,
            cycles,
            misfit: 0.0,
            random: activity(Scheduler::Random)?,
            importance_aware: activity(Scheduler::ImportanceAware)?,
        };
        let compared = fit.compare();
        let squares = compared
            .iter()
            .map(|it| ((it.found - it.printed) / it.error).powi(2));
        fit.misfit = squares.sum();
        Ok(fit)
    }

    fn activity(
        &self,
        base: &Base<'_>,
        cycles: f64,
        scheduler: Scheduler,
    ) -> Result<Activity, ExperimentError> {
        let mut overrides = base.overrides.to_vec();
        for (key, value) in self.keys {
            overrides.push(format!("{key}={value}").parse()?);
        }
        overrides.push(Override::new("device.cycles_per_sample", cycles));
        overrides.push(Override::new("run.scheduler", scheduler.to_string()));
        overrides.push(Override::new("run.seed", i64::from(base.seed)));
        let scenario = resolve(base.preset, &overrides)?;
        let planner = Planner::new(&scenario)?;
        let policy = gleaner_sim::round::settings::policy(&scenario);
        let mut activity = Activity::new(printed::sizes().len());
        for round in 1..=base.rounds {
            let instance = planner.instance(round)?;
            let norms = base.norms.of_round(round);
            let decision = planner.decide(&*policy, round, &instance, norms)?;
            planner::note(&mut activity, &instance, &decision);
        }
        Ok(activity)
    }
}

/// What all readings share.
pub struct Base<'a> {
    pub preset: &'a str,
    pub overrides: &'a [Override],
    pub seed: u32,
    pub rounds: u32,
    pub norms: &'a Norms,
}
