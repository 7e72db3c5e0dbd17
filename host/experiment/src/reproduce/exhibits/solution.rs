//! Ten rounds of CRE: which client on which channel, at what power, for how many epochs.

use std::collections::{BTreeMap, BTreeSet};

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

const CSV: &str = "network,formulas,rounds,round,client_1,power_1_mw,client_2,power_2_mw,client_3,\
    power_3_mw,epochs";

/// Shows the rounds of the first seed, and the paper's.
pub fn show(network: Network, extent: &Extent, records: &Records, section: &mut Section) {
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
    let mut beside: Vec<(String, Vec<String>)> = Vec::new();
    for setting in settings(network, extent) {
        let Some(group) = records.of(&setting) else {
            continue;
        };
        let formulas = setting.formulas;
        let rounds = setting.rounds.unwrap_or(extent.rounds);
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
            let cells: [&dyn std::fmt::Display; 6] =
                [&network, &formulas, &rounds, round, &numbers, &epochs];
            section.csv_row(CSV, &cells);
        }
        let name = match setting.rounds {
            Some(rounds) => format!("{formulas}, {rounds} rounds"),
            None => formulas.to_string(),
        };
        section.table(format!("{}, {name}", network.title()), table);
        beside.push((name, Shape::of(&group.runs[0].solutions).cells()));
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
        beside.insert(0, ("paper".to_owned(), Shape::of(&printed()).cells()));
        let mut header = vec!["of ten rounds"];
        header.extend(beside.iter().map(|(name, _)| name.as_str()));
        let mut table = Table::new(&header);
        for (at, figure) in Shape::FIGURES.into_iter().enumerate() {
            let mut cells = vec![figure.to_owned()];
            cells.extend(beside.iter().map(|(_, values)| values[at].clone()));
            table.row(cells);
        }
        section.table("The paper's ten rounds and ours", table);
    }
}

/// Returns the paper's ten rounds.
fn printed() -> Solutions {
    let solution = |row: &SolutionRow| {
        let mut uploads = [None; CHANNELS];
        let pairs = row.clients.iter().zip(&row.power_mw);
        for (upload, (&client, &mw)) in uploads.iter_mut().zip(pairs) {
            *upload = (client > 0).then_some((client as usize, mw / 1e3));
        }
        let epochs = row.epochs;
        (row.round, Solution { uploads, epochs })
    };
    Solutions(paper().solution.iter().map(solution).collect())
}

/// Figures of ten rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    clients: f64,
    /// Share of uploads at the paper's full power.
    at_full_power: f64,
    /// Mean power of the others in milliwatts.
    chosen_mw: f64,
    /// Mean epochs of rounds with an upload.
    epochs: f64,
    /// Rounds that leave a channel empty.
    idle: usize,
    /// Clients with an upload.
    different: usize,
}

/// The paper's full power, less what it rounds.
const FULL_POWER_W: f64 = 0.1995;

impl Shape {
    const FIGURES: [&str; 6] = [
        "clients per round",
        "uploads at full power %",
        "power of the others mW",
        "epochs",
        "rounds with an empty channel",
        "different clients",
    ];

    fn of(solutions: &Solutions) -> Self {
        let rounds = solutions.0.len().max(1) as f64;
        let all = solutions.0.values();
        let uploads: Vec<(usize, f64)> = all
            .clone()
            .flat_map(|it| it.uploads.iter().flatten().copied())
            .collect();
        let chosen = uploads
            .iter()
            .filter(|(_, power_w)| *power_w < FULL_POWER_W);
        let chosen: Vec<f64> = chosen.map(|(_, power_w)| 1e3 * power_w).collect();
        let full = uploads.len() - chosen.len();
        let active = all
            .clone()
            .filter(|it| it.uploads.iter().any(Option::is_some));
        let epochs: Vec<f64> = active.map(|it| f64::from(it.epochs)).collect();
        let clients: BTreeSet<usize> = uploads.iter().map(|(client, _)| *client).collect();
        Self {
            clients: uploads.len() as f64 / rounds,
            at_full_power: full as f64 / uploads.len().max(1) as f64,
            chosen_mw: Statistic::of(&chosen).mean,
            epochs: Statistic::of(&epochs).mean,
            idle: all
                .filter(|it| it.uploads.iter().any(Option::is_none))
                .count(),
            different: clients.len(),
        }
    }

    /// Returns the figures in the order of [`Shape::FIGURES`].
    fn cells(&self) -> Vec<String> {
        vec![
            format!("{:.1}", self.clients),
            format!("{:.0}", 100.0 * self.at_full_power),
            format!("{:.1}", self.chosen_mw),
            format!("{:.1}", self.epochs),
            self.idle.to_string(),
            self.different.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_ten_rounds_have_22_uploads_half_of_them_at_full_power() {
        let shape = Shape::of(&printed());
        assert_eq!(shape.clients, 2.2);
        assert_eq!((shape.idle, shape.different), (8, 9));
        assert!((shape.epochs - 4.5).abs() < 1e-12);
        assert!(
            (shape.at_full_power - 10.0 / 22.0).abs() < 1e-12,
            "{shape:?}"
        );
        let nothing = Shape::of(&Solutions::default());
        assert_eq!(
            (nothing.clients, nothing.chosen_mw, nothing.epochs),
            (0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn the_papers_rounds_are_shown_if_there_are_as_many_and_else_the_last_ten() {
        assert_eq!([2000, 210, 200, 4].map(first_round), [201, 201, 191, 1]);
    }
}
