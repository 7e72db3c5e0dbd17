//! The comparison as a table, a CSV file, plots and a page.

use std::fs;
use std::path::Path;

use gleaner_files::write_atomically;

use super::charts;
use super::plan::Row;
use super::statistics::Statistic;
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::report::table::Table;
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::run::{RunDirectory, RunError, Summary};
use gleaner_sim::scenario::{Scenario, StopRule};

/// Returns the comparison as a table.
#[must_use]
pub fn table(rows: &[Row]) -> Table {
    let stopped = |row: &Row| row.summaries.iter().any(|one| one.ending.is_some());
    let validated = rows.iter().any(|row| validation(row).is_some());
    let mut names = vec!["scheduler", "power", "accuracy last tenth %"];
    if validated {
        names.push("validation last tenth %");
    }
    names.extend([
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
    ]);
    let mut table = Table::new(&names);
    for row in rows {
        let power = row.variant.power.map_or("chosen", Into::into);
        let mut cells = vec![
            row.variant.label(),
            power.to_owned(),
            row.statistic(|summary| summary.tail_accuracy)
                .text(100.0, 1),
        ];
        if validated {
            cells.push(validation(row).map_or_else(String::new, |share| share.text(100.0, 1)));
        }
        cells.extend([
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
        ]);
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

/// Names the row that is best on validation images, with what it then scores on test images; nothing
/// unless all rows were validated. Test accuracy has no say: the best of many test scores is partly luck.
#[must_use]
pub fn best(rows: &[Row]) -> Option<String> {
    let scores: Option<Vec<(&Row, Statistic)>> = rows
        .iter()
        .map(|row| Some((row, validation(row)?)))
        .collect();
    let scores = scores.filter(|scores| scores.len() > 1)?;
    // Of equals the first.
    let mut best = &scores[0];
    for score in &scores[1..] {
        if score.1.mean > best.1.mean {
            best = score;
        }
    }
    let (row, validation) = best;
    let test = row.statistic(|summary| summary.tail_accuracy);
    Some(format!(
        "Best on validation images: {} with {} %; it scores {} % on test images, which had no say.",
        row.variant.name(),
        validation.text(100.0, 1),
        test.text(100.0, 1)
    ))
}

/// Writes `compare.csv`, `plots/*.svg` and `report.html`.
///
/// # Errors
/// Names the file that cannot be read or written.
pub fn write(directory: &RunDirectory, scenario: &Scenario, rows: &[Row]) -> Result<(), RunError> {
    let save = |path: &Path, text: &str| write_atomically(path, text.as_bytes());
    let plots = directory.file(RunDirectory::PLOTS);
    fs::create_dir_all(&plots).map_err(gleaner_files::at(&plots))?;
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
    for text in [best(rows), saving(rows)].into_iter().flatten() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Variant;
    use gleaner_sim::policy::BaselinePower;
    use gleaner_sim::run::Tally;
    use strum::VariantArray;

    fn row(scheduler: Scheduler, test: f64, validation: Option<f64>) -> Row {
        let mut summary = Tally::default().summary();
        summary.tail_accuracy = test;
        summary.tail_validation_accuracy = validation;
        Row {
            variant: Variant::list(&[scheduler.into()], BaselinePower::VARIANTS)[0].clone(),
            seeds: vec![0],
            summaries: vec![summary],
            runs: Vec::new(),
        }
    }

    #[test]
    fn the_best_is_named_by_validation_alone_and_not_at_all_without() {
        let lucky = row(Scheduler::Random, 0.95, Some(0.80));
        let sound = row(Scheduler::Cre, 0.90, Some(0.85));
        let said = best(&[lucky.clone(), sound.clone()]).unwrap();
        assert!(
            said.starts_with("Best on validation images: cre with 85.0 %"),
            "{said}"
        );
        assert!(said.contains("90.0 % on test images"), "{said}");
        let blind = row(Scheduler::FedNova, 0.99, None);
        assert_eq!(best(&[lucky.clone(), sound, blind]), None);
        assert_eq!(best(&[lucky]), None);
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn validation_stands_beside_test_accuracy_where_there_is_any() {
        let header = |validation| table(&[row(Scheduler::Cre, 0.9, validation)]).header;
        assert_eq!(
            header(Some(0.8))[2..4],
            ["accuracy last tenth %", "validation last tenth %"]
        );
        assert!(!header(None).iter().any(|name| name.contains("validation")));
        for validation in [Some(0.8), None] {
            let table = table(&[row(Scheduler::Cre, 0.9, validation)]);
            assert_eq!(table.rows[0].len(), table.header.len());
        }
    }
}
