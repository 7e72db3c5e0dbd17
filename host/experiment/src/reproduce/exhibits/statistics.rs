//! How often each client was scheduled and how many epochs it trained, of one experiment.

use crate::reproduce::edition::{Edition, Network};
use crate::reproduce::error::ReproduceError;
use crate::reproduce::paper::paper;
use crate::reproduce::results::Results;
use crate::reproduce::scale::{Cell, Extent};
use crate::reproduce::section::Section;
use crate::reproduce::setting::Setting;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::table::Table;

/// Returns what the table runs.
#[must_use]
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let mut settings = super::cre_settings(network, extent);
    for scheduler in [Scheduler::ImportanceAware, Scheduler::Random] {
        settings.push(Setting::new(network, scheduler, Cell::MIDDLE));
    }
    settings
}

const CSV: &str = "network,edition,algorithm,seed,client,schedules,epochs";

/// Shows the counts of the first seed, below the paper's; the CSV has all seeds.
///
/// # Errors
/// None: the counts are read already.
pub fn show(
    network: Network,
    extent: &Extent,
    results: &Results,
    section: &mut Section,
) -> Result<(), ReproduceError> {
    let clients: Vec<String> = (1..=10).map(|client| client.to_string()).collect();
    let mut header = vec!["algorithm"];
    header.extend(clients.iter().map(String::as_str));
    header.push("sum");
    let mut table = Table::new(&header);
    let rows = |table: &mut Table, name: &str, schedules: &[u32], epochs: &[u32]| {
        for (what, counts) in [("schedules", schedules), ("epochs", epochs)] {
            let mut cells = vec![format!("{name}: {what}")];
            cells.extend(counts.iter().map(u32::to_string));
            cells.push(counts.iter().sum::<u32>().to_string());
            table.row(cells);
        }
    };
    for setting in settings(network, extent) {
        let Some(group) = results.of(&setting) else {
            continue;
        };
        let name = match setting.edition {
            Edition::Repaired => setting.scheduler.to_string(),
            Edition::Printed => format!("{} as printed", setting.scheduler),
        };
        let first = group.runs[0];
        rows(&mut table, &name, &first.schedules, &first.epochs);
        for made in &group.runs {
            let counts = made.schedules.iter().zip(&made.epochs).enumerate();
            for (client, (schedules, epochs)) in counts {
                section.csv_row(
                    CSV,
                    &[
                        &network,
                        &setting.edition,
                        &setting.scheduler,
                        &made.seed,
                        &(client + 1),
                        schedules,
                        epochs,
                    ],
                );
            }
        }
    }
    section.table(
        format!("{}, first seed, {} rounds", network.title(), extent.rounds),
        table,
    );
    if network == Network::Cnn && section.size() > 0 {
        let mut table = Table::new(&header);
        for row in &paper().statistics {
            rows(
                &mut table,
                &row.algorithm.to_string(),
                &row.schedules,
                &row.epochs,
            );
        }
        section.table("The paper's, CNN on CIFAR-10, 2000 rounds", table);
    }
    Ok(())
}
