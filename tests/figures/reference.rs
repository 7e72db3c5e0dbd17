//! `cargo figures reference`: the schedulers on all of MNIST against an independent implementation's
//! results, at two or three seeds a cell.
//!
//! Accuracy is our mean of the last tenth of the rounds against the reference's last round. A cell agrees when accuracy and energy lie
//! within the tolerances. Outside them it is scatter as long as the difference is below twice the
//! standard error that our own spread over seeds gives the two means; beyond that it differs, and
//! the figure fails.

mod cells;
mod seeds;

use std::path::PathBuf;

use gleaner_experiment::{
    EngineOptions, ExperimentError, Keep, Outcome, Point, Points, Statistic, Watcher,
    run as execute,
};
use gleaner_sim::report::table::Table;
use gleaner_sim::run::Summary;
use gleaner_sim::scenario::{Override, Scenario, ScenarioError, resolve};
use gleaner_tests::progress;

use cells::{Cell, SETTINGS, Setting};

/// Accuracies agree within so many points.
const ACCURACY_POINTS: f64 = 2.0;
/// Energies agree within this share.
const ENERGY_SHARE: f64 = 0.07;
/// The reference has two or three seeds a cell.
const REFERENCE_SEEDS: f64 = 2.5;

/// Cells and seeds of the table.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Non-IID degrees of the rows: 0.2, 0.4 or 0.6, separated by commas.
    #[arg(long, default_value = "0.4", value_delimiter = ',')]
    degrees: Vec<f64>,
    /// Schedulers, separated by commas; CRE stands for its three penalty factors. All if not given.
    #[arg(long, value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Number of seeds, counted from 0.
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Rounds; the reference has 200.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// `mnist`, as the reference, or `mnist-subset`.
    #[arg(long, default_value = "mnist")]
    dataset: String,
    /// Directory of the runs; complete ones are not executed again.
    #[arg(long, default_value = "runs/reference")]
    out: PathBuf,
    /// Threads in all; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Executes the runs and tells whether no cell differs.
pub fn run(args: &Args) -> bool {
    let mut holds = true;
    for &degree in &args.degrees {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.degree == degree) else {
            eprintln!("the reference has no row for d = {degree}; it has 0.2, 0.4 and 0.6");
            return false;
        };
        match row(args, setting) {
            Ok(agrees) => holds &= agrees,
            Err(error) => {
                eprintln!("{error}");
                return false;
            }
        }
    }
    holds
}

struct Bar(indicatif::ProgressBar);

impl Watcher for Bar {
    fn finished(&mut self, _: &Point, _: &Outcome) {
        self.0.inc(1);
    }
}

fn row(args: &Args, setting: &Setting) -> Result<bool, ExperimentError> {
    let cells: Vec<&Cell> = setting
        .cells
        .iter()
        .filter(|cell| {
            let wanted = |name: &String| name == cell.scheduler;
            args.schedulers.is_empty() || args.schedulers.iter().any(wanted)
        })
        .collect();
    let mut points = Vec::new();
    for cell in &cells {
        for seed in 0..args.seeds {
            let values = vec![("cell".to_owned(), cell.name())];
            points.push(Point::new(values, scenario(args, setting, cell, seed)?));
        }
    }
    let study = Points {
        name: "figures reference".to_owned(),
        keep: Keep::Logs,
        points,
    };
    let options = EngineOptions::local(args.threads);
    let mut bar = Bar(progress("runs", study.points.len() as u64));
    let runs = execute(&study, &args.out, &options, &mut bar)?.complete()?;
    bar.0.finish_and_clear();
    let summary = |point: &Point| Ok(runs.of(point)?.summary.clone());
    let summaries: Vec<Summary> = study
        .points
        .iter()
        .map(summary)
        .collect::<Result<_, ExperimentError>>()?;

    let Setting {
        degree, deviation, ..
    } = setting;
    println!(
        "d = {degree}, sigma = {deviation}, seeds 0 to {}\n",
        args.seeds.max(1) - 1
    );
    let mut table = Table::new(&[
        "scheduler",
        "accuracy %",
        "reference",
        "points",
        "energy mJ/round",
        "reference",
        "%",
        "verdict",
    ]);
    let mut holds = true;
    let each = usize::try_from(args.seeds).unwrap_or(1).max(1);
    for (cell, seeds) in cells.iter().zip(summaries.chunks(each)) {
        let judged = Judged::of(cell, seeds);
        holds &= judged.verdict != Verdict::Differs;
        table.row(judged.cells());
    }
    println!("{}", table.to_text());
    for (cell, points) in cells.iter().zip(study.points.chunks(each)) {
        if cell.penalty.is_some() {
            println!("{}", seeds::table(cell, points, &runs)?);
        }
    }
    Ok(holds)
}

