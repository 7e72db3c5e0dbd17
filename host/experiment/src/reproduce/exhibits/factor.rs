//! Accuracy and energy over V, against the baselines at both powers.

use super::*;
use crate::reproduce::records::RoundFigures;

/// Returns CRE with one value of V.
pub fn of_factor(network: Network, formulas: Formulas, factor: f64) -> Setting {
    Setting::cre(network, formulas, Cell::MIDDLE).with_factor(factor)
}

pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    if extent.factors.is_empty() {
        return Vec::new();
    }
    let each = |&formulas: &Formulas| {
        let factors = extent.factors.iter();
        factors.map(move |&factor| of_factor(network, formulas, factor))
    };
    let cre = extent.formulas.iter().flat_map(each);
    let others = baselines().map(|it| Setting::new(network, it, Cell::MIDDLE));
    cre.chain(others).collect()
}

const CSV: &str = "network,formulas,algorithm,v,seeds,test_percent,test_deviation,\
    validation_percent,energy_full_mj,energy_deviation_mj,energy_least_mj,clients,epochs";

/// Shows accuracy and energy, as a table and round by round.
pub fn show(network: Network, extent: &Extent, records: &Records, section: &mut Section) {
    let mut table = columns(
        "algorithm | test accuracy % | validation % | mJ/round | \
         at the least power | clients | epochs",
    );
    let settings = settings(network, extent).into_iter();
    let found: Vec<(Setting, Group<'_>)> = settings
        .filter_map(|setting| Some((setting, records.of(&setting)?)))
        .collect();
    for (setting, group) in &found {
        let (test, energy) = (group.accuracy(), group.energy_mj());
        let (validation, least) = (group.validation(), group.least_energy_mj());
        let clients = group.statistic(|run| run.summary.participants).mean;
        let epochs = group.statistic(|run| run.summary.epochs).mean;
        table.row(vec![
            name(setting),
            test.text(1.0, 1),
            validation.text(1.0, 1),
            energy.text(1.0, 2),
            match setting.scheduler.is_baseline() {
                true => least.text(1.0, 2),
                false => "chosen".to_owned(),
            },
            format!("{clients:.2}"),
            format!("{epochs:.2}"),
        ]);
        let figures = [
            test.mean,
            test.deviation,
            validation.mean,
            energy.mean,
            energy.deviation,
            least.mean,
        ];
        section.csv_row(
            CSV,
            &[
                &setting.network,
                &setting.formulas,
                &setting.scheduler,
                &setting.factor.map_or(String::new(), |v| v.to_string()),
                &test.count,
                &figures.map(number).join(","),
                &format!("{clients:.3},{epochs:.3}"),
            ],
        );
    }
    let title = format!("{}, {}", network.title(), Cell::MIDDLE.name());
    section.table(title, table);
    for &formulas in Formulas::VARIANTS {
        let is_shown =
            |it: &&(Setting, _)| it.0.scheduler.is_baseline() || it.0.formulas == formulas;
        let shown: Vec<_> = found.iter().filter(is_shown).collect();
        if shown.iter().all(|(setting, _)| setting.factor.is_none()) {
            continue;
        }
        let mut draw =
            |figure, title: &str, y_label, of: fn(&RoundFigures) -> Option<f64>, text| {
                let lines = shown.iter().enumerate().map(|(at, (setting, group))| {
                    // Baselines keep their colours; values of V have those that are left, then dashes.
                    let colour = match setting.scheduler {
                        Scheduler::Cre => 8 + at,
                        baseline => colour_of(baseline),
                    };
                    group.curve(name(setting), colour, of)
                });
                let title = format!("{title}, {}, {formulas}", network.title());
                section.draw(
                    format!("fig-v-{network}-{formulas}-{figure}"),
                    over_rounds(&title, y_label, without_bands(lines.collect()), ""),
                    format!("{text}; baselines at full power."),
                );
            };
        draw(
            "accuracy",
            "Test accuracy",
            "test accuracy (%)",
            |row| Some(100.0 * row.accuracy?),
            "Means over the seeds",
        );
        draw(
            "energy",
            "Energy so far",
            "energy of all clients (mJ)",
            |row| Some(1e3 * row.cumulative_spent_j),
            "Energy that all clients together have spent",
        );
    }
}

fn name(setting: &Setting) -> String {
    let algorithm = setting.algorithm();
    match setting.factor {
        Some(factor) => format!("{algorithm}, V = {factor}"),
        None => algorithm,
    }
}
