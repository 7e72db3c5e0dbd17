//! Tables, plots and files of a benchmark: `track.json`, `track.csv`, `track.md` and the page. No table
//! is wider than 104 columns.

use gleaner_sim::policy::BaselinePower;
use gleaner_sim::report::plot::{Mark, Series};
use gleaner_sim::report::table::Table;
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::run::Summary;
use gleaner_sim::scenario::Scenario;
use serde_json::{Value, json};

use super::curve::{self, Reading};
use super::ranking::{CellRanking, Difference, PairedComparison};
use super::results::{Outcome, Results};
use super::{Candidate, Part, Server};
use crate::page::{Findings, Section, colour_of, lines};
use crate::stats::{CONFIDENCE, RESAMPLES};
use crate::table::{columns, trade_off};

/// Number of energy budgets in a table.
const BUDGETS: usize = 5;
/// Points of a curve.
const POINTS: usize = 120;
/// Below this many seeds an interval is little more than their range.
const FEW_SEEDS: usize = 5;

/// First sentence of every output.
const FIRST: &str =
    "Part (a) differs in the server's step too; part (b) compares schedulers alone.";

/// Explanation of the first sentence.
const WHY: &str = "Much of glean's accuracy comes from the step at the base station, which every \
    scheduler may use. Part (a) has each scheduler with the server it was described with, part (b) \
    all of them with the same one; differences between the rows of (b) are due to the schedulers: which \
    clients participate, at what power, for how many epochs.";

/// How the columns are computed.
const READING: &str = "Accuracy is the mean over the last tenth of the rounds, energy that of all \
    clients together; both are means over the seeds, with the sample standard deviation after the \
    plus-minus sign. Differences are paired by seed, with the 95 % percentile bootstrap interval of \
    their mean (10,000 resamples); `ahead` and `behind` are used only where the interval excludes zero. \
    Accuracy at an energy is interpolated linearly between evaluations; in brackets where a run ended \
    before it had spent as much. Overdrawn counts the (client, round) pairs of all seeds in which a \
    client had spent more than it harvested (C5).";

/// The first columns of most tables.
const WHO: [&str; 3] = ["scheduler", "power", "server"];

fn who(candidate: &Candidate) -> Vec<String> {
    vec![
        candidate.scheduler.to_string(),
        candidate.power_word().to_owned(),
        candidate.server.word().to_owned(),
    ]
}

fn table(columns: &[&str]) -> Table {
    Table::new(&[&WHO, columns].concat())
}

