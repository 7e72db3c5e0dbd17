//! The derived bound against the loss on the clients' samples.

use super::*;

const CSV: &str = "network,formulas,seed,round,bound,train_loss";
const NOTE: &str = "B_1 is a tuning parameter: with the value used here the bound is no guarantee, and with \
    an honest one (3 to 5) no client trains.";

/// Draws bound and loss of the first seed; the CSV has all seeds.
pub fn show(network: Network, _: &Extent, records: &Records, section: &mut Section) {
    for setting in cre_settings(network) {
        let (mut bound, mut loss) = (Vec::new(), Vec::new());
        let Some(group) = records.of(&setting) else {
            continue;
        };
        let formulas = setting.formulas;
        for run in &group.runs {
            for row in &run.rounds {
                let (Some(high), Some(low)) = (row.bound, row.train_loss) else {
                    continue;
                };
                if run.seed == group.runs[0].seed {
                    bound.push((f64::from(row.round), high));
                    loss.push((f64::from(row.round), low));
                }
                let (high, low) = (format!("{high:.6}"), format!("{low:.6}"));
                let cells: [&dyn std::fmt::Display; 6] =
                    [&network, &formulas, &run.seed, &row.round, &high, &low];
                section.csv_row(CSV, &cells);
            }
        }
        let title = format!("Bound and loss, {}, {formulas}", network.title());
        let series = vec![
            Series::line("bound on the loss after the round", 1, bound).with_mark(Mark::Dashed),
            Series::line("training loss after the round", 0, loss),
        ];
        section.draw(
            format!("bound-{network}-{formulas}"),
            over_rounds(&title, "loss", series, NOTE),
            "First seed. The loss is the weighted mean of each client's last report.",
        );
    }
}
