//! Accuracy curves of all algorithms, one plot per cell.

use super::*;

/// Returns the settings of the accuracy table in these cells.
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let cells = extent.curves.iter();
    cells
        .flat_map(|&cell| accuracy::columns(network, cell))
        .collect()
}

const CSV: &str =
    "network,d,sigma,algorithm,formulas,round,test_percent,least_percent,most_percent";

pub fn show(network: Network, extent: &Extent, records: &Records, section: &mut Section) {
    for &cell in &extent.curves {
        let mut series: Vec<Series> = Vec::new();
        for setting in accuracy::columns(network, cell) {
            let Some(group) = records.of(&setting) else {
                continue;
            };
            let colour = match setting.formulas {
                Formulas::Repaired => colour_of(setting.scheduler),
                // The last of the palette, which no scheduler has here.
                Formulas::Printed => 7,
            };
            let line = group.curve(setting.algorithm(), colour, |row| {
                Some(100.0 * row.accuracy?)
            });
            for (&(round, mean), &(_, low, high)) in line.points.iter().zip(&line.band) {
                let figures = [mean, low, high]
                    .map(|value| format!("{value:.3}"))
                    .join(",");
                let (scheduler, formulas) = (setting.scheduler, setting.formulas);
                let (d, sigma) = (cell.degree, cell.deviation);
                let cells: [&dyn std::fmt::Display; 7] = [
                    &network, &d, &sigma, &scheduler, &formulas, &round, &figures,
                ];
                section.csv_row(CSV, &cells);
            }
            series.push(match setting.scheduler {
                Scheduler::Glean => line.with_mark(Mark::Dashed),
                _ => line,
            });
        }
        if series.is_empty() {
            continue;
        }
        let title = format!("{}, {}", network.title(), cell.name());
        section.draw(
            format!("curves-{network}-d{}-sigma{}", cell.degree, cell.deviation),
            over_rounds(&title, "test accuracy (%)", series, ""),
            "Means over the seeds, bands from the worst to the best seed; baselines at full power. glean, \
             dashed, is not in the paper.",
        );
    }
}
