//! Ten rounds of CRE: which client on which channel, at what power, for how many epochs.

use std::collections::BTreeMap;

use crate::reproduce::edition::Network;
use crate::reproduce::error::ReproduceError;
use crate::reproduce::made::Made;
use crate::reproduce::paper::paper;
use crate::reproduce::results::Results;
use crate::reproduce::scale::Extent;
use crate::reproduce::section::Section;
use gleaner_sim::report::table::Table;
use gleaner_sim::run::{RunDirectory, each_client};

pub use super::cre_settings as settings;

/// Rounds in the table.
const ROUNDS: u32 = 10;
/// The paper's channels.
const CHANNELS: usize = 3;

/// One round of a solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Client, from 1, and power on every channel.
    pub uploads: [Option<(usize, f64)>; CHANNELS],
    /// The epochs of all.
    pub epochs: u32,
}

/// Returns the first of the ten rounds: the paper's 201 where the run has as many, else ten from the
/// end.
#[must_use]
pub fn first_round(rounds: usize) -> u32 {
    let last = u32::try_from(rounds).unwrap_or(u32::MAX);
    if last >= 210 {
        201
    } else {
        last.saturating_sub(ROUNDS - 1).max(1)
    }
}

/// Reads ten rounds of a run.
///
/// # Errors
/// Names the log and line that cannot be read.
pub fn ten_rounds(made: &Made) -> Result<BTreeMap<u32, Solution>, ReproduceError> {
    let first = first_round(made.summary.rounds);
    let mut rounds: BTreeMap<u32, Solution> = (first
        ..first + ROUNDS.min(u32::try_from(made.summary.rounds).unwrap_or(ROUNDS)))
        .map(|round| (round, Solution::default()))
        .collect();
    for row in each_client(&made.directory.file(RunDirectory::CLIENTS))? {
        let row = row?;
        let (Some(solution), Some(channel)) = (rounds.get_mut(&row.round), row.channel) else {
            continue;
        };
        if let Some(upload) = solution.uploads.get_mut(channel) {
            *upload = Some((row.client.index() + 1, row.power_w));
            solution.epochs = row.epochs;
        }
    }
    Ok(rounds)
}

const CSV: &str = "network,edition,round,client_1,power_1_mw,client_2,power_2_mw,client_3,\
    power_3_mw,epochs";

/// Shows the rounds of the first seed, below the paper's.
///
/// # Errors
/// Names the log that cannot be read.
pub fn show(
    network: Network,
    extent: &Extent,
    results: &Results,
    section: &mut Section,
) -> Result<(), ReproduceError> {
    let header = [
        "round",
        "channel 1: client, mW",
        "channel 2: client, mW",
        "channel 3: client, mW",
        "epochs",
    ];
    let cell = |client: usize, power_mw: f64| match client {
        0 => "nobody".to_owned(),
        client => format!("{client}, {power_mw:.2}"),
    };
    for setting in settings(network, extent) {
        let Some(group) = results.of(&setting) else {
            continue;
        };
        let mut table = Table::new(&header);
        for (round, solution) in ten_rounds(group.runs[0])? {
            let mut cells = vec![round.to_string()];
            let mut numbers = Vec::new();
            for upload in solution.uploads {
                let (client, power_mw) = upload.map_or((0, 0.0), |(who, w)| (who, 1e3 * w));
                cells.push(cell(client, power_mw));
                numbers.push((client, format!("{power_mw:.3}")));
            }
            cells.push(solution.epochs.to_string());
            table.row(cells);
            let [(a, p), (b, q), (c, r)] = &numbers[..] else {
                continue;
            };
            section.csv_row(
                CSV,
                &[
                    &network,
                    &setting.edition,
                    &round,
                    a,
                    p,
                    b,
                    q,
                    c,
                    r,
                    &solution.epochs,
                ],
            );
        }
        section.table(format!("{}, {}", network.title(), setting.edition), table);
    }
    if network == Network::Cnn && section.size() > 0 {
        let mut table = Table::new(&header);
        for row in &paper().solution {
            let mut cells = vec![row.round.to_string()];
            let pairs = row.clients.iter().zip(&row.power_mw);
            cells.extend(pairs.map(|(&client, &mw)| cell(client as usize, mw)));
            cells.push(row.epochs.to_string());
            table.row(cells);
        }
        section.table("The paper's, CNN on CIFAR-10", table);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_rounds_are_shown_where_there_are_as_many_and_else_the_last_ten() {
        assert_eq!(first_round(2000), 201);
        assert_eq!(first_round(210), 201);
        assert_eq!(first_round(200), 191);
        assert_eq!(first_round(4), 1);
    }
}
