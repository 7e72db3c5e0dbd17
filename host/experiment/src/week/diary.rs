//! The diary of a run: what every day brought, read from its logs.

use gleaner_shared::energy::{Phase, Spent};
use gleaner_shared::units::PicoJoules;

use super::plan::Entry;
use crate::PlannedRun;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::round::ClientState;
use gleaner_sim::run::{LogError, RunDirectory, Summary, each_client, each_energy, each_round};

const DAY_S: f64 = 86_400.0;
/// Points of a curve a day.
const POINTS_A_DAY: f64 = 24.0;

/// What one day brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Day {
    /// Rounds that began in it.
    pub rounds: usize,
    /// Rounds with at least one update that was used.
    pub productive: usize,
    /// Updates that were used.
    pub updates: usize,
    /// Orders that clients declined.
    pub declined: usize,
    /// Client-rounds in which a store could not pay for all that was due.
    pub brownouts: usize,
    /// Test accuracy at the day's last evaluation.
    pub accuracy: Option<f64>,
    /// Mean over the clients of what was stored at the day's end.
    pub stored_j: f64,
    /// What all clients harvested.
    pub harvest_j: f64,
    /// What full stores turned away.
    pub overflow_j: f64,
    /// What all clients spent, by phase.
    pub spent_j: [f64; Phase::COUNT],
}

/// A run, day by day.
#[derive(Clone, Debug)]
pub struct Diary {
    /// The place, counted through [`super::Outcome::places`].
    pub place: usize,
    /// Who decided.
    pub scheduler: Scheduler,
    /// The seed.
    pub seed: u64,
    /// The directory of the run.
    pub directory: RunDirectory,
    /// The days, in order.
    pub days: Vec<Day>,
    /// Test accuracy after so many days.
    pub accuracy: Vec<(f64, f64)>,
    /// Mean level of the stores after so many days, in joules.
    pub stored_j: Vec<(f64, f64)>,
    /// What the run came to.
    pub summary: Summary,
    /// Clients.
    pub clients: usize,
    /// How long it lasted.
    pub length_days: f64,
}

impl Diary {
    pub(super) fn read(
        entry: &Entry,
        planned: &PlannedRun,
        summary: Summary,
    ) -> Result<Self, LogError> {
        let (scenario, directory) = (&planned.scenario, &planned.directory);
        let clients = scenario.clients.count;
        let period_s = scenario.period_s();
        let after = |round: u32| f64::from(round) * period_s / DAY_S;
        // A round belongs to the day it begins in; the introduction comes before the first.
        let day_of = |round: u32| after(round.saturating_sub(1)) as usize;
        let mut days = vec![Day::default(); 1 + day_of(scenario.run.rounds as u32)];
        let mut accuracy = Vec::new();
        let path = directory.file(RunDirectory::ROUNDS);
        for row in each_round(&path)? {
            let row = row?;
            let day = &mut days[day_of(row.round)];
            day.rounds += usize::from(row.round > 0);
            day.productive += usize::from(row.round > 0 && !row.participants.is_empty());
            day.updates += row.participants.len();
            if let Some(score) = row.accuracy {
                day.accuracy = Some(score);
                accuracy.push((after(row.round), score));
            }
        }
        let path = directory.file(RunDirectory::CLIENTS);
        for row in each_client(&path)? {
            let row = row?;
            days[day_of(row.round)].declined += usize::from(row.state == ClientState::Declined);
        }
        let (mut stored_j, mut level_j) = (Vec::new(), vec![0.0; clients]);
        let every = (DAY_S / POINTS_A_DAY / period_s).round().max(1.0) as u32;
        let path = directory.file(RunDirectory::ENERGY);
        for row in each_energy(&path)? {
            let row = row?;
            let day = &mut days[day_of(row.round)];
            let Spent(phases) = row.record().spent;
            for (sum, spent) in day.spent_j.iter_mut().zip(phases) {
                *sum += spent.as_joules();
            }
            day.harvest_j += PicoJoules(row.harvest_pj).as_joules();
            day.overflow_j += PicoJoules(row.overflow_pj).as_joules();
            day.brownouts += usize::from(row.unpaid_pj > 0);
            level_j[row.client.index()] = PicoJoules(row.stored_pj.unwrap_or(0)).as_joules();
            if row.client.index() + 1 == clients {
                let mean_j = level_j.iter().sum::<f64>() / clients as f64;
                day.stored_j = mean_j;
                if row.round.is_multiple_of(every) {
                    stored_j.push((after(row.round), mean_j));
                }
            }
        }
        Ok(Self {
            place: entry.place,
            scheduler: entry.scheduler,
            seed: entry.seed,
            directory: directory.clone(),
            days,
            accuracy,
            stored_j,
            summary,
            clients,
            length_days: after(scenario.run.rounds as u32),
        })
    }

    /// Returns how much of a figure there was a day; less than a day counts as if it went on.
    pub(super) fn a_day(&self, figure: impl Fn(&Day) -> f64) -> f64 {
        let total: f64 = self.days.iter().map(figure).sum();
        total / self.length_days
    }

    /// Returns what a client spent a day in some phases, on average.
    pub(super) fn spent_a_day_j(&self, phases: &[Phase]) -> f64 {
        let places: Vec<usize> = phases.iter().map(|it| usize::from(it.code())).collect();
        let spent = |day: &Day| places.iter().map(|&at| day.spent_j[at]).sum::<f64>();
        self.a_day(spent) / self.clients as f64
    }
}
