//! The week as files: `week.html`, `week.csv` and `plots/*.svg`.

use std::fmt::Write;
use std::fs;

use gleaner_files::write_atomically;
use gleaner_shared::energy::Phase;

use super::{Outcome, WeekError};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::run::RunDirectory;

/// The page.
pub const PAGE: &str = "week.html";
/// The table of days.
pub const DAYS: &str = "week.csv";

/// How the figures are to be read.
const READING: &str = "Rounds a day are those that brought at least one update; declined orders are \
    those a client's store could not pay for, and cost it what resting does; a brown-out is a round in \
    which a client could not pay for all that was due, sleep included. Orders J is what a client \
    spent a day on orders: waiting awake for the end of its window, computing and sending.";

impl Outcome {
    /// Writes the tables for a terminal, who is ahead first.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for place in 0..self.places.len() {
            let _ = writeln!(text, "{}\n", self.standing(place));
        }
        for (place, at) in self.places.iter().zip(0..) {
            let _ = writeln!(text, "{}\n\n{}", place.name(), self.table(at).to_text());
        }
        for skipped in &self.skipped {
            let _ = writeln!(
                text,
                "not run: {}: {}",
                skipped.place.name(),
                skipped.reason
            );
        }
        text
    }

    /// One row per run and day.
    fn csv(&self) -> String {
        let mut text = String::from(
            "preset,trace,scheduler,seed,run,day,rounds,productive_rounds,updates,declined,\
             brownouts,accuracy,stored_j,harvest_j,overflow_j",
        );
        for phase in Phase::ALL {
            let _ = write!(text, ",{}_j", phase.name());
        }
        text.push('\n');
        for diary in &self.diaries {
            let place = &self.places[diary.place];
            let run = diary.directory.path().file_name().unwrap_or_default();
            for (day, number) in diary.days.iter().zip(1..) {
                let accuracy = day.accuracy.map_or(String::new(), |it| it.to_string());
                let _ = write!(
                    text,
                    "{},{},{},{},{},{number},{},{},{},{},{},{accuracy},{},{},{}",
                    place.preset,
                    place.trace_name(),
                    diary.scheduler,
                    diary.seed,
                    run.to_string_lossy(),
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

    /// Writes all files of the week.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn write(&self, directory: &RunDirectory) -> Result<(), WeekError> {
        let plots = directory.file(RunDirectory::PLOTS);
        fs::create_dir_all(&plots).map_err(gleaner_files::at(&plots))?;
        write_atomically(&directory.file(DAYS), self.csv().as_bytes())?;
        let mut page = self.front()?;
        for (place, at) in self.places.iter().zip(0..) {
            page.heading(&place.name());
            page.table(&self.table(at));
            for drawing in self.draw(at) {
                let path = plots.join(format!("{}.svg", drawing.name));
                write_atomically(&path, drawing.svg.as_bytes())?;
                page.figure(&drawing.svg, &drawing.caption);
            }
            page.paragraph("Where the energy went:");
            page.table(&self.phases(at));
            let scenario = self
                .week
                .scenario(place, Scheduler::Glean, self.week.seeds[0])?;
            page.details(
                &format!("the scenario of glean, {}", place.name()),
                &scenario.to_commented_toml(),
            );
        }
        Ok(write_atomically(
            &directory.file(PAGE),
            page.finish().as_bytes(),
        )?)
    }

    /// Begins the page: who is ahead, how it was run, what was left out.
    fn front(&self) -> Result<Page, WeekError> {
        let week = &self.week;
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
        page.heading("Who is ahead of glean, and where");
        for place in 0..self.places.len() {
            page.paragraph(&self.standing(place));
        }
        if !self.has_spread() {
            page.paragraph("One seed: differences of a point or two may be chance.");
        }
        page.heading("How it was run");
        page.paragraph(
            "The boards sleep, listen, wait, compute and send at the powers of their presets; energies \
             are those of the board for as many samples as a client has. All schedulers have the same \
             (spectral) step at the server; baselines and rivals send with the least power that meets \
             the deadline, and rank by gradient norms only as old as a client's last update. Days are \
             counted from the hour the preset begins at.",
        );
        page.paragraph(READING);
        for skipped in &self.skipped {
            let name = skipped.place.name();
            page.paragraph(&format!("Not run: {name}: {}.", skipped.reason));
        }
        Ok(page)
    }
}
