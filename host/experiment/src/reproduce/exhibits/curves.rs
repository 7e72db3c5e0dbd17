//! Accuracy curves of all algorithms, one plot a cell.

use super::over_rounds;
use crate::compare::colour_of;
use crate::reproduce::edition::{Edition, Network};
use crate::reproduce::error::ReproduceError;
use crate::reproduce::results::Results;
use crate::reproduce::scale::Extent;
use crate::reproduce::section::Section;
use crate::reproduce::setting::{SIX, Setting};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::plot::{Mark, Series};

/// Returns what the figure runs: what the accuracy table does in these cells.
#[must_use]
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let cells = extent.curves.iter();
    cells
        .flat_map(|&cell| {
            let six = SIX.into_iter();
            let mut all: Vec<Setting> = six.map(|it| Setting::new(network, it, cell)).collect();
            all.push(Setting::new(network, Scheduler::Glean, cell));
            all.push(Setting::cre(network, Edition::Printed, cell));
            all
        })
        .collect()
}

const CSV: &str = "network,d,sigma,algorithm,edition,round,test_percent,least_percent,most_percent";

/// Draws the curves.
///
/// # Errors
/// Names the log that cannot be read.
pub fn show(
    network: Network,
    extent: &Extent,
    results: &Results,
    section: &mut Section,
) -> Result<(), ReproduceError> {
    for &cell in &extent.curves {
        let mut series: Vec<Series> = Vec::new();
        for setting in settings(network, extent) {
            if setting.cell != cell {
                continue;
            }
            let Some(group) = results.of(&setting) else {
                continue;
            };
            let mut name = setting.scheduler.to_string();
            let mut colour = colour_of(setting.scheduler);
            if setting.edition == Edition::Printed {
                name.push_str(" as printed");
                // The last of the palette, which no scheduler has here.
                colour = 7;
            }
            let line = group.curve(name, colour, &|row| Some(100.0 * row.accuracy?))?;
            for (&(round, mean), &(_, low, high)) in line.points.iter().zip(&line.band) {
                section.csv_row(
                    CSV,
                    &[
                        &network,
                        &cell.degree,
                        &cell.deviation,
                        &setting.scheduler,
                        &setting.edition,
                        &round,
                        &format!("{mean:.3}"),
                        &format!("{low:.3}"),
                        &format!("{high:.3}"),
                    ],
                );
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
        let name = format!("curves-{network}-d{}-sigma{}", cell.degree, cell.deviation);
        section.draw(
            name,
            over_rounds(&title, "test accuracy (%)", series, ""),
            "Means over the seeds, bands from the worst to the best seed; baselines at full power. glean, \
             dashed, is not in the paper.",
        );
    }
    Ok(())
}