impl Outcome<'_> {
    /// Returns the results of a part in a cell.
    fn of(&self, part: Part, cell: usize) -> Vec<&Results> {
        let here = |it: &&Results| (it.part, it.cell) == (part, cell);
        self.results.iter().filter(here).collect()
    }

    pub(super) fn findings(&self, scenario: &Scenario) -> Findings {
        let cells = 0..self.rules.cells.len();
        let parts = self.rules.parts.iter();
        let places = parts.flat_map(|&part| cells.clone().map(move |cell| (part, cell)));
        let sections: Vec<Section> = places
            .map(|(part, cell)| self.section(part, cell))
            .collect();
        let beside: Vec<(String, Table)> = cells.filter_map(|cell| self.beside(cell)).collect();
        let (ranking, lines) = self.ranking();
        let tables = beside
            .iter()
            .chain(sections.iter().flat_map(|it| &it.tables));
        let tables: Vec<&(String, Table)> = tables.collect();
        let mut findings = Findings {
            text: self.text(&tables, &ranking, &lines),
            json: self.json(&lines),
            ..Findings::default()
        };
        findings.file("track.csv", self.csv());
        findings.file("track.md", self.markdown(&tables, &ranking, &lines));
        findings.file("track.json", format!("{:#}\n", findings.json));
        let lead = format!(
            "{}, {}, {}, {}.",
            counted(scenario.run.rounds, "round"),
            setting(scenario),
            counted(self.rules.cells.len(), "cell"),
            counted(self.rules.seeds.len(), "seed"),
        );
        let mut page = Page::new("Benchmark of schedulers", &lead);
        page.heading(FIRST);
        page.paragraph(WHY);
        for (title, table) in &beside {
            page.paragraph(title);
            page.table(table);
        }
        if !lines.is_empty() {
            page.heading("Ranking");
            page.table(&ranking);
            lines.iter().for_each(|line| page.paragraph(line));
        }
        page.paragraph(&self.reading());
        for section in &sections {
            findings.section(&mut page, section);
        }
        page.details("the common scenario", &scenario.to_commented_toml());
        findings.page(&page);
        findings
    }

    /// Returns the explanation of the columns, with a warning where there are few seeds.
    fn reading(&self) -> String {
        match self.few_seeds() {
            Some(warning) => format!("{READING} {warning}"),
            None => READING.to_owned(),
        }
    }

    fn few_seeds(&self) -> Option<String> {
        let seeds = self.rules.seeds.len();
        (2..FEW_SEEDS).contains(&seeds).then(|| {
            format!(
                "With {} an interval is little more than their range: `ahead` is preliminary.",
                counted(seeds, "seed")
            )
        })
    }

    fn text(&self, tables: &[&(String, Table)], ranking: &Table, lines: &[String]) -> String {
        let mut text = format!("{FIRST}\n");
        for (title, table) in tables {
            text.push_str(&format!("\n{title}\n\n{}", table.to_text()));
        }
        if !lines.is_empty() {
            let name = self.rules.reference().map_or("", Into::into);
            text.push_str(&format!("\nRanking of {name}\n\n{}\n", ranking.to_text()));
            let warning = self.few_seeds();
            let lines = lines.iter().chain(&warning);
            lines.for_each(|line| text.push_str(&format!("{line}\n")));
        }
        text
    }

    fn markdown(&self, tables: &[&(String, Table)], ranking: &Table, lines: &[String]) -> String {
        let mut text = format!("**{FIRST}** {WHY}\n\n{}\n", self.reading());
        if !lines.is_empty() {
            text.push_str(&format!("\n### Ranking\n\n{}\n", ranking.to_markdown()));
            let lines = lines.iter();
            lines.for_each(|line| text.push_str(&format!("- {line}\n")));
        }
        for (title, table) in tables {
            text.push_str(&format!("\n### {title}\n\n{}", table.to_markdown()));
        }
        text
    }

    fn json(&self, lines: &[String]) -> Value {
        let cell = |at: usize| self.rules.cells[at].name.as_str();
        let results = self.results.iter().map(|results| {
            let records = results.records.iter();
            let seeds: Vec<Value> = records
                .map(|(seed, record)| {
                    json!({
                        "seed": seed,
                        "figures": record.summary,
                        "overdrawn": record.overdrawn,
                        "client_rounds": record.client_rounds,
                    })
                })
                .collect();
            json!({
                "part": results.part,
                "cell": cell(results.cell),
                "candidate": results.candidate,
                "seeds": seeds,
            })
        });
        // Cells by name instead of their number.
        let named = |mut value: Value, at: usize| {
            value["cell"] = cell(at).into();
            value
        };
        let (choices, differences) = (self.choices.iter(), self.comparisons.iter());
        let rankings = self.rankings();
        json!({
            "first": FIRST,
            "reference": self.rules.reference(),
            "parts": self.rules.parts,
            "cells": self.rules.cells.iter().map(|it| &it.name).collect::<Vec<_>>(),
            "seeds": self.rules.seeds,
            "tuning": self.rules.tuning,
            "bootstrap": { "kind": "percentile", "confidence": CONFIDENCE, "resamples": RESAMPLES },
            "results": results.collect::<Vec<_>>(),
            "choices": choices.map(|it| named(json!(it), it.cell)).collect::<Vec<_>>(),
            "differences": differences.map(|it| named(json!(it), it.cell)).collect::<Vec<_>>(),
            "rankings": rankings.iter().map(|it| named(json!(it), it.cell)).collect::<Vec<_>>(),
            "summary": lines,
        })
    }

    /// Formats one row per part and run.
    fn csv(&self) -> String {
        let mut text = format!(
            "part,cell,scheduler,power,server,tuned,seed,{},overdrawn,client_rounds\n",
            Summary::CSV_HEADER
        );
        for results in &self.results {
            let candidate = &results.candidate;
            for (seed, record) in &results.records {
                text.push_str(&format!(
                    "{},{},{},{},{},{},{seed},{},{},{}\n",
                    results.part,
                    self.rules.cells[results.cell].name,
                    candidate.scheduler,
                    candidate.power_word(),
                    candidate.server.word(),
                    candidate
                        .tuned
                        .map_or_else(String::new, |it| it.to_string()),
                    record.summary.csv_cells(),
                    record.overdrawn,
                    record.client_rounds,
                ));
            }
        }
        text
    }

    /// Returns the tables and plots of one part in one cell.
    fn section(&self, part: Part, cell: usize) -> Section {
        let (place, all) = (&self.rules.cells[cell], self.of(part, cell));
        let title = format!("{}, {}", part.title(), place.name);
        let mut section = Section::new(title.clone());
        if part == Part::Tuned {
            section.tables.extend(self.tuning(cell));
        }
        let here = |it: &&PairedComparison| (it.part, it.cell) == (part, cell);
        let comparisons: Vec<_> = self.comparisons.iter().filter(here).collect();
        let reference: &str = self.rules.reference().map_or("", Into::into);
        section.table(format!("{title}: accuracy and energy"), figures(&all));
        section.table(
            format!("{title}: {reference} minus the other, paired by seed"),
            differences(&comparisons),
        );
        section.table(
            format!("{title}: C5, fairness, participation"),
            energy(&all),
        );
        section.table(format!("{title}: accuracy % at an energy"), budgets(&all));
        let slug = place.slug();
        let axes = ("energy of all clients so far (mJ)", "test accuracy (%)");
        let series = all
            .iter()
            .map(|results| line(results, self.named(results)))
            .collect();
        section.draw(
            format!("energy-{part}-{slug}"),
            lines(&title, axes, false, series),
            "Mean accuracy over the seeds on a common grid of energies; a line ends where the first of \
             its seeds has ended.",
        );
        let series = all
            .iter()
            .map(|results| point(results, self.named(results)))
            .collect();
        section.draw(
            format!("trade-off-{part}-{slug}"),
            trade_off(&title, series).render(),
            "Up and to the left is better. Hollow: baselines below full power.",
        );
        section
    }

    /// Returns parts (a) and (b) side by side: each scheduler with the server it was described with, and
    /// with the spectral one.
    fn beside(&self, cell: usize) -> Option<(String, Table)> {
        let (a, b) = (self.of(Part::Paper, cell), self.of(Part::Server, cell));
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let mut table = columns(
            "scheduler | (a) accuracy % | mJ/round | \
             (b) accuracy % | mJ/round | gain of the server",
        );
        for with in b {
            let key = |it: &Results| (it.candidate.scheduler, it.candidate.power);
            let Some(without) = a.iter().find(|it| key(it) == key(with)) else {
                continue;
            };
            let accuracy = |it: &Results| it.statistic(|summary| summary.tail_accuracy);
            let mut cells = vec![with.candidate.scheduler.to_string()];
            for it in [without, &with] {
                cells.push(accuracy(it).text(100.0, 2));
                cells.push(it.statistic(|it| it.energy_per_round_j).text(1e3, 2));
            }
            let gain = 100.0 * (accuracy(with).mean - accuracy(without).mean);
            cells.push(match without.candidate.server == with.candidate.server {
                true => "the same run".to_owned(),
                false => format!("{gain:+.2}"),
            });
            table.row(cells);
        }
        let name = &self.rules.cells[cell].name;
        let power = self.rules.frugal();
        Some((format!("(a) and (b), {name}: power rule {power}"), table))
    }

    /// Returns the name of a candidate in plots: its server, and its power where baselines of the part
    /// have several.
    fn named(&self, results: &Results) -> String {
        let candidate = &results.candidate;
        let several = results.part == Part::Paper && self.rules.powers.len() > 1;
        let name = match candidate.power {
            Some(power) if several => format!("{}-{power}", candidate.scheduler),
            _ => candidate.scheduler.to_string(),
        };
        format!("{name}, {} server", candidate.server.word())
    }

    /// Returns every validation score and the chosen values, by server.
    fn tuning(&self, cell: usize) -> Vec<(String, Table)> {
        let of = |server: Server| {
            let grid = self.rules.tuning.grid(server);
            let mut header = vec!["scheduler".to_owned(), "power".to_owned()];
            header.extend(grid.iter().map(f64::to_string));
            header.push("chosen".to_owned());
            let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
            let here = self.choices.iter().filter(|choice| choice.cell == cell);
            for choice in here.filter(|choice| choice.candidate.server == server) {
                let candidate = &choice.candidate;
                let mut cells = who(candidate);
                cells.pop();
                let scores = choice.scores.iter();
                cells.extend(scores.map(|it| format!("{:.2}", 100.0 * it.validation_accuracy)));
                let chosen = candidate
                    .tuned
                    .map_or_else(String::new, |it| it.to_string());
                cells.push(match choice.at_edge {
                    true => format!("{chosen} (edge)"),
                    false => chosen,
                });
                table.row(cells);
            }
            let (name, knob) = (&self.rules.cells[cell].name, server.knob());
            let title = format!("(c) {name}, validation accuracy % by {knob}");
            (!table.rows.is_empty()).then_some((title, table))
        };
        [Server::Plain, Server::Spectral]
            .into_iter()
            .filter_map(of)
            .collect()
    }

    /// Returns a row per part, cell and kind of server, and a sentence per part and kind of server.
    fn ranking(&self) -> (Table, Vec<String>) {
        let all = self.rankings();
        let mut table = columns(
            "cell | part | others' server | accuracy | \
             nearest, points | energy | nearest, mJ/round",
        );
        let word = |ahead: bool| if ahead { "yes" } else { "no" }.to_owned();
        let frugal = self.rules.frugal();
        let name = |candidate: &Candidate| match candidate.power {
            Some(power) if power != frugal => format!("{} ({power})", candidate.scheduler),
            _ => candidate.scheduler.to_string(),
        };
        for it in &all {
            let (accuracy, energy) = (&it.accuracy_points, &it.energy_mj);
            table.row(vec![
                self.rules.cells[it.cell].name.clone(),
                it.part.to_string(),
                it.server.word().to_owned(),
                word(accuracy.ahead_of_all),
                format!("{:+.2} {}", accuracy.least_lead, name(&accuracy.nearest)),
                word(energy.ahead_of_all),
                format!("{:+.2} {}", -energy.least_lead, name(&energy.nearest)),
            ]);
        }
        let reference: &str = self.rules.reference().map_or("none", Into::into);
        let mut lines = Vec::new();
        for part in &self.rules.parts {
            for server in [Server::Plain, Server::Spectral] {
                let here = |it: &&CellRanking| (it.part, it.server) == (*part, server);
                let here: Vec<&CellRanking> = all.iter().filter(here).collect();
                if here.is_empty() {
                    continue;
                }
                let cells = here.len();
                let accuracy = here.iter().filter(|it| it.accuracy_points.ahead_of_all);
                let energy = here.iter().filter(|it| it.energy_mj.ahead_of_all);
                lines.push(format!(
                    "({part}) against {} servers: {reference} ahead of every other on accuracy in {} of \
                     {cells}, on energy in {} of {cells}",
                    server.word(),
                    accuracy.count(),
                    energy.count(),
                ));
            }
        }
        (table, lines)
    }
}

