//! CRE with 10 to 50 clients on the same three channels.

use super::over_rounds;
use crate::reproduce::edition::{Edition, Network};
use crate::reproduce::error::ReproduceError;
use crate::reproduce::results::Results;
use crate::reproduce::scale::{Cell, Extent};
use crate::reproduce::section::Section;
use crate::reproduce::setting::Setting;
use gleaner_sim::report::plot::Series;
use gleaner_sim::report::table::Table;
use strum::VariantArray;

/// CRE with so many clients.
pub fn of_clients(network: Network, edition: Edition, clients: usize) -> Setting {
    Setting::cre(network, edition, Cell::MIDDLE).with_clients(clients)
}

/// Returns what the figure runs.
#[must_use]
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    extent
        .editions
        .iter()
        .flat_map(|&edition| {
            let counts = extent.clients.iter();
            counts.map(move |&count| of_clients(network, edition, count))
        })
        .collect()
}

const CSV: &str = "network,edition,clients,seeds,test_percent,test_deviation,validation_percent,\
    energy_mj,energy_deviation_mj";

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
    for &edition in Edition::VARIANTS {
        let mut table = Table::new(&[
            "clients",
            "test accuracy %",
            "validation %",
            "mJ a round",
            "clients a round",
            "epochs",
        ]);
        let (mut accuracy, mut energy): (Vec<Series>, Vec<Series>) = (Vec::new(), Vec::new());
        for (at, &count) in extent.clients.iter().enumerate() {
            let Some(group) = results.of(&of_clients(network, edition, count)) else {
                continue;
            };
            let (test, spent) = (group.accuracy(), group.energy_mj());
            let mean = |figure: fn(&gleaner_sim::run::Summary) -> f64| {
                format!("{:.2}", group.statistic(|made| figure(&made.summary)).mean)
            };
            table.row(vec![
                count.to_string(),
                test.text(1.0, 1),
                group.validation().text(1.0, 1),
                spent.text(1.0, 2),
                mean(|summary| summary.participants),
                mean(|summary| summary.epochs),
            ]);
            section.csv_row(
                CSV,
                &[
                    &network,
                    &edition,
                    &count,
                    &test.count,
                    &format!("{:.4}", test.mean),
                    &format!("{:.4}", test.deviation),
                    &format!("{:.4}", group.validation().mean),
                    &format!("{:.4}", spent.mean),
                    &format!("{:.4}", spent.deviation),
                ],
            );
            let name = format!("{count} clients");
            let mut line = group.curve(&name, at, &|row| Some(100.0 * row.accuracy?))?;
            line.band.clear();
            accuracy.push(line);
            let mut line = group.curve(&name, at, &|row| Some(1e3 * row.spent_j))?;
            line.band.clear();
            energy.push(line);
        }
        if table.rows.is_empty() {
            continue;
        }
        let title = format!("{}, {edition}", network.title());
        section.table(title.clone(), table);
        for (what, label, series) in [
            ("accuracy", "test accuracy (%)", accuracy),
            ("energy", "energy of all clients so far (mJ)", energy),
        ] {
            section.draw(
                format!("clients-{network}-{edition}-{what}"),
                over_rounds(&title, label, series, ""),
                "Means over the seeds.",
            );
        }
    }
    if !extent.clients.is_empty() && section.size() > 0 && extent.lifelike {
        section.say(format!(
            "{}: {} images a client on average, for 50 clients with the paper's 1000 need more common \
             images than the set has.",
            network.title(),
            extent.samples_of_many
        ));
    }
    Ok(())
}
