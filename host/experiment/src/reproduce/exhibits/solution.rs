//! Ten rounds of CRE: which client on which channel, at what power, for how many epochs.

use std::collections::BTreeMap;

use gleaner_sim::round::ClientRow;

use super::*;

/// Rounds in the table.
const ROUNDS: u32 = 10;
const CHANNELS: usize = 3;

/// One round: client, counted from 1, and power in watts on every channel, and the epochs of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solution {
    pub uploads: [Option<(usize, f64)>; CHANNELS],
    pub epochs: u32,
}

/// Ten rounds of a run, by round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solutions(pub BTreeMap<u32, Solution>);

impl Solutions {
    /// Prepares the ten rounds that are shown of a run.
    pub fn new(rounds: usize) -> Self {
        let first = first_round(rounds);
        let count = ROUNDS.min(u32::try_from(rounds).unwrap_or(ROUNDS));
        let empty = |round| (round, Solution::default());
        Self((first..first + count).map(empty).collect())
    }

    /// Adds a client's row of a round.
    pub fn add(&mut self, row: &ClientRow) {
        let (Some(solution), Some(channel)) = (self.0.get_mut(&row.round), row.channel) else {
            return;
        };
        if let Some(upload) = solution.uploads.get_mut(channel) {
            *upload = Some((row.client.index() + 1, row.power_w));
            solution.epochs = row.epochs;
        }
    }
}

/// Returns the first of the ten rounds: the paper's 201 if the run has as many, else ten from the end.
fn first_round(rounds: usize) -> u32 {
    let last = u32::try_from(rounds).unwrap_or(u32::MAX);
    if last >= 210 {
        201
    } else {
        last.saturating_sub(ROUNDS - 1).max(1)
    }
}

/// Returns CRE with both sets of formulas, and its long run.
pub fn settings(network: Network, extent: &Extent) -> Vec<Setting> {
    let mut all = cre_settings(network);
    let long = |rounds| Setting::new(network, Scheduler::Cre, Cell::MIDDLE).with_rounds(rounds);
    all.extend(extent.long_rounds.map(long));
    all
}

const CSV: &str = "network,formulas,round,client_1,power_1_mw,client_2,power_2_mw,client_3,\
    power_3_mw,epochs";

/// Shows the rounds of the first seed, and the paper's.
pub fn show(network: Network, _: &Extent, records: &Records, section: &mut Section) {
    let header = [
        "round",
        "channel 1: client, mW",
        "channel 2: client, mW",
        "channel 3: client, mW",
        "epochs",
    ];
    let cell = |client: usize, power_mw: f64| match client {
        0 => "none".to_owned(),
        client => format!("{client}, {power_mw:.2}"),
    };
    for setting in cre_settings(network) {
        let Some(group) = records.of(&setting) else {
            continue;
        };
        let formulas = setting.formulas;
        let mut table = Table::new(&header);
        for (round, solution) in &group.runs[0].solutions.0 {
            let (mut cells, mut numbers) = (vec![round.to_string()], Vec::new());
            for upload in solution.uploads {
                let (client, power_mw) = upload.map_or((0, 0.0), |(client, w)| (client, 1e3 * w));
                cells.push(cell(client, power_mw));
                numbers.push(format!("{client},{power_mw:.3}"));
            }
            cells.push(solution.epochs.to_string());
            table.row(cells);
            let (numbers, epochs) = (numbers.join(","), solution.epochs);
            section.csv_row(CSV, &[&network, &formulas, round, &numbers, &epochs]);
        }
        section.table(format!("{}, {formulas}", network.title()), table);
    }
    if network == Network::Cnn && !section.is_empty() {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_rounds_are_shown_if_there_are_as_many_and_else_the_last_ten() {
        assert_eq!([2000, 210, 200, 4].map(first_round), [201, 201, 191, 1]);
    }
}
