//! `cargo figures glean mnist`: the benchmark on all of MNIST, in the paper's nine cells.
//!
//! Under (a) glean's mean is ahead of every other on accuracy and energy in every cell; under (b) and
//! (c) its energy is lower than every other's in eight of nine, with an accuracy not behind by more
//! than 0.3 points; and no client is overdrawn in any round.

use std::error::Error;
use std::path::PathBuf;

use gleaner_experiment::benchmark::{Benchmark, Cell, CellRanking, Part, Rules, Server, Tuning};
use gleaner_experiment::{EngineOptions, ExperimentError, Study, run as execute};
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::scenario::{Override, resolve};

use super::all_hold;
use super::runs::Bar;

/// Points that glean may be behind where only the scheduler differs.
const TOLERANCE: f64 = 0.3;

/// Options of `cargo figures glean mnist`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Cells, as `gleaner compare --track --cells` takes them.
    #[arg(long, default_value = "paper")]
    cells: String,
    /// Parts: a, b, c.
    #[arg(long, value_delimiter = ',', default_value = "a,b,c")]
    parts: Vec<Part>,
    /// Transmit power of the baselines in (a): max, min, least-energy or several. It changes what they
    /// spend and not what they learn, and the claims are against the most frugal, which (b) and (c) have.
    #[arg(long, value_delimiter = ',', default_value = "least-energy")]
    powers: Vec<BaselinePower>,
    /// Number of seeds, counted from 0.
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// Seeds that tune, from 100.
    #[arg(long, default_value_t = 5)]
    tuning_seeds: usize,
    /// Number of communication rounds.
    #[arg(long, default_value_t = 200)]
    rounds: i64,
    /// Data set; `mnist` needs `gleaner data fetch mnist`.
    #[arg(long, default_value = "mnist")]
    dataset: String,
    /// One cell, two seeds, two values of each grid, the embedded subset: minutes, for a look.
    #[arg(long)]
    quick: bool,
    /// Directory of the runs; complete ones are not executed again.
    #[arg(long, default_value = "runs/figures/glean-mnist")]
    out: PathBuf,
    /// Threads; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Runs the benchmark and tells whether the claims hold.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let (text, rankings, overdrawn) = benchmark(args, &[])?;
    print!("{text}");
    println!("\ntables  {}\n", args.out.join("track.md").display());
    Ok(all_hold(&claims(&rankings, overdrawn)))
}

/// Returns the tables, the rankings, and the overdrawn client-rounds of glean.
fn benchmark(
    args: &Args,
    more: &[Override],
) -> Result<(String, Vec<CellRanking>, usize), ExperimentError> {
    let mut rules = Rules {
        parts: args.parts.clone(),
        cells: Cell::list(&args.cells)?,
        schedulers: [&Scheduler::PAPER[..], &[Scheduler::Glean]].concat(),
        powers: args.powers.clone(),
        seeds: (0..args.seeds).collect(),
        tuning: Tuning {
            seeds: Tuning::seeds(args.tuning_seeds),
            ..Tuning::default()
        },
    };
    let mut dataset = args.dataset.as_str();
    if args.quick {
        dataset = "mnist-subset";
        rules.cells.truncate(1);
        rules.seeds.truncate(2);
        rules.tuning = Tuning {
            seeds: vec![100],
            rates: vec![0.01, 0.6],
            steps: vec![0.04, 0.08],
        };
    }
    let mut common = vec![
        Override::new("data.dataset", dataset),
        Override::new("run.rounds", args.rounds),
        // Ten thousand images every round would cost as much as the training.
        Override::new("run.evaluate_every", 5),
    ];
    common.extend_from_slice(more);
    let resolved = |more: &[Override]| resolve("paper-mlp", &[&common, more].concat());
    let benchmark = Benchmark::new(rules, &resolved)?;
    let options = EngineOptions::local(args.threads);
    let runs = execute(&benchmark, &args.out, &options, &mut Bar::default())?.complete()?;
    let findings = benchmark.read(&runs)?;
    findings.write(&args.out)?;
    let outcome = benchmark.outcome(&runs)?;
    let glean = outcome.results.iter();
    let glean = glean.filter(|it| it.candidate.scheduler == Scheduler::Glean);
    let overdrawn = glean.map(|it| it.overdrawn().0).sum();
    Ok((findings.text, outcome.rankings(), overdrawn))
}

