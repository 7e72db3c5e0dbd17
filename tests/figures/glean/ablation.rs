//! `cargo figures glean ablation`: effect of each part of glean, switched by scenario keys.
//!
//! Claims: glean spends more energy without the energy term of its score, with more epochs, and with
//! affordable clients drawn at random; and its accuracy is lower with the plain server.

use std::error::Error;
use std::path::PathBuf;

use gleaner_experiment::CompletedRun;
use gleaner_sim::report::table::Table;

use super::all_hold;
use super::runs::{Case, accuracy, energy, execute_all, mean};

/// The claim about a variant, compared with unchanged glean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claimed {
    Nothing,
    MoreEnergy,
    LessAccuracy,
}

/// Name of a variant, its settings and the claim about it.
type Variant = (&'static str, &'static [&'static str], Claimed);

const VARIANTS: [Variant; 18] = [
    ("glean", &[], Claimed::Nothing),
    ("lambda = 0.5", &["glean.lambda=0.5"], Claimed::MoreEnergy),
    (
        "oldest first (lambda = 0)",
        &["glean.lambda=0"],
        Claimed::MoreEnergy,
    ),
    (
        "random affordable",
        &["glean.claim=draw", "glean.lambda=0"],
        Claimed::MoreEnergy,
    ),
    ("two epochs", &["glean.epochs=2"], Claimed::MoreEnergy),
    ("three epochs", &["glean.epochs=3"], Claimed::MoreEnergy),
    (
        "plain server",
        &["server.rule=plain"],
        Claimed::LessAccuracy,
    ),
    ("momentum", &["server.rule=momentum"], Claimed::Nothing),
    ("Nesterov", &["server.rule=nesterov"], Claimed::Nothing),
    (
        "no momentum in the spectral step",
        &["server.momentum_cap=0"],
        Claimed::Nothing,
    ),
    (
        "steps that do not shrink",
        &["server.anneal=false"],
        Claimed::Nothing,
    ),
    ("clip 1", &["server.clip=1"], Claimed::Nothing),
    ("no clip", &["server.clip=1e9"], Claimed::Nothing),
    ("step 0.04", &["server.step=0.04"], Claimed::Nothing),
    ("step 0.16", &["server.step=0.16"], Claimed::Nothing),
    (
        "cre, spectral",
        &["run.scheduler=cre", "server.rule=spectral"],
        Claimed::MoreEnergy,
    ),
    (
        "random, spectral, least energy",
        &[
            "run.scheduler=random",
            "server.rule=spectral",
            "baselines.power=least-energy",
        ],
        Claimed::MoreEnergy,
    ),
    (
        "random, spectral, full power",
        &["run.scheduler=random", "server.rule=spectral"],
        Claimed::MoreEnergy,
    ),
];

/// Options of `cargo figures glean ablation`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of seeds, counted from 0.
    #[arg(long, default_value_t = 5)]
    seeds: u32,
    /// Number of communication rounds.
    #[arg(long, default_value_t = 200)]
    rounds: i64,
    /// Data set; `mnist` needs `gleaner data fetch mnist`.
    #[arg(long, default_value = "mnist")]
    dataset: String,
    /// One seed, 60 rounds, the embedded subset: a minute, for a look.
    #[arg(long)]
    quick: bool,
    /// Directory of the runs; complete ones are not executed again.
    #[arg(long, default_value = "runs/figures/glean-ablation")]
    out: PathBuf,
    /// Threads; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Runs every variant and tells whether the claims hold.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let (seeds, rounds, dataset) = match args.quick {
        true => (1, args.rounds.min(60), "mnist-subset"),
        false => (args.seeds, args.rounds, args.dataset.as_str()),
    };
    let case = |(name, keys, _): &Variant| {
        Case::new(*name, "paper-mlp", &["run.scheduler=glean"])
            .set("run.rounds", rounds)
            .set("data.dataset", dataset)
            .with(*name, keys)
    };
    let cases: Vec<Case> = VARIANTS.iter().map(case).collect();
    let runs = execute_all(&cases, seeds, &args.out, args.threads)?;
    let mut table = Table::new(&["variant", "accuracy %", "points", "mJ/round", "%"]);
    let mut sentences = Vec::new();
    let figures = |runs: &[CompletedRun]| (mean(runs, accuracy), mean(runs, energy));
    let glean = figures(&runs[0]);
    for (&(name, _, claimed), runs) in VARIANTS.iter().zip(&runs) {
        let (accuracy, energy) = figures(runs);
        table.row(vec![
            name.to_owned(),
            format!("{accuracy:.2}"),
            format!("{:+.2}", accuracy - glean.0),
            format!("{energy:.2}"),
            format!("{:+.0}", 100.0 * (energy / glean.1 - 1.0)),
        ]);
        sentences.extend(claim(name, claimed, (accuracy, energy), glean));
    }
    print!("{}", table.to_text());
    Ok(all_hold(&sentences))
}

/// Puts a claim into a sentence; figures are (accuracy, energy).
fn claim(
    name: &str,
    claimed: Claimed,
    found: (f64, f64),
    glean: (f64, f64),
) -> Option<(String, bool)> {
    let (what, holds) = match claimed {
        Claimed::Nothing => return None,
        Claimed::MoreEnergy => ("spends more than glean", found.1 > glean.1),
        Claimed::LessAccuracy => ("learns less than glean", found.0 < glean.0),
    };
    Some((format!("{name} {what}"), holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_looks_at_its_own_figure() {
        let holds = |claimed, found| claim("x", claimed, found, (95.0, 1.5)).map(|claim| claim.1);
        assert_eq!(holds(Claimed::Nothing, (0.0, 0.0)), None);
        assert_eq!(holds(Claimed::MoreEnergy, (96.0, 1.6)), Some(true));
        assert_eq!(holds(Claimed::MoreEnergy, (94.0, 1.5)), Some(false));
        assert_eq!(holds(Claimed::LessAccuracy, (94.0, 1.4)), Some(true));
        assert_eq!(holds(Claimed::LessAccuracy, (95.0, 1.6)), Some(false));
    }
}
