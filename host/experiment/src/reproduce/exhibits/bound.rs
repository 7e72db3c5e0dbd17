//! The derived bound against the loss on the clients' samples.

use super::over_rounds;
use crate::reproduce::edition::Network;
use crate::reproduce::error::ReproduceError;
use crate::reproduce::results::Results;
use crate::reproduce::scale::Extent;
use crate::reproduce::section::Section;
use gleaner_sim::report::plot::{Mark, Series};

pub use super::cre_settings as settings;

const CSV: &str = "network,edition,seed,round,bound,train_loss";

/// Draws both, of the first seed.
///
/// # Errors
/// Names the log that cannot be read.
pub fn show(
    network: Network,
    extent: &Extent,
    results: &Results,
    section: &mut Section,
) -> Result<(), ReproduceError> {
    for setting in settings(network, extent) {
        let Some(group) = results.of(&setting) else {
            continue;
        };
        let (mut bound, mut loss) = (Vec::new(), Vec::new());
        for made in &group.runs {
            for row in made.rounds()? {
                let (Some(high), Some(low)) = (row.bound, row.train_loss) else {
                    continue;
                };
                if made.seed == group.runs[0].seed {
                    bound.push((f64::from(row.round), high));
                    loss.push((f64::from(row.round), low));
                }
                section.csv_row(
                    CSV,
                    &[
                        &network,
                        &setting.edition,
                        &made.seed,
                        &row.round,
                        &format!("{high:.6}"),
                        &format!("{low:.6}"),
                    ],
                );
            }
        }
        let title = format!("Bound and loss, {}, {}", network.title(), setting.edition);
        let series = vec![
            Series::line("bound on the loss after the round", 1, bound).with_mark(Mark::Dashed),
            Series::line("training loss after the round", 0, loss),
        ];
        let note = "B_1 is a tuning knob: with the value used here the bound is no guarantee, and an honest \
                    one (3 to 5) makes nobody train.";
        section.draw(
            format!("bound-{network}-{}", setting.edition),
            over_rounds(&title, "loss", series, note),
            "First seed. The loss is the weighted mean of each client's last report.",
        );
    }
    Ok(())
}