/// Puts the claims into sentences, each with whether it holds.
fn claims(rankings: &[CellRanking], broken: usize) -> Vec<(String, bool)> {
    let mut sentences = vec![(
        format!("glean is overdrawn in {broken} client-rounds, 0 claimed"),
        broken == 0,
    )];
    for part in [Part::Paper, Part::Server, Part::Tuned] {
        for server in [Server::Plain, Server::Spectral] {
            let here = |ranking: &&CellRanking| (ranking.part, ranking.server) == (part, server);
            let cells: Vec<&CellRanking> = rankings.iter().filter(here).collect();
            if cells.is_empty() {
                continue;
            }
            let (floor, needed) = match part {
                Part::Paper => (0.0, cells.len()),
                _ => (-TOLERANCE, (8 * cells.len()).div_ceil(9)),
            };
            let good = |ranking: &&&CellRanking| {
                ranking.accuracy_points.least_lead > floor && ranking.energy_mj.least_lead > 0.0
            };
            let count = cells.iter().filter(good).count();
            let sentence = format!(
                "({part}) against {} servers: in {count} of {} cells less energy than every other \
                 and more than {floor:+.1} points to every other, {needed} claimed",
                server.word(),
                cells.len()
            );
            sentences.push((sentence, count >= needed));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use gleaner_experiment::benchmark::{Against, Candidate};
    use gleaner_tests::runs::Folder;

    use super::*;

    fn ranking(part: Part, points: f64, saved_mj: f64) -> CellRanking {
        let nearest = Candidate::list(&[Scheduler::Cre], &[], None)[0];
        let against = |least_lead| Against {
            ahead_of_all: least_lead > 0.0,
            least_lead,
            nearest,
        };
        CellRanking {
            part,
            cell: 0,
            server: Server::Plain,
            accuracy_points: against(points),
            energy_mj: against(saved_mj),
        }
    }

    #[test]
    fn each_claim_can_fail() {
        let holds = |rankings: &[CellRanking], broken| {
            claims(rankings, broken).iter().all(|(_, holds)| *holds)
        };
        let good = ranking(Part::Paper, 0.1, 0.1);
        assert!(holds(std::slice::from_ref(&good), 0));
        assert!(!holds(std::slice::from_ref(&good), 1));
        assert!(!holds(&[good.clone(), ranking(Part::Paper, -0.1, 0.1)], 0));
        assert!(!holds(&[good, ranking(Part::Paper, 0.1, -0.1)], 0));
        // Under (b) one cell of nine may fail, and 0.3 points are nothing.
        let near = ranking(Part::Server, -0.2, 0.1);
        let far = ranking(Part::Server, -0.4, 0.1);
        let dear = ranking(Part::Server, 1.0, -0.1);
        let nine = |bad: &[&CellRanking]| -> Vec<CellRanking> {
            let bad: Vec<CellRanking> = bad.iter().map(|&ranking| ranking.clone()).collect();
            [vec![near.clone(); 9 - bad.len()], bad].concat()
        };
        assert!(holds(&nine(&[]), 0) && holds(&nine(&[&far]), 0) && holds(&nine(&[&dear]), 0));
        assert!(!holds(&nine(&[&far, &dear]), 0));
    }

    #[test]
    fn a_short_benchmark_is_run_and_written() {
        let folder = Folder::new("figures-glean");
        let args = Args {
            // The paper's spread is that of a thousand samples.
            cells: "own".to_owned(),
            powers: vec![BaselinePower::LeastEnergy],
            parts: vec![Part::Paper],
            seeds: 1,
            tuning_seeds: 1,
            rounds: 1,
            dataset: String::new(),
            quick: true,
            out: folder.run().path().to_owned(),
            threads: 1,
        };
        let small = [
            Override::new("partition.mean_samples", 30.0),
            Override::new("partition.std_samples", 3.0),
            Override::new("device.cycles_per_sample", 3000.0),
            Override::new("data.test_samples", 20),
        ];
        let (_, rankings, _) = benchmark(&args, &small).unwrap();
        assert_eq!(rankings.len(), 1);
        let page = String::from_utf8(folder.file("track.md")).unwrap();
        assert!(page.contains("one seed"), "{page}");
    }
}
