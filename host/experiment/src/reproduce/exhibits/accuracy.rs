//! The accuracy table: the six, glean, and CRE as printed, over d and sigma.

use super::*;

/// Returns the settings of one cell.
pub fn columns(network: Network, cell: Cell) -> Vec<Setting> {
    let ours = SIX.into_iter().chain([Scheduler::Glean]);
    let mut columns: Vec<_> = ours.map(|it| Setting::new(network, it, cell)).collect();
    columns.push(Setting::cre(network, Formulas::Printed, cell));
    columns
}

pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let cells = extent.cells.iter();
    cells.flat_map(|&cell| columns(network, cell)).collect()
}

const CSV: &str = "network,d,sigma,algorithm,formulas,seeds,test_percent,test_deviation,\
    validation_percent,validation_deviation,paper_percent,difference_points,energy_full_mj,\
    energy_full_deviation_mj,energy_least_mj,energy_least_deviation_mj";

const READING: &str = "Mean over the seeds of the mean over the last tenth of the rounds, with the sample \
    standard deviation. CRE first: CRE's mean is the highest of the six. Pairs: of the 15 pairs of the six, \
    in how many the one that is ahead in the paper is ahead here. glean is ours and takes no part in either; \
    CRE as printed has every printed value and formula. CRE and glean choose their powers, so their energies \
    are the same in both tables; the energy of baselines at the least power that meets the deadline is \
    computed from the same runs.";

pub fn show(network: Network, extent: &Extent, records: &Records, section: &mut Section) {
    let columns_of = columns(network, Cell::MIDDLE);
    let names: Vec<String> = columns_of.iter().map(Setting::algorithm).collect();
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
    let mut beside = header("paper %, ours minus the paper's", &[]);
    let mut validation = header("validation accuracy %", &[]);
    let mut full = header("mJ/round, baselines at full power", &[]);
    let mut least = header("mJ/round, baselines at the least power", &[]);
    for &cell in &extent.cells {
        let columns = columns(network, cell);
        let groups = columns.iter().map(|setting| records.of(setting));
        let groups: Vec<Option<Group<'_>>> = groups.collect();
        if groups.iter().all(Option::is_none) {
            continue;
        }
        let row = |text: &dyn Fn(&Setting, &Group<'_>) -> String| -> Vec<String> {
            let mut cells = vec![cell.name()];
            let columns = columns.iter().zip(&groups);
            cells.extend(columns.map(|(setting, group)| match group {
                Some(group) => text(setting, group),
                None => "not run".to_owned(),
            }));
            cells
        };
        let mut cells = row(&|_, group| group.accuracy().text(1.0, 1));
        match Field::of(records, network, Formulas::Repaired, cell) {
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
                    format!("{percent:.2}, {:+.1}", group.accuracy().mean - percent)
                }
                None => "not in the paper".to_owned(),
            },
        ));
        validation.row(row(&|_, group| group.validation().text(1.0, 1)));
        full.row(row(&|_, group| group.energy_mj().text(1.0, 2)));
        least.row(row(&|_, group| group.least_energy_mj().text(1.0, 2)));
        for (setting, group) in columns.iter().zip(&groups) {
            if let Some(group) = group {
                csv(section, setting, group);
            }
        }
    }
    if test.rows.is_empty() {
        return;
    }
    section.say(READING);
    section.table("Test accuracy", test);
    section.table("The paper's number, and the difference to it", beside);
    section.table("Validation accuracy, on images no client owns", validation);
    section.table("Energy, baselines at full power", full);
    section.table("Energy, baselines at the least power", least);
}

fn csv(section: &mut Section, setting: &Setting, group: &Group<'_>) {
    let printed = paper().accuracy(setting.network, setting.cell, setting.scheduler);
    let optional = |value: Option<f64>| value.map_or(String::new(), number);
    let pair = |it: &Statistic| {
        let spread = optional((it.count > 1).then_some(it.deviation));
        format!("{},{spread}", number(it.mean))
    };
    let test = group.accuracy();
    section.csv_row(
        CSV,
        &[
            &setting.network,
            &setting.cell.degree,
            &setting.cell.deviation,
            &setting.scheduler,
            &setting.formulas,
            &test.count,
            &pair(&test),
            &pair(&group.validation()),
            &optional(printed),
            &optional(printed.map(|percent| test.mean - percent)),
            &pair(&group.energy_mj()),
            &pair(&group.least_energy_mj()),
        ],
    );
}
