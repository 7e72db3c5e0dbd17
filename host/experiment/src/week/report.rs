//! Tables, plots and the page of a week.

use std::fmt::Write;

use gleaner_shared::energy::Phase;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::plot::{BarChart, BarGroup, Series};
use gleaner_sim::report::table::Table;
use gleaner_sim::report::{Page, counted, setting};
use serde_json::json;

use super::Outcome;
use super::days::DailySummary;
use crate::error::ExperimentError;
use crate::page::{Findings, Section, colour_of, lines};
use crate::stats::Statistic;
use crate::table::columns;

/// Accuracies closer than this are called equal, in points.
const CLOSE: f64 = 0.5;
/// Phases of an order.
const ORDER: [Phase; 6] = [
    Phase::Idle,
    Phase::Apply,
    Phase::Train,
    Phase::Evaluate,
    Phase::Encode,
    Phase::Transmit,
];
/// Phases of an order in which the processor computes.
const COMPUTE: [Phase; 4] = [Phase::Apply, Phase::Train, Phase::Evaluate, Phase::Encode];

/// How the runs were set up.
const SET_UP: &str = "The boards sleep, listen, wait, compute and transmit at the powers of their presets; \
    energies are those of the board for as many samples as a client has. All schedulers have the same \
    (spectral) step at the server; baselines and rivals rank by gradient norms only as old as a client's \
    last update. Days are counted from the hour at which the preset begins.";
/// How the columns are computed.
const READING: &str = "Rounds per day are those with at least one update. Declined orders are those that a \
    client's energy store could not pay for; they cost the client what resting does. A brown-out is a \
    round in which a client could not pay for all that was due, sleep included. Orders J is the energy \
    that a client spent per day on orders: idle until the end of its window, compute and radio.";

