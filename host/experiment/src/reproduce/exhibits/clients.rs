//! CRE with 10 to 50 clients on the same three channels.

use gleaner_sim::run::Summary;

use super::*;

/// Returns CRE with a number of clients.
pub fn of_clients(network: Network, formulas: Formulas, clients: usize) -> Setting {
    Setting::cre(network, formulas, Cell::MIDDLE).with_clients(clients)
}

pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let formulas = extent.formulas.iter();
    let each = |&formulas: &Formulas| {
        let counts = extent.clients.iter();
        counts.map(move |&count| of_clients(network, formulas, count))
    };
    formulas.flat_map(each).collect()
}

const CSV: &str = "network,formulas,clients,seeds,test_percent,test_deviation,validation_percent,\
    energy_mj,energy_deviation_mj";

/// Shows accuracy and energy, as a table and round by round.
pub fn show(network: Network, extent: &Extent, records: &Records, section: &mut Section) {
    for &formulas in Formulas::VARIANTS {
        let mut table = columns(
            "clients | test accuracy % | validation % | mJ/round | clients per round | epochs",
        );
        let (mut accuracy, mut energy): (Vec<Series>, Vec<Series>) = (Vec::new(), Vec::new());
        for (at, &count) in extent.clients.iter().enumerate() {
            let Some(group) = records.of(&of_clients(network, formulas, count)) else {
                continue;
            };
            let (test, spent, validation) =
                (group.accuracy(), group.energy_mj(), group.validation());
            let mean = |figure: fn(&Summary) -> f64| {
                format!("{:.2}", group.statistic(|run| figure(&run.summary)).mean)
            };
            table.row(vec![
                count.to_string(),
                test.text(1.0, 1),
                validation.text(1.0, 1),
                spent.text(1.0, 2),
                mean(|summary| summary.participants),
                mean(|summary| summary.epochs),
            ]);
            let figures = [
                test.mean,
                test.deviation,
                validation.mean,
                spent.mean,
                spent.deviation,
            ];
            let figures = figures.map(number).join(",");
            section.csv_row(CSV, &[&network, &formulas, &count, &test.count, &figures]);
            let name = format!("{count} clients");
            accuracy.push(group.curve(&name, at, |row| Some(100.0 * row.accuracy?)));
            energy.push(group.curve(&name, at, |row| Some(1e3 * row.cumulative_spent_j)));
        }
        if table.rows.is_empty() {
            continue;
        }
        let title = format!("{}, {formulas}", network.title());
        section.table(title.clone(), table);
        for (figure, label, series) in [
            ("accuracy", "test accuracy (%)", accuracy),
            ("energy", "energy of all clients so far (mJ)", energy),
        ] {
            section.draw(
                format!("clients-{network}-{formulas}-{figure}"),
                over_rounds(&title, label, without_bands(series), ""),
                "Means over the seeds.",
            );
        }
    }
    if !extent.clients.is_empty() && !section.is_empty() && extent.lifelike {
        section.say(format!(
            "{}: {} images per client on average: 50 clients with the paper's 1000 need more common images \
             than the set has.",
            network.title(),
            extent.samples_of_many
        ));
    }
}
