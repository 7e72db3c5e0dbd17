//! `cargo figures privacy`: what differential privacy costs in accuracy, and what updates tell about labels.

mod curves;
mod leak;

use clap::ValueEnum;

/// A part of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Accuracy against epsilon for 10, 100 and 1,000 clients.
    Curves,
    /// Label histograms read from updates.
    Leak,
}

/// Rounds, seeds and data of the runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One part instead of all.
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// Number of rounds per run.
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// Number of seeds, counted from 0.
    #[arg(long, default_value_t = 3)]
    seeds: u32,
    /// Clients of each population; one in ten of a hundred and more takes part, of fewer one in three.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1_000])]
    clients: Vec<usize>,
    /// Noise multipliers; 0 is the bound alone.
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 0.5, 1.0, 2.0])]
    noise: Vec<f64>,
    /// Probability with which epsilon may fail.
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// Samples of all clients together.
    #[arg(long, default_value_t = 10_000)]
    samples: usize,
    /// Test images; 0 means all.
    #[arg(long, default_value_t = 0)]
    test_samples: usize,
    /// Data set; `mnist` needs `gleaner data fetch mnist`.
    #[arg(long, default_value = "mnist-subset")]
    dataset: String,
}

/// Runs the parts and tells whether their claims hold.
pub fn run(args: &Args) -> bool {
    let wanted = |part| args.part.is_none_or(|only| only == part);
    let curves = !wanted(Part::Curves) || curves::run(args);
    let leak = !wanted(Part::Leak) || leak::run(args);
    curves && leak
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(part: Part) -> Args {
        Args {
            part: Some(part),
            rounds: 8,
            seeds: 1,
            clients: vec![10, 200],
            noise: vec![0.0, 1.0],
            delta: 1e-5,
            samples: 2_000,
            test_samples: 500,
            dataset: "mnist-subset".to_owned(),
        }
    }

    #[test]
    fn a_short_run_keeps_the_claims_of_the_curves() {
        assert!(run(&short(Part::Curves)));
    }

    #[test]
    fn a_short_run_keeps_the_claims_of_the_leak() {
        assert!(run(&short(Part::Leak)));
    }
}