fn figures(all: &[&Results]) -> Table {
    let mut table = table(&["tuned", "accuracy %", "last round %", "mJ/round"]);
    for results in all {
        let mut cells = who(&results.candidate);
        let tuned = results.candidate.tuned;
        cells.push(tuned.map_or_else(|| "-".to_owned(), |value| value.to_string()));
        cells.push(results.statistic(|it| it.tail_accuracy).text(100.0, 2));
        cells.push(results.statistic(|it| it.final_accuracy).text(100.0, 2));
        cells.push(results.statistic(|it| it.energy_per_round_j).text(1e3, 3));
        table.row(cells);
    }
    table
}

fn differences(comparisons: &[&PairedComparison]) -> Table {
    let mut table = table(&["points", "", "mJ/round", ""]);
    for comparison in comparisons {
        let mut cells = who(&comparison.other);
        for difference in [&comparison.accuracy_points, &comparison.energy_mj] {
            cells.push(interval(difference));
            cells.push(difference.verdict.to_string());
        }
        table.row(cells);
    }
    table
}

/// Formats `+1.23 [+0.91, +1.55]`, or the mean alone where there is no interval.
fn interval(difference: &Difference) -> String {
    let mean = format!("{:+.2}", difference.mean);
    match difference.interval {
        Some(ends) => format!("{mean} [{:+.2}, {:+.2}]", ends.low, ends.high),
        None => mean,
    }
}

