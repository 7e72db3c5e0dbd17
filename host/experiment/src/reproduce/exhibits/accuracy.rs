//! The accuracy table: the six, glean set apart, and CRE as printed, over d and sigma.

use super::signed;
use crate::compare::Statistic;
use crate::reproduce::edition::{Edition, Network};
use crate::reproduce::error::ReproduceError;
use crate::reproduce::field::Field;
use crate::reproduce::paper::paper;
use crate::reproduce::results::{Group, Results};
use crate::reproduce::scale::{Cell, Extent};
use crate::reproduce::section::Section;
use crate::reproduce::setting::{SIX, Setting};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::table::Table;

/// What one cell runs, with the columns' names.
fn columns(network: Network, cell: Cell) -> Vec<(String, Setting)> {
    let ours = |scheduler: Scheduler| {
        let setting = Setting::new(network, scheduler, cell);
        (scheduler.to_string(), setting)
    };
    let mut columns: Vec<_> = SIX.into_iter().map(ours).collect();
    columns.push(ours(Scheduler::Glean));
    let printed = Setting::cre(network, Edition::Printed, cell);
    columns.push(("cre as printed".to_owned(), printed));
    columns
}

/// Returns what the table runs.
#[must_use]
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let cells = extent.cells.iter();
    cells
        .flat_map(|&cell| columns(network, cell))
        .map(|(_, setting)| setting)
        .collect()
}

const CSV: &str = "network,d,sigma,algorithm,edition,seeds,test_percent,test_deviation,\
    validation_percent,validation_deviation,paper_percent,difference_points,energy_full_mj,\
    energy_full_deviation_mj,energy_least_mj,energy_least_deviation_mj";

/// Shows the table.
///
/// # Errors
/// None: summaries are read already.
pub fn show(
    network: Network,
    extent: &Extent,
    results: &Results,
    section: &mut Section,
) -> Result<(), ReproduceError> {
    let names: Vec<String> = columns(network, Cell::MIDDLE)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let header = |first: &str, more: &[&str]| -> Table {
        let mut all = vec![first];
        all.extend(names.iter().map(String::as_str));
        all.extend(more);
        Table::new(&all)
    };
    let mut test = header(
        "test accuracy %",
        &["CRE first", "pairs in the paper's order"],
    );
    let mut beside = header("paper %, ours less the paper's", &[]);
    let mut validation = header("validation accuracy %", &[]);
    let mut full = header("mJ a round, baselines at full power", &[]);
    let mut least = header("mJ a round, baselines at the least power", &[]);
    for &cell in &extent.cells {
        let columns = columns(network, cell);
        let groups: Vec<Option<Group<'_>>> = columns
            .iter()
            .map(|(_, setting)| results.of(setting))
            .collect();
        if groups.iter().all(Option::is_none) {
            continue;
        }
        let row = |text: &dyn Fn(&Setting, &Group<'_>) -> String| -> Vec<String> {
            let mut cells = vec![cell.name()];
            cells.extend(columns.iter().zip(&groups).map(|((_, setting), group)| {
                group
                    .as_ref()
                    .map_or_else(|| "not run".to_owned(), |group| text(setting, group))
            }));
            cells
        };
        let mut cells = row(&|_, group| group.accuracy().text(1.0, 1));
        match Field::of(results, network, Edition::Repaired, cell) {
            Some(field) => {
                let order = field.order(network, cell);
                cells.push(if order.cre_first { "yes" } else { "no" }.to_owned());
                cells.push(format!("{} of {}", order.held, order.pairs));
            }
            None => cells.extend([String::new(), String::new()]),
        }
        test.row(cells);
        beside.row(row(
            &|setting, group| match paper().accuracy(network, cell, setting.scheduler) {
                Some(percent) => {
                    let difference = group.accuracy().mean - percent;
                    format!("{percent:.2}, {}", signed(difference))
                }
                None => "not in the paper".to_owned(),
            },
        ));
        validation.row(row(&|_, group| group.validation().text(1.0, 1)));
        full.row(row(&|_, group| group.energy_mj().text(1.0, 2)));
        least.row(row(&|_, group| group.least_energy_mj().text(1.0, 2)));
        for ((_, setting), group) in columns.iter().zip(&groups) {
            if let Some(group) = group {
                csv(section, setting, group);
            }
        }
    }
    if test.rows.is_empty() {
        return Ok(());
    }
    section.say(
        "Mean over the seeds of the mean over the last tenth of the rounds, with the sample standard \
         deviation. CRE first: CRE's mean is the highest of the six. Pairs: of the 15 pairs of the \
         six, in how many the one that is ahead in the paper is ahead here. glean is ours and takes \
         no part in either; CRE as printed has every printed value and formula. CRE and glean choose \
         their powers, so their energies are the same in both tables; what baselines spend at the \
         least power that meets the deadline is computed from the same runs.",
    );
    section.table("Test accuracy", test);
    section.table("The paper's number, and the difference to it", beside);
    section.table("Validation accuracy, on images no client owns", validation);
    section.table("Energy, baselines at full power", full);
    section.table("Energy, baselines at the least power", least);
    Ok(())
}

fn csv(section: &mut Section, setting: &Setting, group: &Group<'_>) {
    let printed = paper().accuracy(setting.network, setting.cell, setting.scheduler);
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    let (test, validation) = (group.accuracy(), group.validation());
    let (full, least) = (group.energy_mj(), group.least_energy_mj());
    let mean = |it: &Statistic| number(Some(it.mean));
    let spread = |it: &Statistic| number((it.count > 1).then_some(it.deviation));
    section.csv_row(
        CSV,
        &[
            &setting.network,
            &setting.cell.degree,
            &setting.cell.deviation,
            &setting.scheduler,
            &setting.edition,
            &test.count,
            &mean(&test),
            &spread(&test),
            &mean(&validation),
            &spread(&validation),
            &number(printed),
            &number(printed.map(|percent| test.mean - percent)),
            &mean(&full),
            &spread(&full),
            &mean(&least),
            &spread(&least),
        ],
    );
}
