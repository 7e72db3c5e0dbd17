//! `cargo figures glean cifar10`: the convolutional network, three seeds at each degree.
//!
//! What the paper's CRE reaches after 2,000 rounds is passed within 100, at 17 mJ a round or less.
//! The claim is checked on the model chosen by validation accuracy (`run.stop = "validation"`). The table
//! also has the accuracies after 60 and 100 rounds, and the best of all rounds by test accuracy.

use std::error::Error;
use std::path::PathBuf;

use gleaner_experiment::CompletedRun;
use gleaner_sim::report::table::Table;
use gleaner_sim::round::RoundRow;
use gleaner_sim::run::{RunDirectory, read_rounds};

use super::all_hold;
use super::runs::{Case, energy, execute_all, mean};

/// Non-IID degree, and the accuracy in percent that the paper's CRE ends with.
const PAPER: [(f64, f64); 3] = [(0.2, 58.9), (0.4, 56.4), (0.6, 52.4)];
/// Millijoules of all clients a round.
const MOST_MJ: f64 = 17.0;
/// The round whose accuracy stands beside the last one's.
const EARLY: u32 = 60;

/// Options of `cargo figures glean cifar10`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Non-IID degrees among 0.2, 0.4 and 0.6.
    #[arg(long, value_delimiter = ',', default_value = "0.2,0.4,0.6")]
    degrees: Vec<f64>,
    /// Number of seeds, counted from 0.
    #[arg(long, default_value_t = 3)]
    seeds: u32,
    /// Number of communication rounds.
    #[arg(long, default_value_t = 100)]
    rounds: i64,
    /// Training images that no client owns, on which the model is chosen.
    #[arg(long, default_value_t = 1000)]
    validation_samples: i64,
    /// One degree, one seed, ten rounds: minutes, for a look.
    #[arg(long)]
    quick: bool,
    /// Directory of the runs; complete ones are not executed again.
    #[arg(long, default_value = "runs/figures/glean-cifar10")]
    out: PathBuf,
    /// Threads; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Runs all degrees and tells whether the claim holds. The images come with
/// `gleaner data fetch cifar10`.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let (degrees, seeds, rounds) = match args.quick {
        true => (&args.degrees[..args.degrees.len().min(1)], 1, 10),
        false => (&args.degrees[..], args.seeds, args.rounds),
    };
    let case = |degree: &f64| {
        Case::new(
            format!("d = {degree}"),
            "paper-cnn",
            &[
                "run.scheduler=glean",
                // The channel and cycles of docs/results/glean.md.
                "channel.placement=fixed",
                "device.cycles_per_sample=1000",
            ],
        )
        .set("partition.non_iid_degree", *degree)
        .set("run.rounds", rounds)
        .set("run.stop", "validation")
        .set("run.patience", rounds)
        .set("data.validation_samples", args.validation_samples)
    };
    let cases: Vec<Case> = degrees.iter().map(case).collect();
    let runs = execute_all(&cases, seeds, &args.out, args.threads)?;
    let mut table = Table::new(&[
        "",
        "seed",
        "chosen %",
        "of round",
        "after 60 %",
        "last %",
        "best %",
        "mJ/round",
    ]);
    let mut sentences = Vec::new();
    for ((&degree, case), runs) in degrees.iter().zip(&cases).zip(&runs) {
        for (seed, run) in runs.iter().enumerate() {
            table.row(row(&case.name, seed, run)?);
        }
        let chosen = mean(runs, |run| 100.0 * run.summary.final_accuracy);
        sentences.extend(claims(degree, chosen, mean(runs, energy)));
    }
    print!("{}", table.to_text());
    Ok(all_hold(&sentences))
}

fn row(name: &str, seed: usize, run: &CompletedRun) -> Result<Vec<String>, Box<dyn Error>> {
    let rounds = read_rounds(&run.directory.file(RunDirectory::ROUNDS))?;
    let percent = |accuracy: Option<f64>| {
        accuracy.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", 100.0 * share))
    };
    let accuracies = || rounds.iter().filter_map(|row: &RoundRow| row.accuracy);
    let early = rounds.iter().find(|row| row.round == EARLY);
    Ok(vec![
        name.to_owned(),
        seed.to_string(),
        percent(Some(run.summary.final_accuracy)),
        run.summary.kept_round().to_string(),
        percent(early.and_then(|row| row.accuracy)),
        percent(accuracies().next_back()),
        percent(accuracies().reduce(f64::max)),
        format!("{:.2}", energy(run)),
    ])
}

/// Puts what is claimed at a degree into sentences, each with whether it holds.
fn claims(degree: f64, chosen: f64, energy_mj: f64) -> Vec<(String, bool)> {
    let known = PAPER.iter().find(|(known, _)| *known == degree);
    let mut sentences = vec![(
        format!("d = {degree}: {energy_mj:.2} mJ a round, at most {MOST_MJ} claimed"),
        energy_mj <= MOST_MJ,
    )];
    sentences.extend(known.map(|&(_, paper)| {
        let sentence = format!("d = {degree}: {chosen:.1} %, more than {paper} % claimed");
        (sentence, chosen > paper)
    }));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_and_too_dear_both_fail() {
        let holds = |chosen, energy| claims(0.4, chosen, energy).iter().all(|(_, holds)| *holds);
        assert!(holds(56.5, 17.0));
        assert!(!holds(56.4, 17.0));
        assert!(!holds(60.0, 17.1));
    }
}
