//! The comparison as a table, a CSV file, plots and a page.

use gleaner_sim::policy::{BaselinePower, Decider, Scheduler};
use gleaner_sim::report::plot::{BarChart, BarGroup, Mark, Series};
use gleaner_sim::report::table::Table;
use gleaner_sim::report::{Page, counted, setting};
use gleaner_sim::round::RoundRow;
use gleaner_sim::run::{RunDirectory, Summary, read_rounds};
use gleaner_sim::scenario::{Scenario, StopRule};
use serde_json::{Value, json};
use strum::VariantArray;

use super::Row;
use crate::error::ExperimentError;
use crate::page::{Findings, Section, colour_of, lines, over_seeds};
use crate::stats::Statistic;

/// How the columns are computed.
const READING: &str = "Figures are means over the seeds, with the sample standard deviation after the \
    plus-minus sign. Accuracy of the last tenth is the mean over the last tenth of the rounds; clients \
    and epochs are per round; fairness is Jain's index of how often clients participated; a client is \
    overdrawn (C5) while it has spent more than it harvested.";

pub(super) fn findings(scenario: &Scenario, rows: &[Row]) -> Result<Findings, ExperimentError> {
    let mut findings = Findings {
        text: table(rows).to_text(),
        json: rows.iter().map(as_json).collect::<Vec<Value>>().into(),
        ..Findings::default()
    };
    findings.file("compare.csv", csv(rows));
    let seeds = rows.iter().map(|row| row.runs.len()).max().unwrap_or(0);
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
    page.paragraph(READING);
    let best = best(rows);
    if let Some(text) = &best {
        findings.text.push_str(&format!("\n{text}\n"));
    }
    for text in [best, saving(rows)].into_iter().flatten() {
        page.paragraph(&text);
    }
    findings.section(&mut page, &plots(rows)?);
    page.details("the common scenario", &scenario.to_commented_toml());
    findings.page(&page);
    Ok(findings)
}

fn as_json(row: &Row) -> Value {
    let summaries: Vec<&Summary> = row.runs.iter().map(|(_, run)| &run.summary).collect();
    let runs: Vec<_> = row.runs.iter().map(|(_, it)| it.directory.path()).collect();
    json!({
        "scheduler": row.variant.scheduler,
        "baseline_power": row.variant.power,
        "seeds": summaries,
        "runs": runs,
    })
}

fn table(rows: &[Row]) -> Table {
    let stopped = |row: &Row| row.runs.iter().any(|(_, it)| it.summary.ending.is_some());
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
        "overdrawn %",
    ]);
    let mut table = Table::new(&names);
    for row in rows {
        let mean = |figure: fn(&Summary) -> f64| row.statistic(figure).mean;
        let mut cells = vec![
            row.variant.label(),
            row.variant.power.map_or("chosen", Into::into).to_owned(),
            row.statistic(|it| it.tail_accuracy).text(100.0, 1),
        ];
        if validated {
            cells.push(validation(row).map_or_else(String::new, |share| share.text(100.0, 1)));
        }
        cells.extend([
            row.statistic(|it| it.final_accuracy).text(100.0, 1),
            row.statistic(|it| it.energy_per_round_j).text(1e3, 2),
            format!("{:.2}", mean(|it| it.participants)),
            format!("{:.2}", mean(|it| it.epochs)),
            format!("{:.2}", mean(|it| it.fairness)),
            format!("{:.0}", 100.0 * mean(|it| it.overdrawn_share)),
        ]);
        table.row(cells);
    }
    table
}

/// Returns the validation accuracy over the last tenth, if every seed has one.
fn validation(row: &Row) -> Option<Statistic> {
    let runs = row.runs.iter();
    let shares = runs.map(|(_, run)| run.summary.tail_validation_accuracy);
    let shares: Vec<f64> = shares.collect::<Option<_>>()?;
    (!shares.is_empty()).then(|| Statistic::of(&shares))
}

