//! The comparison as a table, a CSV file, plots and a page.

use std::fs;
use std::path::Path;

use gleaner_learn::file::{self, write_atomically};

use super::charts;
use super::plan::Row;
use super::statistics::Statistic;
use crate::policy::{BaselinePower, Scheduler};
use crate::report::table::Table;
use crate::report::{Page, counted, setting};
use crate::run::{RunDirectory, RunError, Summary};
use crate::scenario::{Scenario, StopRule};

/// Returns the comparison as a table.
#[must_use]
pub fn table(rows: &[Row]) -> Table {
    let stopped = |row: &Row| row.summaries.iter().any(|one| one.ending.is_some());
    let mut names = vec![
        "scheduler",
        "power",
        "accuracy last tenth %",
        if rows.iter().any(stopped) {
            "model kept %"
        } else {
            "last round %"
        },
        "energy mJ/round",
        "clients",
        "epochs",
        "fairness",
        "C5 broken %",
    ];
    let validated = rows.iter().any(|row| validation(row).is_some());
    if validated {
        names.push("validation last tenth %");
    }
    let mut table = Table::new(&names);
    for row in rows {
        let power = row.variant.power.map_or("chosen", Into::into);
        let mut cells = vec![
            row.variant.label(),
            power.to_owned(),
            row.statistic(|summary| summary.tail_accuracy)
                .text(100.0, 1),
            row.statistic(|summary| summary.final_accuracy)
                .text(100.0, 1),
            row.statistic(|summary| summary.energy_per_round_j)
                .text(1e3, 2),
            format!("{:.2}", row.statistic(|summary| summary.participants).mean),
            format!("{:.2}", row.statistic(|summary| summary.epochs).mean),
            format!("{:.2}", row.statistic(|summary| summary.fairness).mean),
            format!(
                "{:.0}",
                100.0 * row.statistic(|summary| summary.overdrawn_share).mean
            ),
        ];
        if validated {
            cells.push(validation(row).map_or_else(String::new, |share| share.text(100.0, 1)));
        }
        table.row(cells);
    }
    table
}

/// Returns the validation accuracy over the last tenth, where every seed has one.
fn validation(row: &Row) -> Option<Statistic> {
    let shares = row.summaries.iter().map(|one| one.tail_validation_accuracy);
    let shares: Vec<f64> = shares.collect::<Option<_>>()?;
    (!shares.is_empty()).then(|| Statistic::of(&shares))
}

/// Writes `compare.csv`, `plots/*.svg` and `report.html`.
///
/// # Errors
/// Names the file that cannot be read or written.
pub fn write(directory: &RunDirectory, scenario: &Scenario, rows: &[Row]) -> Result<(), RunError> {
    let save = |path: &Path, text: &str| write_atomically(path, text.as_bytes());
    let plots = directory.file(RunDirectory::PLOTS);
    fs::create_dir_all(&plots).map_err(file::at(&plots))?;
    save(&directory.file("compare.csv"), &csv(rows))?;
    let charts = charts::draw(rows)?;
    let mut page = page(scenario, rows);
    for chart in &charts {
        save(&plots.join(format!("{}.svg", chart.name)), &chart.svg)?;
        page.figure(&chart.svg, &chart.caption);
    }
    page.details("the common scenario", &scenario.to_commented_toml());
    Ok(save(&directory.file(RunDirectory::REPORT), &page.finish())?)
}

/// One row per run: tidy, for other tools.
fn csv(rows: &[Row]) -> String {
    let mut text = format!("scheduler,baseline_power,seed,{}\n", Summary::CSV_HEADER);
    for row in rows {
        let power = row.variant.power.map_or("", <&str>::from);
        for (seed, summary) in row.seeds.iter().zip(&row.summaries) {
            let (scheduler, cells) = (row.variant.label(), summary.csv_cells());
            text.push_str(&format!("{scheduler},{power},{seed},{cells}\n"));
        }
    }
    text
}

fn page(scenario: &Scenario, rows: &[Row]) -> Page {
    let seeds = rows
        .iter()
        .map(|row| row.summaries.len())
        .max()
        .unwrap_or(0);
    let lead = format!(
        "{}{}, {}, {} each.",
        match scenario.run.stop {
            StopRule::Rounds => "",
            StopRule::Validation => "At most ",
        },
        counted(scenario.run.rounds, "round"),
        setting(scenario),
        counted(seeds, "seed"),
    );
    let mut page = Page::new("Schedulers compared", &lead);
    page.table(&table(rows));
    page.paragraph(
        "Figures are means over the seeds, with the sample standard deviation behind a \
         plus-minus where there are several. Accuracy of the last tenth is the mean over the last \
         tenth of the rounds; clients and epochs are per round; fairness is Jain's index of how \
         often clients took part; C5 is broken for a client while it has spent more than it \
         harvested.",
    );
    if let Some(text) = saving(rows) {
        page.paragraph(&text);
    }
    page
}

/// Says how much of CRE's saving is left when the baselines stop shouting.
fn saving(rows: &[Row]) -> Option<String> {
    let energy = |row: &Row| row.statistic(|summary| summary.energy_per_round_j).mean;
    let cre = energy(
        rows.iter()
            .find(|row| row.variant.scheduler == Scheduler::Cre)?,
    );
    let least = |power: BaselinePower| {
        rows.iter()
            .filter(|row| row.variant.power == Some(power))
            .map(|row| (energy(row), &row.variant.scheduler))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let sentence = |power: BaselinePower, words: &str| {
        least(power).map(|(energy, scheduler)| {
            let difference = 100.0 * (1.0 - cre / energy);
            let verdict = if difference >= 0.0 {
                format!("{difference:.0} % less than")
            } else {
                format!("{:.0} % more than", -difference)
            };
            format!(
                "Against baselines {words}, CRE spends {verdict} the most frugal one ({scheduler})."
            )
        })
    };
    let full = sentence(BaselinePower::Max, "at full power");
    let least = sentence(
        BaselinePower::Min,
        "at the least power that meets the deadline",
    );
    let text = [full, least]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    (!text.is_empty()).then_some(text)
}