fn scenario(
    args: &Args,
    setting: &Setting,
    cell: &Cell,
    seed: u64,
) -> Result<Scenario, ScenarioError> {
    let mut overrides = vec![
        Override::new("run.seed", i64::try_from(seed).unwrap_or(i64::MAX)),
        Override::new("run.rounds", i64::try_from(args.rounds).unwrap_or(i64::MAX)),
        Override::new("run.scheduler", cell.scheduler),
        Override::new("data.dataset", args.dataset.as_str()),
        Override::new("partition.non_iid_degree", setting.degree),
        Override::new("partition.std_samples", setting.deviation),
        Override::new("baselines.power", "max"),
        Override::new("baselines.gradient_norms", "fresh"),
    ];
    overrides.extend(cell.penalty.map(|v| Override::new("cre.v", v)));
    resolve("paper-mlp", &overrides)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Agrees,
    Scatter,
    Differs,
}

/// One quantity of a cell beside its reference.
struct Judged<'a> {
    cell: &'a Cell,
    accuracy: Statistic,
    energy: Statistic,
    verdict: Verdict,
}

impl<'a> Judged<'a> {
    fn of(cell: &'a Cell, seeds: &[Summary]) -> Self {
        let statistic = |figure: fn(&Summary) -> f64| {
            Statistic::of(&seeds.iter().map(figure).collect::<Vec<_>>())
        };
        let accuracy = statistic(|summary| 100.0 * summary.tail_accuracy);
        let energy = statistic(|summary| 1e3 * summary.energy_per_round_j);
        // The reference gives the last round's accuracy, which jumps more than the tail's mean.
        let last = statistic(|summary| 100.0 * summary.final_accuracy);
        let verdict = |ours: &Statistic, spread: f64, reference: f64, tolerance: f64| {
            let difference = (ours.mean - reference).abs();
            let variance = |deviation: f64, seeds: f64| deviation * deviation / seeds;
            let error =
                variance(spread, REFERENCE_SEEDS) + variance(ours.deviation, seeds.len() as f64);
            match difference {
                d if d <= tolerance => Verdict::Agrees,
                d if d <= 2.0 * error.sqrt() => Verdict::Scatter,
                _ => Verdict::Differs,
            }
        };
        let share = ENERGY_SHARE * cell.energy_mj;
        let verdicts = [
            verdict(&accuracy, last.deviation, cell.accuracy, ACCURACY_POINTS),
            verdict(&energy, energy.deviation, cell.energy_mj, share),
        ];
        let verdict = match verdicts {
            _ if verdicts.contains(&Verdict::Differs) => Verdict::Differs,
            _ if verdicts.contains(&Verdict::Scatter) => Verdict::Scatter,
            _ => Verdict::Agrees,
        };
        Self {
            cell,
            accuracy,
            energy,
            verdict,
        }
    }

    fn cells(&self) -> Vec<String> {
        let Cell {
            accuracy,
            energy_mj,
            ..
        } = *self.cell;
        vec![
            self.cell.name(),
            self.accuracy.text(1.0, 1),
            format!("{accuracy:.1}"),
            format!("{:+.1}", self.accuracy.mean - accuracy),
            self.energy.text(1.0, 2),
            format!("{energy_mj:.1}"),
            format!("{:+.0}", 100.0 * (self.energy.mean / energy_mj - 1.0)),
            match self.verdict {
                Verdict::Agrees => "agrees",
                Verdict::Scatter => "scatter",
                Verdict::Differs => "DIFFERS",
            }
            .to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use gleaner_sim::run::Tally;
    use gleaner_tests::runs::Folder;

    use super::*;

    fn summary(accuracy: f64, energy_mj: f64) -> Summary {
        Summary {
            tail_accuracy: accuracy / 100.0,
            energy_per_round_j: energy_mj / 1e3,
            ..Tally::default().summary()
        }
    }

    #[test]
    fn a_cell_far_off_differs_unless_its_own_seeds_are_as_far_apart() {
        let cell = &SETTINGS[1].cells[0];
        let verdict = |seeds: &[Summary]| Judged::of(cell, seeds).verdict;
        let near = [summary(78.0, 6.8), summary(79.0, 6.9)];
        assert_eq!(verdict(&near), Verdict::Agrees);
        let off = [summary(78.0, 4.9), summary(79.0, 5.0)];
        assert_eq!(verdict(&off), Verdict::Differs);
        let wide = [summary(78.0, 3.6), summary(79.0, 7.2)];
        assert_eq!(verdict(&wide), Verdict::Scatter);
    }

    #[test]
    fn a_short_run_is_executed_and_judged() {
        let folder = Folder::new("figures-reference");
        let args = Args {
            degrees: vec![0.4],
            schedulers: vec!["random".to_owned()],
            seeds: 1,
            rounds: 1,
            dataset: "mnist-subset".to_owned(),
            out: folder.run().path().to_owned(),
            threads: 1,
        };
        // One round learns nothing: the figure must say so.
        assert!(!row(&args, &SETTINGS[1]).unwrap());
    }
}
