//! What a run comes down to.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::round::{ClientRow, ClientState, RoundRow};

/// The figures a run is judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Rounds.
    pub rounds: usize,
    /// Accuracy after the last round, 0 to 1.
    pub final_accuracy: f64,
    /// Mean accuracy over the last tenth of the rounds: single-client rounds make one round jump.
    pub tail_accuracy: f64,
    /// Joules spent by all clients.
    pub energy_j: f64,
    /// Joules spent by all clients per round.
    pub energy_per_round_j: f64,
    /// Share of the energy that went into computing.
    pub compute_share: f64,
    /// Participants per round.
    pub participants: f64,
    /// Epochs per round with participants.
    pub epochs: f64,
    /// Rounds in which nobody trained.
    pub empty_rounds: usize,
    /// Jain's index of how often clients took part: 1 is even, 1/U is one client alone.
    pub fairness: f64,
    /// Largest energy queue at the end.
    pub largest_queue_j: f64,
    /// Share of (client, round) pairs in which C5 failed.
    pub overdrawn_share: f64,
    /// Modelled time of the whole run.
    pub modelled_s: f64,
}

impl Summary {
    /// The names of the figures in a table of runs, as [`Summary::csv_cells`] orders them.
    pub const CSV_HEADER: &str = "final_accuracy,tail_accuracy,energy_j,energy_per_round_j,\
        compute_share,participants,epochs,empty_rounds,fairness,largest_queue_j,overdrawn_share,\
        modelled_s";

    /// Writes the figures as cells of a row.
    #[must_use]
    pub fn csv_cells(&self) -> String {
        let cells: [&dyn Display; 12] = [
            &self.final_accuracy,
            &self.tail_accuracy,
            &self.energy_j,
            &self.energy_per_round_j,
            &self.compute_share,
            &self.participants,
            &self.epochs,
            &self.empty_rounds,
            &self.fairness,
            &self.largest_queue_j,
            &self.overdrawn_share,
            &self.modelled_s,
        ];
        cells.map(ToString::to_string).join(",")
    }

    /// Sums up the logs of a run.
    #[must_use]
    pub fn of(rounds: &[RoundRow], clients: &[ClientRow]) -> Self {
        let count = rounds.iter().filter(|row| row.round > 0).count();
        let tail_from = count - count.div_ceil(10);
        let scores: Vec<(u32, f64)> = rounds
            .iter()
            .filter_map(|row| Some((row.round, row.accuracy?)))
            .collect();
        let tail: Vec<f64> = scores
            .iter()
            .filter(|(round, _)| *round as usize > tail_from)
            .map(|(_, accuracy)| *accuracy)
            .collect();
        let last = rounds.last();
        let energy_j = last.map_or(0.0, |row| row.spent_j);
        let compute_j: f64 = rounds.iter().map(|row| row.compute_j).sum();
        let trained: Vec<&RoundRow> = rounds
            .iter()
            .filter(|row| row.round > 0 && !row.participants.is_empty())
            .collect();
        let last_round = last.map_or(0, |row| row.round);
        let largest_queue_j = clients
            .iter()
            .filter(|row| row.round == last_round)
            .map(|row| row.queue_j)
            .fold(0.0, f64::max);
        let overdrawn = clients.iter().filter(|row| !row.within_income).count();
        Self {
            rounds: count,
            final_accuracy: scores.last().map_or(0.0, |(_, accuracy)| *accuracy),
            tail_accuracy: mean(&tail),
            energy_j,
            energy_per_round_j: energy_j / count.max(1) as f64,
            compute_share: if energy_j > 0.0 {
                compute_j / energy_j
            } else {
                0.0
            },
            participants: trained
                .iter()
                .map(|row| row.participants.len())
                .sum::<usize>() as f64
                / count.max(1) as f64,
            epochs: mean(
                &trained
                    .iter()
                    .map(|row| f64::from(row.epochs))
                    .collect::<Vec<_>>(),
            ),
            empty_rounds: count - trained.len(),
            fairness: jain(&participations(clients)),
            largest_queue_j,
            overdrawn_share: overdrawn as f64 / clients.len().max(1) as f64,
            modelled_s: rounds.iter().map(|row| row.round_s).sum(),
        }
    }
}

/// Returns how often each client took part.
#[must_use]
pub fn participations(clients: &[ClientRow]) -> Vec<f64> {
    let count = clients.iter().map(|row| row.client + 1).max().unwrap_or(0);
    let mut times = vec![0.0; count];
    let rows = clients
        .iter()
        .filter(|row| row.round > 0 && row.state == ClientState::Trained);
    for row in rows {
        times[row.client] += 1.0;
    }
    times
}

/// Returns Jain's fairness index (sum x)^2 / (n sum x^2); 1 if nobody got anything.
#[must_use]
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares > 0.0 {
        sum * sum / (shares.len() as f64 * squares)
    } else {
        1.0
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_table_has_a_cell_for_every_name() {
        let names = Summary::CSV_HEADER.split(',').count();
        assert_eq!(Summary::of(&[], &[]).csv_cells().split(',').count(), names);
    }

    #[test]
    fn a_run_in_which_nobody_trained_reads_zero_without_a_sign() {
        let summary = Summary::of(&[], &[]);
        assert_eq!(format!("{:.2}", summary.participants), "0.00");
        assert_eq!((summary.rounds, summary.empty_rounds), (0, 0));
    }

    #[test]
    fn fairness_is_one_when_even_and_one_over_n_when_alone() {
        assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-15);
        assert!((jain(&[0.0, 7.0, 0.0, 0.0]) - 0.25).abs() < 1e-15);
        assert!((jain(&[0.0, 0.0]) - 1.0).abs() < 1e-15);
    }
}
