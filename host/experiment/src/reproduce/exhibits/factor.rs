//! Accuracy and energy over V, against the baselines at both powers.

use super::over_rounds;
use crate::compare::colour_of;
use crate::reproduce::edition::{Edition, Network};
use crate::reproduce::error::ReproduceError;
use crate::reproduce::results::{Group, Results};
use crate::reproduce::scale::{Cell, Extent};
use crate::reproduce::section::Section;
use crate::reproduce::setting::{Setting, baselines};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::plot::Series;
use gleaner_sim::report::table::Table;
use strum::VariantArray;

/// CRE with one value of V.
pub fn of_factor(network: Network, edition: Edition, factor: f64) -> Setting {
    Setting::cre(network, edition, Cell::MIDDLE).with_factor(factor)
}

/// Returns what the figure runs.
#[must_use]
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    if extent.factors.is_empty() {
        return Vec::new();
    }
    let mut settings: Vec<Setting> = extent
        .editions
        .iter()
        .flat_map(|&edition| {
            let factors = extent.factors.iter();
            factors.map(move |&factor| of_factor(network, edition, factor))
        })
        .collect();
    settings.extend(baselines().map(|it| Setting::new(network, it, Cell::MIDDLE)));
    settings
}

const CSV: &str = "network,edition,algorithm,v,seeds,test_percent,test_deviation,\
    validation_percent,energy_full_mj,energy_deviation_mj,energy_least_mj,clients,epochs";

/// Shows accuracy and energy, as a table and round by round.
///
/// # Errors
/// Names the log that cannot be read.
pub fn show(
    network: Network,
    extent: &Extent,
    results: &Results,
    section: &mut Section,
) -> Result<(), ReproduceError> {
    let mut table = Table::new(&[
        "algorithm",
        "test accuracy %",
        "validation %",
        "mJ a round",
        "at the least power",
        "clients",
        "epochs",
    ]);
    let rest: Vec<(Setting, Group<'_>)> = settings(network, extent)
        .into_iter()
        .filter_map(|setting| Some((setting, results.of(&setting)?)))
        .collect();
    for (setting, group) in &rest {
        let name = name(setting);
        let (test, energy) = (group.accuracy(), group.energy_mj());
        let least = group.least_energy_mj();
        let clients = group.statistic(|made| made.summary.participants).mean;
        let epochs = group.statistic(|made| made.summary.epochs).mean;
        table.row(vec![
            name.clone(),
            test.text(1.0, 1),
            group.validation().text(1.0, 1),
            energy.text(1.0, 2),
            match setting.scheduler.is_baseline() {
                true => least.text(1.0, 2),
                false => "chosen".to_owned(),
            },
            format!("{clients:.2}"),
            format!("{epochs:.2}"),
        ]);
        section.csv_row(
            CSV,
            &[
                &setting.network,
                &setting.edition,
                &setting.scheduler,
                &setting.factor.map_or(String::new(), |v| v.to_string()),
                &test.count,
                &format!("{:.4}", test.mean),
                &format!("{:.4}", test.deviation),
                &format!("{:.4}", group.validation().mean),
                &format!("{:.4}", energy.mean),
                &format!("{:.4}", energy.deviation),
                &format!("{:.4}", least.mean),
                &format!("{clients:.3}"),
                &format!("{epochs:.3}"),
            ],
        );
    }
    section.table(
        format!("{}, {}", network.title(), Cell::MIDDLE.name()),
        table,
    );
    for &edition in Edition::VARIANTS {
        let shown = || {
            rest.iter().filter(move |(setting, _)| {
                setting.scheduler.is_baseline() || setting.edition == edition
            })
        };
        if !shown().any(|(setting, _)| setting.factor.is_some()) {
            continue;
        }
        let curves = |figure: &dyn Fn(&gleaner_sim::round::RoundRow) -> Option<f64>| {
            let lines = shown().enumerate().map(|(at, (setting, group))| {
                let colour = colour(setting, at);
                let mut line = group.curve(name(setting), colour, figure)?;
                // A dozen bands on top of each other show nothing.
                line.band.clear();
                Ok(line)
            });
            lines.collect::<Result<Vec<Series>, ReproduceError>>()
        };
        let title = |what: &str| format!("{what}, {}, {edition}", network.title());
        section.draw(
            format!("fig-v-{network}-{edition}-accuracy"),
            over_rounds(
                &title("Test accuracy"),
                "test accuracy (%)",
                curves(&|row| Some(100.0 * row.accuracy?))?,
                "",
            ),
            "Means over the seeds; baselines at full power.",
        );
        section.draw(
            format!("fig-v-{network}-{edition}-energy"),
            over_rounds(
                &title("Energy so far"),
                "energy of all clients (mJ)",
                curves(&|row| Some(1e3 * row.spent_j))?,
                "",
            ),
            "What all clients together have spent; baselines at full power.",
        );
    }
    Ok(())
}

/// Baselines keep their colours; values of V have those that are left, then dashes.
fn colour(setting: &Setting, at: usize) -> usize {
    match setting.scheduler {
        Scheduler::Cre => 8 + at,
        baseline => colour_of(baseline),
    }
}

fn name(setting: &Setting) -> String {
    match (setting.factor, setting.edition) {
        (Some(factor), Edition::Repaired) => format!("cre, V = {factor}"),
        (Some(factor), Edition::Printed) => format!("cre as printed, V = {factor}"),
        (None, _) => setting.scheduler.to_string(),
    }
}
