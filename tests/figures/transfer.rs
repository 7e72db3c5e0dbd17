//! Bytes a 39,760-byte model takes over lines that lose, repeat and flip, against the clean line.
//!
//! Bytes are counted from the offer to the moment the sender knows that all arrived: headers,
//! tags, checksums, stuffing, delimiters, the offer and every poll. The limit holds for the mean
//! over the seeds: with some 42 chunks a single run scatters by several percent around it.

use gleaner_tests::line::Faults;
use gleaner_tests::progress;
use gleaner_tests::transfer::{MODEL_BYTES, Outcome, send_model};

/// Probabilities of losing a frame.
const LOSSES: [f64; 5] = [0.0, 0.01, 0.05, 0.10, 0.20];
/// Most overhead of the clean run.
const OVERHEAD_LIMIT: f64 = 0.05;
/// Bytes beyond the clean run's that faults may cost, beside the repeats that loss forces.
const FAULT_FACTOR: f64 = 1.15;

/// Number and seed of the random cases.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of transfers per row.
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// Probability that a frame arrives twice.
    #[arg(long, default_value_t = 0.01)]
    duplicates: f64,
    /// Probability that a bit flips.
    #[arg(long, default_value_t = 1e-5)]
    bit_error: f64,
}

/// Prints the table and tells whether every row keeps its limit.
pub fn run(args: &Args) -> bool {
    let Some(clean) = send_model(Faults::default(), 0) else {
        println!("the clean run did not end");
        return false;
    };
    let overhead = clean.down as f64 / MODEL_BYTES as f64 - 1.0;
    let both = (clean.down + clean.up) as f64 / MODEL_BYTES as f64 - 1.0;
    println!(
        "clean: {} bytes for {MODEL_BYTES} ({:.2} % over, limit {:.0} %); \
         {} bytes back, {:.2} % over both ways; {:.3} s at 921,600 baud",
        clean.down,
        overhead * 100.0,
        OVERHEAD_LIMIT * 100.0,
        clean.up,
        both * 100.0,
        clean.elapsed.0 as f64 / 1e6,
    );
    println!(
        "with {} % duplicates and bit errors of {:e}, {} seeds a row; factors of the clean run",
        args.duplicates * 100.0,
        args.bit_error,
        args.seeds
    );
    println!("loss  identical  mean   limit  worst  within  both ways  repeats  mean time");
    let bar = progress("transfers", args.seeds * LOSSES.len() as u64);
    let mut holds = overhead <= OVERHEAD_LIMIT;
    for loss in LOSSES {
        let faults = Faults {
            loss,
            duplicate: args.duplicates,
            bit_error: args.bit_error,
        };
        let runs: Vec<Option<Outcome>> = (0..args.seeds)
            .map(|seed| {
                bar.inc(1);
                send_model(faults, seed)
            })
            .collect();
        let limit = FAULT_FACTOR / (1.0 - loss);
        let row = Row::of(&runs, &clean, limit);
        holds &= row.identical == runs.len() && row.mean <= limit;
        bar.suspend(|| row.print(loss, limit));
    }
    bar.finish_and_clear();
    holds
}

/// One line of the table.
struct Row {
    identical: usize,
    runs: usize,
    mean: f64,
    worst: f64,
    within: usize,
    both: f64,
    repeats: f64,
    seconds: f64,
}

impl Row {
    fn of(runs: &[Option<Outcome>], clean: &Outcome, limit: f64) -> Self {
        let arrived: Vec<&Outcome> = runs.iter().flatten().collect();
        let factors: Vec<f64> = arrived
            .iter()
            .map(|outcome| outcome.down as f64 / clean.down as f64)
            .collect();
        let mean = |sum: f64| sum / arrived.len().max(1) as f64;
        let clean_both = (clean.down + clean.up) as f64;
        Self {
            identical: arrived.iter().filter(|outcome| outcome.identical).count(),
            runs: runs.len(),
            mean: mean(factors.iter().sum()),
            worst: factors.iter().copied().fold(0.0, f64::max),
            within: factors.iter().filter(|&&factor| factor <= limit).count(),
            both: mean(
                arrived
                    .iter()
                    .map(|o| (o.down + o.up) as f64 / clean_both)
                    .sum(),
            ),
            repeats: mean(arrived.iter().map(|o| f64::from(o.repeated)).sum()),
            seconds: mean(arrived.iter().map(|o| o.elapsed.0 as f64 / 1e6).sum()),
        }
    }

    fn print(&self, loss: f64, limit: f64) {
        println!(
            "{:3.0} %  {:>4}/{:<4}  {:.3}  {:.3}  {:.3}  {:>3.0} %   {:.3}      {:5.1}    {:.2} s",
            loss * 100.0,
            self.identical,
            self.runs,
            self.mean,
            limit,
            self.worst,
            100.0 * self.within as f64 / self.runs.max(1) as f64,
            self.both,
            self.repeats,
            self.seconds,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_transfer_costs_less_than_five_percent() {
        let clean = send_model(Faults::default(), 0).expect("it arrives");
        assert!(clean.identical);
        assert_eq!(clean.repeated, 0);
        let limit = MODEL_BYTES as f64 * (1.0 + OVERHEAD_LIMIT);
        assert!(((clean.down + clean.up) as f64) < limit, "{clean:?}");
    }

    #[test]
    fn a_bad_line_costs_little_beyond_what_it_loses() {
        let clean = send_model(Faults::default(), 0).expect("it arrives");
        for loss in LOSSES {
            let faults = Faults {
                loss,
                duplicate: 0.01,
                bit_error: 1e-5,
            };
            let runs: Vec<_> = (0..40).map(|seed| send_model(faults, seed)).collect();
            let limit = FAULT_FACTOR / (1.0 - loss);
            let row = Row::of(&runs, &clean, limit);
            assert_eq!(row.identical, runs.len(), "loss {loss}");
            assert!(row.mean <= limit, "loss {loss}: {} above {limit}", row.mean);
        }
    }
}
