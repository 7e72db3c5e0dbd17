//! Numbers that the paper prints, from `paper.toml`.

use std::sync::LazyLock;

use super::*;

/// Numbers of the paper's tables.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Samples of each client in the tables of one experiment.
    pub samples: Vec<u32>,
    algorithms: Vec<Scheduler>,
    accuracy: Vec<Accuracy>,
    /// Ten rounds of CRE on CIFAR-10.
    pub solution: Vec<SolutionRow>,
    /// Schedules and epochs on CIFAR-10.
    pub statistics: Vec<StatisticsRow>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accuracy {
    network: Network,
    degree: f64,
    deviation: f64,
    percent: Vec<f64>,
}

/// One round of the table of solutions: clients, powers and epochs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct SolutionRow {
    pub round: u32,
    /// The client on every channel, counted from 1; 0 is none.
    pub clients: Vec<u32>,
    pub power_mw: Vec<f64>,
    pub epochs: u32,
}

/// One algorithm of the table of statistics: schedules and epochs by client, over 2000 rounds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the struct's documentation says it")]
pub struct StatisticsRow {
    pub algorithm: Scheduler,
    pub schedules: Vec<u32>,
    pub epochs: Vec<u32>,
    #[cfg_attr(not(test), allow(dead_code, reason = "a test checks the printed sums"))]
    pub sums: [u32; 2],
}

impl StatisticsRow {
    /// Returns the activity of all clients.
    pub fn activity(&self) -> Activity {
        Activity::of(&self.schedules, &self.epochs, PAPERS_ROUNDS)
    }
}

/// Rounds of the table of statistics.
const PAPERS_ROUNDS: usize = 2000;

/// Activity of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// Updates used per round.
    pub clients: f64,
    /// Mean number of epochs per update.
    pub epochs: f64,
}

impl Activity {
    pub(super) fn of(schedules: &[u32], epochs: &[u32], rounds: usize) -> Self {
        let sum = |list: &[u32]| f64::from(list.iter().sum::<u32>());
        Self {
            clients: sum(schedules) / rounds.max(1) as f64,
            epochs: sum(epochs) / sum(schedules).max(1.0),
        }
    }
}

impl Paper {
    /// Returns the accuracy of an algorithm in a cell, in percent.
    pub(super) fn accuracy(
        &self,
        network: Network,
        cell: Cell,
        algorithm: Scheduler,
    ) -> Option<f64> {
        let column = self.algorithms.iter().position(|&it| it == algorithm)?;
        let here = |row: &&Accuracy| {
            (row.network, row.degree, row.deviation) == (network, cell.degree, cell.deviation)
        };
        let row = self.accuracy.iter().find(here)?;
        row.percent.get(column).copied()
    }
}

/// Returns the paper's numbers. The file is part of the program, and a test reads it.
pub fn paper() -> &'static Paper {
    static PAPER: LazyLock<Paper> =
        LazyLock::new(|| toml::from_str(include_str!("paper.toml")).unwrap_or_default());
    &PAPER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_whole_and_its_sums_are_the_printed_ones() {
        let paper: Paper = toml::from_str(include_str!("paper.toml")).unwrap();
        assert_eq!(paper.algorithms, SIX);
        assert_eq!((paper.accuracy.len(), paper.solution.len()), (18, 10));
        assert_eq!(paper.samples.len(), 10);
        for row in &paper.statistics {
            let sums: [u32; 2] = [row.schedules.iter().sum(), row.epochs.iter().sum()];
            assert_eq!(sums, row.sums, "{}", row.algorithm);
        }
        let activity = paper.statistics[0].activity();
        assert_eq!(
            (activity.clients, activity.epochs),
            (2.024, 12720.0 / 4048.0)
        );
        let all: f64 = paper.accuracy.iter().flat_map(|row| &row.percent).sum();
        assert!((all - 7347.52).abs() < 1e-6, "{all}");
    }

    #[test]
    fn cre_is_first_in_every_cell_and_known_cells_read_as_printed() {
        for network in [Network::Mlp, Network::Cnn] {
            for cell in Scale::Full.extent(network).unwrap().cells {
                let of = |algorithm| paper().accuracy(network, cell, algorithm).unwrap();
                let others = SIX.into_iter().filter(|&it| it != Scheduler::Cre);
                assert!(others.into_iter().all(|it| of(it) < of(Scheduler::Cre)));
            }
        }
        let of = |network, cell, it| paper().accuracy(network, cell, it).unwrap();
        let (mlp, cnn) = (Network::Mlp, Network::Cnn);
        assert_eq!(of(mlp, Cell::new(0.2, 50.0), Scheduler::Random), 82.66);
        assert_eq!(of(mlp, Cell::MIDDLE, Scheduler::FedNova), 83.92);
        assert_eq!(
            of(cnn, Cell::new(0.6, 150.0), Scheduler::ImportanceAware),
            43.77
        );
        assert_eq!(paper().accuracy(mlp, Cell::MIDDLE, Scheduler::Glean), None);
    }
}
