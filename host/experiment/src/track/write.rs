//! The track as files: `track.json`, `track.csv`, `track.md`, `plots/*.svg` and `report.html`.

use std::fs;
use std::path::Path;

use gleaner_files::write_atomically;
use serde_json::{Value, json};

use super::bootstrap::{CONFIDENCE, RESAMPLES};
use super::charts;
use super::error::TrackError;
use super::race::Outcome;
use super::tables::{self, Titled};
use super::verdict::verdicts;
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::run::{RunDirectory, Summary};
use gleaner_sim::scenario::Scenario;

/// What every reader must see first.
pub const FIRST: &str = "The server's step is not the scheduler.";

/// Why it must.
const WHY: &str = "Much of glean's accuracy comes from the step at the base station, which every \
    scheduler may use. Part (a) has each scheduler with the server it was described with, part (b) \
    all of them with the same one; what is left between the rows of (b) is the scheduler's own: who \
    is heard, at what power, for how many epochs.";

/// How the figures are to be read.
const READING: &str = "Accuracy is the mean over the last tenth of the rounds, energy that of all \
    clients together; both are means over the seeds, with the sample standard deviation behind a \
    plus-minus. Differences are paired by seed, with the 95 % percentile bootstrap interval of their \
    mean (10,000 resamples); `ahead` and `behind` stand only where it excludes zero. Accuracy after \
    so many mJ is read off straight lines between evaluations; in brackets where a run ended before \
    it had spent as much. C5 broken counts the (client, round) pairs of all seeds in which a client \
    had spent more than it harvested.";

/// Below this many seeds an interval is little more than their range.
const FEW_SEEDS: usize = 5;

impl Outcome {
    /// Returns how the figures are to be read, with a warning where there are few seeds.
    fn reading(&self) -> String {
        match self.few_seeds() {
            Some(warning) => format!("{READING} {warning}"),
            None => READING.to_owned(),
        }
    }

    /// Warns where there are too few seeds for an interval to say much.
    fn few_seeds(&self) -> Option<String> {
        let seeds = self.track.seeds.len();
        (2..FEW_SEEDS).contains(&seeds).then(|| {
            format!(
                "With {} an interval is little more than their range: read `ahead` as `ahead so far`.",
                counted(seeds, "seed")
            )
        })
    }

    /// Returns every table in the order of reading.
    fn tables(&self) -> Vec<Titled> {
        let mut all = Vec::new();
        for cell in 0..self.track.cells.len() {
            all.extend(tables::beside(self, cell).map(|table| Titled {
                title: format!(
                    "(a) beside (b), {}: least power",
                    self.track.cells[cell].name
                ),
                table,
            }));
        }
        for (part, cell) in self.places() {
            if part == super::Part::Tuned {
                all.extend(tables::tuning(self, cell));
            }
            all.extend(tables::of_place(self, part, cell));
        }
        all
    }

