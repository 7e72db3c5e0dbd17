//! `cargo figures glean robust`: settings that differ from those glean was designed for, with its defaults.
//!
//! In none is it behind `random` with the same server step by more than a point, and in none does it
//! diverge over 2,000 rounds: accuracy over the last 200 is not more than two points below that over
//! rounds 181 to 200.

use std::error::Error;
use std::path::PathBuf;

use gleaner_experiment::CompletedRun;
use gleaner_sim::report::table::Table;
use gleaner_sim::run::{RunDirectory, read_rounds};

use super::all_hold;
use super::runs::{Case, accuracy, energy, execute_all, mean};

/// Name, preset, and what is changed in it.
type Cell = (&'static str, &'static str, &'static [&'static str]);

const CELLS: [Cell; 6] = [
    ("d = 0.9", "paper-mlp", &["partition.non_iid_degree=0.9"]),
    (
        "Dirichlet 0.1",
        "paper-mlp",
        &["partition.rule=dirichlet", "partition.dirichlet_alpha=0.1"],
    ),
    (
        "U = 50, C = 5",
        "paper-mlp",
        // With 1,000 samples each, the common half of MNIST does not always suffice.
        &[
            "clients.count=50",
            "radio.channels=5",
            "partition.mean_samples=900",
        ],
    ),
    (
        "U = 30, C = 3",
        "paper-mlp",
        &["clients.count=30", "radio.channels=3"],
    ),
    ("fixed point", "paper-mlp", &["clients.kind=fixed-point"]),
    ("20 % lost", "paper-mlp", &["faults.lost_updates=0.2"]),
];

/// Points that glean may be behind `random`.
const BEHIND: f64 = 1.0;
/// Points that a long run may lose.
const LOST: f64 = 2.0;

/// Options of `cargo figures glean robust`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only cells whose name contains this.
    #[arg(long, default_value = "")]
    cell: String,
    /// Number of seeds, counted from 0.
    #[arg(long, default_value_t = 3)]
    seeds: u32,
    /// Rounds of the comparison.
    #[arg(long, default_value_t = 200)]
    rounds: i64,
    /// Rounds of the long run of seed 0; 0 means none.
    #[arg(long, default_value_t = 2000)]
    long: i64,
    /// Data set; `mnist` needs `gleaner data fetch mnist`.
    #[arg(long, default_value = "mnist")]
    dataset: String,
    /// One seed, 40 rounds, 100 in the long run, 200 samples a client of the embedded subset.
    #[arg(long)]
    quick: bool,
    /// Directory of the runs; complete ones are not executed again.
    #[arg(long, default_value = "runs/figures/glean-robust")]
    out: PathBuf,
    /// Threads; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Runs all cells and tells whether the claims hold.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let (seeds, rounds, long) = match args.quick {
        true => (1, args.rounds.min(40), args.long.min(100)),
        false => (args.seeds, args.rounds, args.long),
    };
    let cells: Vec<&Cell> = CELLS
        .iter()
        .filter(|cell| cell.0.contains(&args.cell))
        .collect();
    let setting = |(name, preset, keys): &&Cell| {
        let case = Case::new(*name, preset, keys);
        match args.quick {
            true => case.with(
                *name,
                &["partition.mean_samples=200", "partition.std_samples=20"],
            ),
            false => case.set("data.dataset", &args.dataset),
        }
    };
    let mut cases = Vec::new();
    for cell in &cells {
        let case = setting(cell).set("run.rounds", rounds);
        let glean = case.clone().with("glean", &["run.scheduler=glean"]);
        let keys = [
            "run.scheduler=random",
            "server.rule=spectral",
            "baselines.power=least-energy",
        ];
        cases.extend([glean, case.with("random", &keys)]);
    }
    let runs = execute_all(&cases, seeds, &args.out, args.threads)?;
    let mut lasting = Vec::new();
    if long > 0 {
        let case = |cell: &&Cell| {
            let case =
                setting(cell).with(cell.0, &["run.scheduler=glean", "run.evaluate_every=10"]);
            case.set("run.rounds", long)
        };
        let cases: Vec<Case> = cells.iter().map(case).collect();
        lasting = execute_all(&cases, 1, &args.out, args.threads)?;
    }
    let at = [format!("at {rounds} %"), format!("at {long} %")];
    let mut table = Table::new(&[
        "cell", "glean %", "mJ/round", "random %", "mJ/round", "points", &at[0], &at[1],
    ]);
    let mut sentences = Vec::new();
    for (at, (cell, pair)) in cells.iter().zip(runs.chunks(2)).enumerate() {
        let (glean, random) = (&pair[0], &pair[1]);
        let lead = mean(glean, accuracy) - mean(random, accuracy);
        let percent = |value: f64| format!("{value:.2}");
        let mut row = vec![cell.0.to_owned()];
        row.extend([mean(glean, accuracy), mean(glean, energy)].map(percent));
        row.extend([mean(random, accuracy), mean(random, energy)].map(percent));
        row.push(format!("{lead:+.2}"));
        sentences.push(not_behind(cell.0, lead));
        if let Some(runs) = lasting.get(at) {
            let (early, late) = windows(&runs[0], rounds, long)?;
            row.extend([early, late].map(percent));
            sentences.push(lasts(cell.0, long, early, late));
        }
        table.row(row);
    }
    print!("{}", table.to_text());
    Ok(all_hold(&sentences))
}

fn not_behind(cell: &str, lead: f64) -> (String, bool) {
    let sentence = format!(
        "{cell}: {lead:+.2} points to random, at least {:+.1} claimed",
        -BEHIND
    );
    (sentence, lead >= -BEHIND)
}

fn lasts(cell: &str, rounds: i64, early: f64, late: f64) -> (String, bool) {
    let drift = late - early;
    let sentence = format!(
        "{cell}: {drift:+.2} points by round {rounds}, at least {:+.1} claimed",
        -LOST
    );
    (sentence, drift >= -LOST)
}

/// Returns the accuracy over the last tenth of the first `rounds` and of all rounds, in percent.
fn windows(run: &CompletedRun, rounds: i64, long: i64) -> Result<(f64, f64), Box<dyn Error>> {
    let rows = read_rounds(&run.directory.file(RunDirectory::ROUNDS))?;
    let tail = |last: i64| {
        let inside = |round: i64| round > last - last / 10 && round <= last;
        let scores = rows.iter().filter(|row| inside(i64::from(row.round)));
        let scores: Vec<f64> = scores.filter_map(|row| row.accuracy).collect();
        100.0 * scores.iter().sum::<f64>() / scores.len().max(1) as f64
    };
    Ok((tail(rounds), tail(long)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_and_drifting_fail() {
        assert!(not_behind("x", -1.0).1 && !not_behind("x", -1.1).1);
        assert!(lasts("x", 2000, 95.0, 93.5).1 && !lasts("x", 2000, 95.0, 92.5).1);
        // NaN fails.
        assert!(!not_behind("x", f64::NAN).1 && !lasts("x", 2000, 95.0, f64::NAN).1);
    }
}
