//! What runs: every entrant in every cell with every seed, and each scenario once, whichever parts
//! share it.

use std::collections::HashMap;

use gleaner_files::{hexadecimal, sha256};

use super::cell::Cell;
use super::entrant::{Entrant, Server};
use super::error::TrackError;
use super::part::Part;
use super::tuning::Tuning;
use crate::PlannedRun;
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::run::RunDirectory;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError};

/// Turns overrides into a scenario.
pub type Resolve<'a> = &'a dyn Fn(&[Override]) -> Result<Scenario, ScenarioError>;

/// A track: who runs where, and with which seeds.
#[derive(Clone, Debug)]
pub struct Track {
    /// What is held equal.
    pub parts: Vec<Part>,
    /// The settings.
    pub cells: Vec<Cell>,
    /// Who decides.
    pub schedulers: Vec<Scheduler>,
    /// The powers of the baselines in part (a).
    pub powers: Vec<BaselinePower>,
    /// The seeds that judge.
    pub seeds: Vec<u64>,
    /// How part (c) is tuned.
    pub tuning: Tuning,
}

impl Track {
    /// Returns whom the others are compared with: glean, or the first where it does not run.
    #[must_use]
    pub fn judged(&self) -> Option<Scheduler> {
        let glean = Scheduler::Glean;
        match self.schedulers.contains(&glean) {
            true => Some(glean),
            false => self.schedulers.first().copied(),
        }
    }

    /// Returns who runs in a part before anything is tuned. In (c) whoever was described with the
    /// plain server is there twice, so that neither its rate nor its server holds it back.
    #[must_use]
    pub fn entrants(&self, part: Part) -> Vec<Entrant> {
        let least = [BaselinePower::Min];
        let list = |server| Entrant::list(&self.schedulers, &least, server);
        match part {
            Part::Paper => Entrant::list(&self.schedulers, &self.powers, None),
            Part::Server => list(Some(Server::Spectral)),
            Part::Tuned => {
                let mut both = list(None);
                let plain = |entrant: &Entrant| entrant.server == Server::Plain;
                let others: Vec<_> = both.iter().copied().filter(plain).collect();
                both.extend(others.into_iter().map(|entrant| Entrant {
                    server: Server::Spectral,
                    ..entrant
                }));
                both
            }
        }
    }

    /// Returns the cell in which part (c) is tuned: the middle one. What is chosen there runs in all,
    /// as a user who tunes once would have it.
    #[must_use]
    pub const fn tuning_cell(&self) -> usize {
        self.cells.len() / 2
    }

    /// Makes sure that no seed both chooses and judges.
    ///
    /// # Errors
    /// Names the first that would.
    pub fn check_seeds(&self) -> Result<(), TrackError> {
        let tuning = &self.tuning.seeds;
        let shared = self.seeds.iter().find(|seed| tuning.contains(seed));
        match (shared, tuning.first(), tuning.last()) {
            (Some(&seed), Some(&first), Some(&last)) if self.parts.contains(&Part::Tuned) => {
                Err(TrackError::SharedSeed { seed, first, last })
            }
            _ => Ok(()),
        }
    }
}

/// One run seen from one table: the same run may stand in several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// The part.
    pub part: Part,
    /// The cell, counted through [`Track::cells`].
    pub cell: usize,
    /// Who.
    pub entrant: Entrant,
    /// The seed.
    pub seed: u64,
    /// The run, counted through [`Roster::runs`].
    pub run: usize,
}

/// The runs of a track, every scenario once. A run's directory is named by the hash of its
/// scenario, so a track can be stopped, widened and started again.
#[derive(Clone, Debug)]
pub struct Roster {
    directory: RunDirectory,
    runs: Vec<PlannedRun>,
    places: HashMap<String, usize>,
}

impl Roster {
    /// Starts a roster of runs under a directory.
    #[must_use]
    pub fn new(directory: &RunDirectory) -> Self {
        Self {
            directory: directory.clone(),
            runs: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Returns the runs.
    #[must_use]
    pub fn runs(&self) -> &[PlannedRun] {
        &self.runs
    }

    /// Plans a scenario unless it is there already, and returns its number.
    pub fn add(&mut self, scenario: Scenario) -> usize {
        let digest = sha256(scenario.to_toml().as_bytes());
        let id = hexadecimal(&digest[..8]);
        if let Some(&place) = self.places.get(&id) {
            return place;
        }
        let directory = RunDirectory::new(self.directory.file("runs").join(&id));
        self.runs.push(PlannedRun {
            scenario,
            directory,
        });
        self.places.insert(id, self.runs.len() - 1);
        self.runs.len() - 1
    }
}

/// Plans some entrants of a part in one cell, with every seed that judges.
///
/// # Errors
/// Whatever `resolve` finds wrong with the scenario.
pub fn plan(
    track: &Track,
    (part, cell): (Part, usize),
    entrants: &[Entrant],
    resolve: Resolve<'_>,
    roster: &mut Roster,
) -> Result<Vec<Start>, ScenarioError> {
    let mut starts = Vec::new();
    for &seed in &track.seeds {
        for &entrant in entrants {
            let mut overrides = track.cells[cell].keys.clone();
            overrides.extend(entrant.overrides(seed));
            let run = roster.add(resolve(&overrides)?);
            starts.push(Start {
                part,
                cell,
                entrant,
                seed,
                run,
            });
        }
    }
    Ok(starts)
}
