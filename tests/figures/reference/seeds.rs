//! Dependence of CRE's energy on the seed: distances of the clients, and rounds with one participant.

use gleaner_cre::channel::distance_in_disc;
use gleaner_cre::units::Metres;
use gleaner_experiment::{ExperimentError, Point, Runs};
use gleaner_sim::report::table::Table;
use gleaner_sim::round::RoundRow;
use gleaner_sim::run::{RunDirectory, read_rounds};

use super::cells::Cell;

/// Returns a table of a cell's seeds, the most frugal first.
pub fn table(cell: &Cell, points: &[Point], runs: &Runs) -> Result<String, ExperimentError> {
    let mut rows = Vec::new();
    for point in points {
        let path = runs.of(point)?.directory.file(RunDirectory::ROUNDS);
        let rounds = read_rounds(&path)?;
        rows.push((energy_mj(&rounds), cells(point, &rounds)));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let title = cell.name();
    let mut table = Table::new(&[
        title.as_str(),
        "nearest m",
        "second m",
        "third m",
        "rounds alone %",
        "clients",
        "epochs",
        "mJ/round",
    ]);
    for (energy, mut cells) in rows {
        cells.push(format!("{energy:.2}"));
        table.row(cells);
    }
    Ok(table.to_text())
}

fn energy_mj(rounds: &[RoundRow]) -> f64 {
    let spent_j = rounds.last().map_or(0.0, |row| row.cumulative_spent_j);
    1e3 * spent_j / rounds.len().max(1) as f64
}

fn cells(point: &Point, rounds: &[RoundRow]) -> Vec<String> {
    let scenario = &point.scenario;
    let seed = scenario.run.seed;
    let mut distances: Vec<f64> = (0u32..)
        .take(scenario.clients.count)
        .map(|client| distance_in_disc(seed, client, 0, Metres(scenario.channel.radius_m)).0)
        .collect();
    distances.sort_by(f64::total_cmp);
    let mean = |figure: &dyn Fn(usize) -> f64| {
        (0..rounds.len()).map(figure).sum::<f64>() / rounds.len().max(1) as f64
    };
    let clients = |at: usize| rounds[at].participants.len();
    let mut cells = vec![format!("seed {seed}")];
    cells.extend(
        distances
            .iter()
            .take(3)
            .map(|metres| format!("{metres:.0}")),
    );
    cells.push(format!(
        "{:.0}",
        100.0 * mean(&|at| f64::from(clients(at) == 1))
    ));
    cells.push(format!("{:.2}", mean(&|at| clients(at) as f64)));
    cells.push(format!("{:.1}", mean(&|at| f64::from(rounds[at].epochs))));
    cells
}
