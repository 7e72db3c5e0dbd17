//! The tables of a week, and the sentences that say first who is ahead.

use gleaner_shared::energy::Phase;

use super::{Diary, Outcome};
use crate::compare::Statistic;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::table::Table;

/// Accuracies closer than this are called equal, in points.
const CLOSE: f64 = 0.5;

impl Outcome {
    /// Returns what each scheduler got done in a place.
    pub(super) fn table(&self, place: usize) -> Table {
        let mut table = Table::new(&[
            "scheduler",
            "accuracy %",
            "rounds a day",
            "updates a day",
            "declined a day",
            "brown-outs",
            "orders J",
            "fairness",
        ]);
        for &scheduler in &self.week.schedulers {
            let diaries = self.of(place, scheduler);
            let figure = |of: &dyn Fn(&Diary) -> f64| {
                let values: Vec<f64> = diaries.iter().map(|it| of(it)).collect();
                Statistic::of(&values)
            };
            table.row(vec![
                scheduler.to_string(),
                figure(&|it| it.summary.final_accuracy).text(100.0, 1),
                figure(&|it| it.a_day(|day| day.productive as f64)).text(1.0, 1),
                figure(&|it| it.a_day(|day| day.updates as f64)).text(1.0, 1),
                figure(&|it| it.a_day(|day| day.declined as f64)).text(1.0, 1),
                figure(&|it| it.days.iter().map(|day| day.brownouts).sum::<usize>() as f64)
                    .text(1.0, 0),
                figure(&|it| it.spent_a_day_j(&WORK)).text(1.0, 2),
                figure(&|it| it.summary.fairness).text(1.0, 2),
            ]);
        }
        table
    }

    /// Returns where the energy of a client went in a place.
    pub(super) fn phases(&self, place: usize) -> Table {
        let mut table = Table::new(&[
            "J a client and day",
            "asleep",
            "listening",
            "waiting",
            "computing",
            "sending",
            "turned away",
            "harvested",
        ]);
        for &scheduler in &self.week.schedulers {
            let diaries = self.of(place, scheduler);
            let figure = |of: &dyn Fn(&Diary) -> f64| {
                let values: Vec<f64> = diaries.iter().map(|it| of(it)).collect();
                format!("{:.2}", Statistic::of(&values).mean)
            };
            let clients = |it: &Diary| it.clients as f64;
            table.row(vec![
                scheduler.to_string(),
                figure(&|it| it.spent_a_day_j(&[Phase::Sleep])),
                figure(&|it| it.spent_a_day_j(&[Phase::Receive])),
                figure(&|it| it.spent_a_day_j(&[Phase::Idle])),
                figure(&|it| it.spent_a_day_j(&COMPUTING)),
                figure(&|it| it.spent_a_day_j(&[Phase::Transmit])),
                figure(&|it| it.a_day(|day| day.overflow_j) / clients(it)),
                figure(&|it| it.a_day(|day| day.harvest_j) / clients(it)),
            ]);
        }
        table
    }

    /// Says who is ahead of glean in a place, or of whoever leads where glean did not run.
    pub(super) fn standing(&self, place: usize) -> String {
        let accuracy = |scheduler: Scheduler| {
            let diaries = self.of(place, scheduler);
            let values: Vec<f64> = diaries.iter().map(|it| it.summary.final_accuracy).collect();
            100.0 * Statistic::of(&values).mean
        };
        let mut all: Vec<(Scheduler, f64)> = self
            .week
            .schedulers
            .iter()
            .map(|&scheduler| (scheduler, accuracy(scheduler)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let name = self.places[place].name();
        let Some(&(_, glean)) = all.iter().find(|it| it.0 == Scheduler::Glean) else {
            return all.first().map_or(String::new(), |(best, accuracy)| {
                format!("{name}: {best} leads with {accuracy:.1} %.")
            });
        };
        let list = |wanted: &dyn Fn(f64) -> bool| {
            let named = all
                .iter()
                .filter(|it| it.0 != Scheduler::Glean && wanted(it.1 - glean));
            let named = named.map(|(who, points)| format!("{who} ({:+.1})", points - glean));
            let named: Vec<String> = named.collect();
            match named.is_empty() {
                true => "nobody".to_owned(),
                false => named.join(", "),
            }
        };
        format!(
            "{name}: glean ends at {glean:.1} %. Ahead of it, in points: {}. Within {CLOSE} of it: {}. \
             Behind: {}.",
            list(&|by| by > CLOSE),
            list(&|by| by.abs() <= CLOSE),
            list(&|by| by < -CLOSE),
        )
    }
}

/// What an order consists of.
const WORK: [Phase; 6] = [
    Phase::Idle,
    Phase::Apply,
    Phase::Train,
    Phase::Evaluate,
    Phase::Encode,
    Phase::Transmit,
];
/// The part of it in which the processor computes.
const COMPUTING: [Phase; 4] = [Phase::Apply, Phase::Train, Phase::Evaluate, Phase::Encode];