/// Names the row that is best on validation images, with its accuracy on test images; `None` unless
/// all rows were validated. Test accuracy does not choose: the best of many test scores is partly luck.
fn best(rows: &[Row]) -> Option<String> {
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
    Some(format!(
        "Best on validation images: {} with {} %; it scores {} % on test images, which did not choose.",
        row.variant.name(),
        validation.text(100.0, 1),
        row.statistic(|it| it.tail_accuracy).text(100.0, 1)
    ))
}

/// One row per run.
fn csv(rows: &[Row]) -> String {
    let mut text = format!("scheduler,baseline_power,seed,{}\n", Summary::CSV_HEADER);
    for row in rows {
        let power = row.variant.power.map_or("", <&str>::from);
        for (seed, run) in &row.runs {
            let (scheduler, cells) = (row.variant.label(), run.summary.csv_cells());
            text.push_str(&format!("{scheduler},{power},{seed},{cells}\n"));
        }
    }
    text
}

/// Compares the energy of CRE with the most frugal baseline, at either power.
fn saving(rows: &[Row]) -> Option<String> {
    let energy = |row: &Row| row.statistic(|it| it.energy_per_round_j).mean;
    let mut all = rows.iter();
    let cre = energy(all.find(|row| row.variant.scheduler == Scheduler::Cre)?);
    let sentence = |power: BaselinePower, words: &str| {
        let rows = rows.iter().filter(|row| row.variant.power == Some(power));
        let energies = rows.map(|row| (energy(row), &row.variant.scheduler));
        let (least, scheduler) = energies.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let difference = 100.0 * (1.0 - cre / least);
        let relation = if difference >= 0.0 { "less" } else { "more" };
        Some(format!(
            "Against baselines {words}, CRE spends {:.0} % {relation} than the most frugal one \
             ({scheduler}).",
            difference.abs()
        ))
    };
    let sentences = [
        sentence(BaselinePower::Max, "at full power"),
        sentence(
            BaselinePower::Min,
            "at the least power that meets the deadline",
        ),
    ];
    let text: Vec<String> = sentences.into_iter().flatten().collect();
    (!text.is_empty()).then(|| text.join(" "))
}

fn plots(rows: &[Row]) -> Result<Section, ExperimentError> {
    // One line per scheduler: baselines at full power where they ran so, as in the paper.
    let own = Scheduler::VARIANTS.iter().filter_map(|scheduler| {
        rows.iter()
            .filter(|row| row.variant.scheduler == *scheduler)
            .max_by_key(|row| row.variant.power != Some(BaselinePower::Min))
    });
    let shown: Vec<&Row> = own.chain(programs(rows)).collect();
    let mut logs: Vec<Vec<Vec<RoundRow>>> = Vec::new();
    for row in &shown {
        let runs = row.runs.iter();
        let read = runs.map(|(_, run)| read_rounds(&run.directory.file(RunDirectory::ROUNDS)));
        logs.push(read.collect::<Result<_, _>>()?);
    }
    let curve = |figure: &dyn Fn(&RoundRow) -> Option<f64>| -> Vec<Series> {
        let rows_and_logs = shown.iter().zip(&logs);
        let line = |(row, logs): (&&Row, &Vec<Vec<RoundRow>>)| {
            let seeds = logs
                .iter()
                .map(|log| log.iter().map(|it| (it.round, figure(it))).collect());
            over_seeds(
                row.variant.name(),
                colour(rows, row),
                &seeds.collect::<Vec<_>>(),
            )
        };
        rows_and_logs.map(line).collect()
    };
    let mut section = Section::default();
    let mut draw = |name: &str, title: &str, y_label: &str, series, caption: &str| {
        let svg = lines(title, ("communication round", y_label), true, series);
        section.draw(name, svg, caption);
    };
    draw(
        "accuracy",
        "Test accuracy, mean over seeds",
        "test accuracy (%)",
        curve(&|row| Some(100.0 * row.accuracy?)),
        "Lines are means over the seeds, bands reach from the worst to the best seed.",
    );
    let validation = curve(&|row| Some(100.0 * row.validation_accuracy?));
    if validation.iter().any(|series| !series.points.is_empty()) {
        draw(
            "validation",
            "Validation accuracy, mean over seeds",
            "validation accuracy (%)",
            validation,
            "On images that no client owns.",
        );
    }
    draw(
        "energy",
        "Cumulative energy of all clients, mean over seeds",
        "energy (mJ)",
        curve(&|row| Some(1e3 * row.spent_j)),
        "Energy that all clients together have spent.",
    );
    let point = |row: &Row| {
        let energy = row.statistic(|it| 1e3 * it.energy_per_round_j).mean;
        let accuracy = row.statistic(|it| 100.0 * it.tail_accuracy).mean;
        let mark = match row.variant.power {
            Some(BaselinePower::Min) => Mark::Rings,
            _ => Mark::Discs,
        };
        let at = vec![(energy, accuracy)];
        Series::line(row.variant.name(), colour(rows, row), at).with_mark(mark)
    };
    let axes = (
        "energy of all clients per round (mJ)",
        "test accuracy, last tenth (%)",
    );
    let trade_off = rows.iter().map(point).collect();
    section.draw(
        "trade_off",
        lines("Accuracy against energy", axes, false, trade_off),
        "Up and to the left is better. Filled: schedulers that choose their power, and baselines at full \
         power. Hollow: the same baselines at the least power that meets the deadline, which explains \
         much of the saving.",
    );
    section.draw(
        "fairness",
        fairness(&shown),
        "1 means that all clients participated equally often, 1/U that only one client did.",
    );
    Ok(section)
}

