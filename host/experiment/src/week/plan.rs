//! What runs: every preset on the traces it can live on, with every scheduler and seed.

use gleaner_energy::harvest::{Harvest, builtin};

use super::error::WeekError;
use crate::PlannedRun;
use crate::track::Roster;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::run::RunDirectory;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, resolve};

const DAY_S: f64 = 86_400.0;
/// From one evaluation to the next.
const EVALUATE_S: f64 = 7_200.0;
/// Rounds between checkpoints.
const CHECKPOINT: i64 = 100;

/// A week to live through.
#[derive(Clone, Debug)]
pub struct Week {
    /// The presets of the boards.
    pub presets: Vec<String>,
    /// Names of built-in traces; none means each preset's own.
    pub traces: Vec<String>,
    /// Who decides.
    pub schedulers: Vec<Scheduler>,
    /// How many days; parts of a day do.
    pub days: f64,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Mean number of samples of a client; a tenth of it is the standard deviation.
    pub samples: f64,
    /// What else differs from the presets.
    pub overrides: Vec<Override>,
}

/// A preset on a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The preset.
    pub preset: String,
    /// The trace, as `harvest.file` has it.
    pub trace: String,
}

impl Place {
    /// Returns the trace without its prefix.
    #[must_use]
    pub fn trace_name(&self) -> &str {
        self.trace.trim_start_matches("builtin:")
    }

    /// Returns how it is called in headings.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} on {}", self.preset, self.trace_name())
    }

    /// Returns how it is called in names of files.
    #[must_use]
    pub fn slug(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name = format!("{}-{}", self.preset, self.trace_name());
        name.chars().map(plain).collect()
    }
}

/// A preset on a trace that it cannot live on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where.
    pub place: Place,
    /// Why not.
    pub reason: String,
}

/// One run in the order of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) place: usize,
    pub(super) scheduler: Scheduler,
    pub(super) seed: u64,
    pub(super) run: usize,
}

impl Week {
    /// Returns where the week is lived, and where it is not and why. A trace does for a board if it
    /// is of the kind its panel or cell is described by, and brings more than sleep and leakage take.
    ///
    /// # Errors
    /// A preset that is not there or has no store, a trace that cannot be read, or no place at all.
    pub fn places(&self) -> Result<(Vec<Place>, Vec<Skipped>), WeekError> {
        let (mut places, mut skipped): (Vec<Place>, Vec<Skipped>) = (Vec::new(), Vec::new());
        for preset in &self.presets {
            let own = resolve(preset, &self.overrides)?;
            if own.harvest.store().is_none() {
                let preset = preset.clone();
                return Err(WeekError::NoStore { preset });
            }
            let traces: Vec<String> = match self.traces.is_empty() {
                true => vec![own.harvest.file.clone()],
                false => self
                    .traces
                    .iter()
                    .map(|it| format!("builtin:{it}"))
                    .collect(),
            };
            for trace in traces {
                let preset = preset.clone();
                let place = Place { preset, trace };
                match self.lack(&place, &own)? {
                    Some(reason) => skipped.push(Skipped { place, reason }),
                    None => places.push(place),
                }
            }
        }
        if places.is_empty() {
            let reasons = skipped
                .iter()
                .map(|it| format!("{}: {}", it.place.name(), it.reason));
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            return Err(WeekError::Nowhere { reasons });
        }
        Ok((places, skipped))
    }

    /// Says what a place lacks to be lived in.
    fn lack(&self, place: &Place, own: &Scenario) -> Result<Option<String>, WeekError> {
        let named = builtin::named(&place.trace)?;
        if let Some(other) = named.filter(|trace| trace.source != own.harvest.source) {
            let (source, wanted) = (other.source, own.harvest.source);
            return Ok(Some(format!(
                "the trace is of kind {source}, the board's {wanted}"
            )));
        }
        let scenario = self.scenario(place, Scheduler::Glean, 0)?;
        let (clients, from) = (scenario.clients.count, &scenario.harvest);
        let incomes = vec![scenario.device.harvest_j; clients];
        let harvest = Harvest::try_new(&scenario.income_settings(), 0, clients, 1, &incomes)?;
        let total_w: f64 = (0..clients).map(|client| harvest.mean_w(client)).sum();
        let stored_w = total_w / clients as f64 * from.charge_efficiency;
        let asleep_w = scenario.device.sleep_w + from.leakage_w;
        Ok((stored_w <= asleep_w).then(|| {
            format!(
                "{:.2} mW reach the store, sleep and leakage take {:.2} mW",
                1e3 * stored_w,
                1e3 * asleep_w
            )
        }))
    }

    /// Returns the scenario of a scheduler in a place.
    ///
    /// # Errors
    /// Whatever is wrong with it.
    pub fn scenario(
        &self,
        place: &Place,
        scheduler: Scheduler,
        seed: u64,
    ) -> Result<Scenario, ScenarioError> {
        let period_s = resolve(&place.preset, &self.overrides)?.period_s();
        let rounds = |s: f64| ((s / period_s).round() as i64).max(1);
        let mut overrides = vec![
            Override::new("run.scheduler", scheduler.to_string()),
            Override::new("run.seed", i64::try_from(seed).unwrap_or(i64::MAX)),
            Override::new("run.rounds", rounds(self.days * DAY_S)),
            Override::new("run.evaluate_every", rounds(EVALUATE_S)),
            Override::new("run.checkpoint_every", CHECKPOINT),
            Override::new("harvest.file", place.trace.clone()),
            Override::new("partition.mean_samples", self.samples),
            Override::new("partition.std_samples", 0.1 * self.samples),
            // Nobody is to win by the step at the server, by shouting, or by norms nobody pays for.
            Override::new("server.rule", "spectral"),
            Override::new("baselines.power", "min"),
            Override::new("baselines.gradient_norms", "stale"),
        ];
        overrides.extend(self.overrides.iter().cloned());
        resolve(&place.preset, &overrides)
    }

    /// Plans every run, the runs of one seed before those of the next.
    pub(super) fn plan(
        &self,
        places: &[Place],
        directory: &RunDirectory,
    ) -> Result<(Vec<Entry>, Vec<PlannedRun>), ScenarioError> {
        let mut roster = Roster::new(directory);
        let mut entries = Vec::new();
        for &seed in &self.seeds {
            for (place, at) in places.iter().zip(0..) {
                for &scheduler in &self.schedulers {
                    entries.push(Entry {
                        place: at,
                        scheduler,
                        seed,
                        run: roster.add(self.scenario(place, scheduler, seed)?),
                    });
                }
            }
        }
        Ok((entries, roster.runs().to_vec()))
    }
}
