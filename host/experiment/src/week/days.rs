//! Per-day summary of a run, read from its logs.

use gleaner_shared::energy::{Phase, Spent};
use gleaner_shared::units::PicoJoules;

use super::{DAY_S, Entry};
use crate::error::ExperimentError;
use crate::study::CompletedRun;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::round::ClientState;
use gleaner_sim::run::{RunDirectory, Summary, each_client, each_energy, each_round};

/// Points of a curve per day.
const POINTS_A_DAY: f64 = 24.0;

/// Sums over one day; energies of all clients, the store level as a mean over the clients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Day {
    pub(super) rounds: usize,
    /// Rounds with at least one update that was used.
    pub(super) productive: usize,
    pub(super) updates: usize,
    pub(super) declined: usize,
    pub(super) brownouts: usize,
    /// Test accuracy at the day's last evaluation.
    pub(super) accuracy: Option<f64>,
    /// Mean store level at the day's end.
    pub(super) stored_j: f64,
    pub(super) harvest_j: f64,
    /// Energy that full stores rejected.
    pub(super) overflow_j: f64,
    /// Energy spent by phase.
    pub(super) spent_j: [f64; Phase::COUNT],
}

/// A run, day by day, with curves over the days.
#[derive(Clone, Debug)]
pub(super) struct DailySummary {
    /// The place, counted through [`super::Outcome::places`].
    pub(super) place: usize,
    pub(super) scheduler: Scheduler,
    pub(super) seed: u64,
    pub(super) id: String,
    pub(super) days: Vec<Day>,
    pub(super) accuracy: Vec<(f64, f64)>,
    pub(super) stored_j: Vec<(f64, f64)>,
    pub(super) summary: Summary,
    pub(super) clients: usize,
    pub(super) length_days: f64,
}

impl DailySummary {
    pub(super) fn read(entry: &Entry, run: &CompletedRun) -> Result<Self, ExperimentError> {
        let (scenario, directory) = (&entry.point.scenario, &run.directory);
        let clients = scenario.clients.count;
        let period_s = scenario.period_s();
        let after = |round: u32| f64::from(round) * period_s / DAY_S;
        // A round belongs to the day in which it begins; round 0 comes before the first.
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
            id: entry.point.id.clone(),
            days,
            accuracy,
            stored_j,
            summary: run.summary.clone(),
            clients,
            length_days: after(scenario.run.rounds as u32),
        })
    }

    /// Returns the rate of a figure per day.
    pub(super) fn per_day(&self, figure: impl Fn(&Day) -> f64) -> f64 {
        let total: f64 = self.days.iter().map(figure).sum();
        total / self.length_days
    }

    /// Returns the mean energy that a client spent per day in some phases.
    pub(super) fn spent_per_day_j(&self, phases: &[Phase]) -> f64 {
        let places: Vec<usize> = phases.iter().map(|it| usize::from(it.code())).collect();
        let spent = |day: &Day| places.iter().map(|&at| day.spent_j[at]).sum::<f64>();
        self.per_day(spent) / self.clients as f64
    }
}