impl Outcome<'_> {
    pub(super) fn findings(&self) -> Result<Findings, ExperimentError> {
        let (mut findings, mut text) = (Findings::default(), String::new());
        let week = self.week;
        let example = week.scenario(&self.places[0], Scheduler::Glean, week.seeds[0])?;
        let length = match week.days {
            7.0 => "a simulated week".to_owned(),
            days => format!("{days} simulated days"),
        };
        let lead = format!(
            "{}, {}, {} samples a client on average, {}.",
            counted(week.schedulers.len(), "scheduler"),
            setting(&example),
            week.samples,
            counted(week.seeds.len(), "seed"),
        );
        let mut page = Page::new(&format!("On harvested energy: {length}"), &lead);
        page.heading("Ranking against glean");
        for place in 0..self.places.len() {
            let ranking = self.ranking(place);
            page.paragraph(&ranking);
            let _ = writeln!(text, "{ranking}\n");
        }
        if week.seeds.len() < 2 {
            page.paragraph("One seed: differences of a point or two may be chance.");
        }
        page.heading("Set-up");
        page.paragraph(SET_UP);
        let power = example.baselines.power;
        let power = format!("Power rule of baselines and rivals: {power}.");
        page.paragraph(&power);
        let _ = writeln!(text, "{power}\n");
        page.paragraph(READING);
        for skipped in &self.skipped {
            let name = skipped.place.name();
            page.paragraph(&format!("Not run: {name}: {}.", skipped.reason));
        }
        for (place, at) in self.places.iter().zip(0..) {
            let mut section = Section::new(place.name());
            section.table("", self.table(at));
            self.draw(at, &mut section);
            section.table("Energy by phase:", self.phases(at));
            let _ = writeln!(text, "{}\n\n{}", place.name(), self.table(at).to_text());
            findings.section(&mut page, &section);
            let scenario = week.scenario(place, Scheduler::Glean, week.seeds[0])?;
            let summary = format!("the scenario of glean, {}", place.name());
            page.details(&summary, &scenario.to_commented_toml());
        }
        for skipped in &self.skipped {
            let (name, reason) = (skipped.place.name(), &skipped.reason);
            let _ = writeln!(text, "not run: {name}: {reason}");
        }
        let rows = |at: usize| {
            let table = self.table(at);
            json!({ "place": self.places[at].name(), "header": table.header, "rows": table.rows })
        };
        findings.json = (0..self.places.len()).map(rows).collect();
        findings.text = text;
        findings.file("week.csv", self.csv());
        findings.page(&page);
        Ok(findings)
    }

    /// Formats one row per run and day.
    fn csv(&self) -> String {
        let mut text = String::from(
            "preset,trace,scheduler,seed,run,day,rounds,productive_rounds,updates,declined,\
             brownouts,accuracy,stored_j,harvest_j,overflow_j",
        );
        for phase in Phase::ALL {
            let _ = write!(text, ",{}_j", phase.name());
        }
        text.push('\n');
        for it in &self.runs {
            let place = &self.places[it.place];
            for (day, number) in it.days.iter().zip(1..) {
                let accuracy = day
                    .accuracy
                    .map_or(String::new(), |share| share.to_string());
                let _ = write!(
                    text,
                    "{},{},{},{},{},{number},{},{},{},{},{},{accuracy},{},{},{}",
                    place.preset,
                    place.trace_name(),
                    it.scheduler,
                    it.seed,
                    it.id,
                    day.rounds,
                    day.productive,
                    day.updates,
                    day.declined,
                    day.brownouts,
                    day.stored_j,
                    day.harvest_j,
                    day.overflow_j,
                );
                day.spent_j.iter().for_each(|joules| {
                    let _ = write!(text, ",{joules}");
                });
                text.push('\n');
            }
        }
        text
    }

    /// Returns the results of each scheduler in a place.
    fn table(&self, place: usize) -> Table {
        let mut table = columns(
            "scheduler | accuracy % | rounds per day | updates per day | \
             declined per day | brown-outs | orders J | fairness",
        );
        for &scheduler in &self.week.schedulers {
            let runs = self.of(place, scheduler);
            let figure = |of: &dyn Fn(&DailySummary) -> f64| {
                let values: Vec<f64> = runs.iter().map(|it| of(it)).collect();
                Statistic::of(&values)
            };
            table.row(vec![
                scheduler.to_string(),
                figure(&|it| it.summary.final_accuracy).text(100.0, 1),
                figure(&|it| it.per_day(|day| day.productive as f64)).text(1.0, 1),
                figure(&|it| it.per_day(|day| day.updates as f64)).text(1.0, 1),
                figure(&|it| it.per_day(|day| day.declined as f64)).text(1.0, 1),
                figure(&|it| it.days.iter().map(|day| day.brownouts).sum::<usize>() as f64)
                    .text(1.0, 0),
                figure(&|it| it.spent_per_day_j(&ORDER)).text(1.0, 2),
                figure(&|it| it.summary.fairness).text(1.0, 2),
            ]);
        }
        table
    }

    /// Returns the energy of a client by phase in a place.
    fn phases(&self, place: usize) -> Table {
        let mut table = columns(
            "J per client and day | sleep | receive | idle | compute | radio | overflow | harvest",
        );
        for &scheduler in &self.week.schedulers {
            let runs = self.of(place, scheduler);
            let figure = |of: &dyn Fn(&DailySummary) -> f64| {
                let values: Vec<f64> = runs.iter().map(|it| of(it)).collect();
                format!("{:.2}", Statistic::of(&values).mean)
            };
            let clients = |it: &DailySummary| it.clients as f64;
            table.row(vec![
                scheduler.to_string(),
                figure(&|it| it.spent_per_day_j(&[Phase::Sleep])),
                figure(&|it| it.spent_per_day_j(&[Phase::Receive])),
                figure(&|it| it.spent_per_day_j(&[Phase::Idle])),
                figure(&|it| it.spent_per_day_j(&COMPUTE)),
                figure(&|it| it.spent_per_day_j(&[Phase::Transmit])),
                figure(&|it| it.per_day(|day| day.overflow_j) / clients(it)),
                figure(&|it| it.per_day(|day| day.harvest_j) / clients(it)),
            ]);
        }
        table
    }

    /// Compares the final accuracies with that of glean, or names the best where glean did not run.
    fn ranking(&self, place: usize) -> String {
        let accuracy = |scheduler: Scheduler| {
            let runs = self.of(place, scheduler);
            let values: Vec<f64> = runs.iter().map(|it| it.summary.final_accuracy).collect();
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
                true => "none".to_owned(),
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

    /// Draws accuracy, store levels and rounds per day of a place.
    fn draw(&self, place: usize, section: &mut Section) {
        let (name, slug) = (self.places[place].name(), self.places[place].slug());
        let seeds = match self.week.seeds.len() {
            1 => "One seed.",
            _ => "Means over the seeds.",
        };
        let curves = |curve: &dyn Fn(&DailySummary) -> Vec<(f64, f64)>| {
            let series = |&scheduler: &Scheduler| {
                let curves: Vec<_> = self.of(place, scheduler).into_iter().map(curve).collect();
                Series::line(scheduler.to_string(), colour_of(scheduler), mean(&curves))
            };
            self.week.schedulers.iter().map(series).collect()
        };
        let accuracy = curves(&|it| it.accuracy.iter().map(|&(x, y)| (x, 100.0 * y)).collect());
        section.draw(
            format!("accuracy-{slug}"),
            lines(
                &format!("Accuracy over the week, {name}"),
                ("days", "test accuracy (%)"),
                false,
                accuracy,
            ),
            format!("Test accuracy, evaluated every two hours. {seeds}"),
        );
        section.draw(
            format!("stores-{slug}"),
            lines(
                &format!("Store level, {name}"),
                ("days", "energy in a client's store (J)"),
                false,
                curves(&|it| it.stored_j.clone()),
            ),
            format!(
                "Mean over the clients, hourly. Lines coincide where sleep takes most of the energy. {seeds}"
            ),
        );
        section.draw(
            format!("rounds-{slug}"),
            self.bars(place, &format!("Rounds per day, {name}")),
            format!(
                "Rounds with at least one update per day, with all rounds of a day as the line across. \
                 {seeds}"
            ),
        );
    }

    fn bars(&self, place: usize, title: &str) -> String {
        let bar = |&scheduler: &Scheduler| {
            let runs = self.of(place, scheduler);
            let figure = |of: &dyn Fn(&DailySummary) -> f64| {
                Statistic::of(&runs.iter().map(|it| of(it)).collect::<Vec<_>>()).mean
            };
            let productive = figure(&|it| it.per_day(|day| day.productive as f64));
            BarGroup {
                label: scheduler.to_string(),
                parts: vec![productive],
                reference: Some(figure(&|it| it.per_day(|day| day.rounds as f64))),
            }
        };
        BarChart {
            title: title.to_owned(),
            x_label: "scheduler".to_owned(),
            y_label: "rounds per day".to_owned(),
            parts: vec!["rounds with an update".to_owned()],
            reference: "all rounds".to_owned(),
            bars: self.week.schedulers.iter().map(bar).collect(),
            note: String::new(),
        }
        .render()
    }
}

/// Returns the mean of curves over the same days.
fn mean(curves: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let length = curves.iter().map(Vec::len).min().unwrap_or(0);
    (0..length)
        .map(|at| {
            let values: Vec<f64> = curves.iter().map(|curve| curve[at].1).collect();
            (curves[0][at].0, Statistic::of(&values).mean)
        })
        .collect()
}
