//! `cargo figures glean CLAIM`: the claims of docs/results/glean.md on the scheduler glean. Each command prints
//! its measurements and exits with 1 if the claim does not hold.

mod ablation;
mod cifar10;
mod decision;
mod mnist;
mod robust;
mod runs;

use clap::Subcommand;

/// Claim to measure and check.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    claim: Claim,
}

#[derive(Debug, Subcommand)]
enum Claim {
    /// Effect of each part of glean, switched by scenario keys.
    Ablation(ablation::Args),
    /// CIFAR-10: past the paper's CRE within 100 rounds, at 17 mJ a round or less.
    Cifar10(cifar10::Args),
    /// Time of a decision with 10 clients and with 1,000.
    Decision(decision::Args),
    /// MNIST, the paper's nine cells: parts (a), (b) and (c) of the benchmark.
    Mnist(mnist::Args),
    /// Settings that might break it, against `random` with the same server step; and 2,000 rounds.
    Robust(robust::Args),
}

/// Measures the claim and tells whether it holds.
pub fn run(args: &Args) -> bool {
    let holds = match &args.claim {
        Claim::Ablation(args) => ablation::run(args),
        Claim::Cifar10(args) => cifar10::run(args),
        Claim::Decision(args) => decision::run(args),
        Claim::Mnist(args) => mnist::run(args),
        Claim::Robust(args) => robust::run(args),
    };
    holds.unwrap_or_else(|error| {
        println!("{error}");
        let mut cause = error.source();
        while let Some(source) = cause {
            println!("  because: {source}");
            cause = source.source();
        }
        false
    })
}

/// Prints each claim with its outcome; returns whether all hold.
fn all_hold(sentences: &[(String, bool)]) -> bool {
    for (sentence, holds) in sentences {
        println!("{} {sentence}", if *holds { "holds:" } else { "FAILS:" });
    }
    sentences.iter().all(|(_, holds)| *holds)
}