fn programs(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let is_program = |row: &&Row| matches!(row.variant.scheduler, Decider::Process(_));
    rows.iter().filter(is_program)
}

/// Programs have the colours after those of all schedulers.
fn colour(rows: &[Row], row: &Row) -> usize {
    match &row.variant.scheduler {
        Decider::Own(scheduler) => colour_of(*scheduler),
        Decider::Process(_) => {
            let place = programs(rows).position(|other| other.variant == row.variant);
            Scheduler::VARIANTS.len() + place.unwrap_or_default()
        }
    }
}

fn fairness(shown: &[&Row]) -> String {
    let bar = |row: &&Row| BarGroup {
        label: row.variant.label(),
        parts: vec![row.statistic(|it| it.fairness).mean],
        reference: None,
    };
    BarChart {
        title: "Fairness of participation".to_owned(),
        x_label: "scheduler".to_owned(),
        y_label: "Jain's index".to_owned(),
        parts: vec!["Jain's index".to_owned()],
        reference: String::new(),
        bars: shown.iter().map(bar).collect(),
        note: String::new(),
    }
    .render()
}

#[cfg(test)]
mod tests {
    use super::super::Variant;
    use super::*;
    use crate::study::CompletedRun;
    use gleaner_sim::run::Tally;

    fn row(scheduler: Scheduler, test: f64, validation: Option<f64>) -> Row {
        let mut summary = Tally::default().summary();
        summary.tail_accuracy = test;
        summary.tail_validation_accuracy = validation;
        let directory = RunDirectory::new("nowhere");
        Row {
            variant: Variant::list(&[scheduler.into()], BaselinePower::VARIANTS)[0].clone(),
            runs: vec![(0, CompletedRun { directory, summary })],
        }
    }

    #[test]
    fn the_best_is_chosen_by_validation_alone_and_not_at_all_without() {
        let lucky = row(Scheduler::Random, 0.95, Some(0.80));
        let sound = row(Scheduler::Cre, 0.90, Some(0.85));
        let text = best(&[lucky.clone(), sound.clone()]).unwrap();
        assert!(text.contains("cre with 85.0 %"), "{text}");
        assert!(text.contains("90.0 % on test images"), "{text}");
        let blind = row(Scheduler::FedNova, 0.99, None);
        assert_eq!(best(&[lucky.clone(), sound, blind]), None);
        assert_eq!(best(&[lucky]), None);
    }

    #[test]
    fn validation_stands_beside_test_accuracy_if_there_is_any() {
        for validation in [Some(0.8), None] {
            let table = table(&[row(Scheduler::Cre, 0.9, validation)]);
            let column = table.header.iter().position(|it| it.contains("validation"));
            assert_eq!(column, validation.map(|_| 3));
            assert_eq!(table.rows[0].len(), table.header.len());
        }
    }
}