fn energy(all: &[&Results]) -> Table {
    let mut table = table(&["clients", "epochs", "Jain", "overdrawn", "%"]);
    for results in all {
        let mut cells = who(&results.candidate);
        let figures: [fn(&Summary) -> f64; 3] =
            [|it| it.participants, |it| it.epochs, |it| it.fairness];
        cells.extend(figures.map(|figure| format!("{:.2}", results.statistic(figure).mean)));
        let (some, all) = results.overdrawn();
        cells.push(some.to_string());
        cells.push(format!("{:.1}", 100.0 * some as f64 / all.max(1) as f64));
        table.row(cells);
    }
    table
}

fn budgets(all: &[&Results]) -> Table {
    let curves = all.iter().flat_map(|results| results.curves());
    let most_j = curves.map(|curve| curve.end_j()).fold(0.0, f64::max);
    let budgets = curve::budgets(most_j, BUDGETS);
    let header = budgets.iter().map(|budget| format!("{} mJ", 1e3 * budget));
    let header: Vec<String> = header.collect();
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for results in all {
        let mut cells = who(&results.candidate);
        let reading = |&budget: &f64| match curve::mean(results.curves(), budget) {
            Reading::Before => "-".to_owned(),
            Reading::At(accuracy) => format!("{:.1}", 100.0 * accuracy),
            Reading::Ended(accuracy) => format!("({:.1})", 100.0 * accuracy),
        };
        cells.extend(budgets.iter().map(reading));
        table.row(cells);
    }
    table
}