    /// Writes the tables for a terminal, verdicts last.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{FIRST}\n");
        for Titled { title, table } in self.tables() {
            text.push_str(&format!("\n{title}\n\n{}", table.to_text()));
        }
        let (table, lines) = tables::verdict(self);
        if !lines.is_empty() {
            let judged = self.track.judged().map_or("", Into::into);
            text.push_str(&format!(
                "\nIs {judged} ahead of every other?\n\n{}\n",
                table.to_text()
            ));
            lines
                .iter()
                .chain(&self.few_seeds())
                .for_each(|line| text.push_str(&format!("{line}\n")));
        }
        text
    }

    /// Writes the tables as Markdown, to be pasted.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("**{FIRST}** {WHY}\n\n{}\n", self.reading());
        let (table, lines) = tables::verdict(self);
        if !lines.is_empty() {
            text.push_str(&format!("\n### Verdicts\n\n{}\n", table.to_markdown()));
            lines
                .iter()
                .for_each(|line| text.push_str(&format!("- {line}\n")));
        }
        for Titled { title, table } in self.tables() {
            text.push_str(&format!("\n### {title}\n\n{}", table.to_markdown()));
        }
        text
    }

    /// Returns the whole as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let cell = |at: usize| self.track.cells[at].name.as_str();
        let standings: Vec<Value> = self
            .standings
            .iter()
            .map(|standing| {
                let seeds: Vec<Value> = standing
                    .records
                    .iter()
                    .map(|(seed, record)| {
                        json!({
                            "seed": seed,
                            "figures": record.summary,
                            "c5_broken": record.broken,
                            "client_rounds": record.client_rounds,
                        })
                    })
                    .collect();
                json!({
                    "part": standing.part,
                    "cell": cell(standing.cell),
                    "entrant": standing.entrant,
                    "seeds": seeds,
                })
            })
            .collect();
        let named = |value: Value, at: usize| -> Value {
            let Value::Object(mut fields) = value else {
                return value;
            };
            fields.insert("cell".to_owned(), cell(at).into());
            fields.into()
        };
        let list = |values: Vec<(Value, usize)>| -> Vec<Value> {
            values
                .into_iter()
                .map(|(value, at)| named(value, at))
                .collect()
        };
        let verdicts = verdicts(&self.duels);
        json!({
            "first": FIRST,
            "judged": self.track.judged(),
            "parts": self.track.parts,
            "cells": self.track.cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(),
            "seeds": self.track.seeds,
            "tuning": self.track.tuning,
            "bootstrap": { "kind": "percentile", "confidence": CONFIDENCE, "resamples": RESAMPLES },
            "standings": standings,
            "choices": list(self.choices.iter().map(|c| (json!(c), c.cell)).collect()),
            "differences": list(self.duels.iter().map(|d| (json!(d), d.cell)).collect()),
            "verdicts": list(verdicts.iter().map(|v| (json!(v), v.cell)).collect()),
            "summary": tables::verdict(self).1,
        })
    }

    /// One row per part and run: tidy, for other tools.
    fn csv(&self) -> String {
        let mut text = format!(
            "part,cell,scheduler,power,server,tuned,seed,{},c5_broken,client_rounds\n",
            Summary::CSV_HEADER
        );
        for standing in &self.standings {
            let entrant = &standing.entrant;
            for (seed, record) in &standing.records {
                text.push_str(&format!(
                    "{},{},{},{},{},{},{seed},{},{},{}\n",
                    standing.part,
                    self.track.cells[standing.cell].name,
                    entrant.scheduler,
                    entrant.power_word(),
                    entrant.server.word(),
                    entrant
                        .tuned
                        .map_or_else(String::new, |value| value.to_string()),
                    record.summary.csv_cells(),
                    record.broken,
                    record.client_rounds,
                ));
            }
        }
        text
    }

    /// Writes all files of the track.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn write(&self, directory: &RunDirectory, scenario: &Scenario) -> Result<(), TrackError> {
        let save = |path: &Path, text: &str| write_atomically(path, text.as_bytes());
        let plots = directory.file(RunDirectory::PLOTS);
        fs::create_dir_all(&plots).map_err(gleaner_files::at(&plots))?;
        save(&directory.file("track.csv"), &self.csv())?;
        save(&directory.file("track.md"), &self.to_markdown())?;
        let json = format!("{:#}\n", self.to_json());
        save(&directory.file("track.json"), &json)?;
        let mut page = self.front(scenario);
        for (part, cell) in self.places() {
            if part == super::Part::Tuned {
                for Titled { title, table } in tables::tuning(self, cell) {
                    page.heading(&title);
                    page.table(&table);
                }
            }
            for Titled { title, table } in tables::of_place(self, part, cell) {
                page.heading(&title);
                page.table(&table);
            }
            for drawing in charts::draw(self, part, cell) {
                save(&plots.join(format!("{}.svg", drawing.name)), &drawing.svg)?;
                page.figure(&drawing.svg, drawing.caption);
            }
        }
        page.details("the common scenario", &scenario.to_commented_toml());
        Ok(save(&directory.file(RunDirectory::REPORT), &page.finish())?)
    }

    /// Begins the page: the sentence, (a) beside (b), the verdicts.
    fn front(&self, scenario: &Scenario) -> Page {
        let lead = format!(
            "{}, {}, {}, {}.",
            counted(scenario.run.rounds, "round"),
            setting(scenario),
            counted(self.track.cells.len(), "cell"),
            counted(self.track.seeds.len(), "seed"),
        );
        let mut page = Page::new("Schedulers on the track", &lead);
        page.heading(FIRST);
        page.paragraph(WHY);
        for cell in 0..self.track.cells.len() {
            if let Some(table) = tables::beside(self, cell) {
                page.paragraph(&self.track.cells[cell].name);
                page.table(&table);
            }
        }
        let (table, lines) = tables::verdict(self);
        if !lines.is_empty() {
            page.heading("Ahead of every other?");
            page.table(&table);
            lines.iter().for_each(|line| page.paragraph(line));
        }
        page.paragraph(&self.reading());
        page
    }
}