/// Returns the mean accuracy of a candidate over energy.
fn line(results: &Results, name: String) -> Series {
    let ends = results.curves().map(|curve| curve.end_j());
    let end_j = ends.fold(f64::INFINITY, f64::min);
    let end_j = if end_j.is_finite() { end_j } else { 0.0 };
    let points = (0..=POINTS).filter_map(|n| {
        let energy_j = end_j * n as f64 / POINTS as f64;
        match curve::mean(results.curves(), energy_j) {
            Reading::At(accuracy) => Some((1e3 * energy_j, 100.0 * accuracy)),
            Reading::Before | Reading::Ended(_) => None,
        }
    });
    let candidate = &results.candidate;
    let colour = colour_of(candidate.scheduler);
    let series = Series::line(name, colour, points.collect());
    match candidate.power {
        Some(BaselinePower::Max) => series.with_mark(Mark::Dashed),
        _ => series,
    }
}

/// Returns energy and accuracy of a candidate as a point.
fn point(results: &Results, name: String) -> Series {
    let energy = results.statistic(|summary| 1e3 * summary.energy_per_round_j);
    let accuracy = results.statistic(|summary| 100.0 * summary.tail_accuracy);
    let candidate = &results.candidate;
    let mark = match candidate.power {
        None | Some(BaselinePower::Max) => Mark::Discs,
        Some(_) => Mark::Rings,
    };
    let at = vec![(energy.mean, accuracy.mean)];
    Series::line(name, colour_of(candidate.scheduler), at).with_mark(mark)
}
