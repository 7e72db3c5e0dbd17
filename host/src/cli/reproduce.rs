//! `gleaner reproduce`: the paper's tables and figures, and a verdict on every claim.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::study::{StudyArgs, choices, positive};
use super::{OUT_OF_TIME, calibrate, word};
use gleaner_experiment::reproduce::{
    Cells, Choice, Exhibit, Formulas, Keeper, Network, Progress, Reproduction, Rows, Scale,
};
use gleaner_experiment::{Points, Runs, Stopping, Study};
use gleaner_files::printable;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::report::counted;
use gleaner_station::stop::Stop;

/// Examples after the help.
const HELP: &str = "\
Runs are named by the hash of their scenario and kept in OUT/points: exhibits share them, a
reproduction that was stopped continues, and a wider one executes only what is missing. The report
shows every complete run of the scale. --rows DIR keeps a small file of every run, to be committed:
runs with a row are shown and not executed.

  gleaner reproduce --scale smoke                   test the program: two minutes, no download
  gleaner data fetch mnist && gleaner reproduce --only table-accuracy-mnist,fig-v
  gleaner reproduce --scale medium --rows DIR --list --network cnn
  gleaner reproduce --scale medium --rows DIR --only table-accuracy-cifar --cell d=0.4,sigma=100 \\
      --scheduler cre --seed 0 --threads 1 --minutes 50
  gleaner reproduce --scale full --engine slurm     days of work on a cluster (docs/guide/cluster.md)
  gleaner reproduce --gather                        the report of the complete runs, without a run

Exit codes: 0 every chosen run is complete; 1 one failed; 5 --minutes are over, and 129, 130 or 143 a
signal came: the runs in progress ended after their round, and the same command continues there.";

/// Exhibits, scale and directory of a reproduction.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    part: Option<Part>,
    /// Tables and figures to reproduce, separated by commas, or `all`: table-accuracy-mnist,
    /// table-accuracy-cifar, fig-v, fig-mnist, fig-cifar, fig-bound, table-solution,
    /// table-statistics, fig-clients.
    #[arg(long, default_value = "all", value_name = "LIST")]
    only: String,
    /// Scale of the runs.
    #[arg(long, value_parser = word::parser::<Scale>(), default_value = "quick", value_name = "SCALE")]
    scale: Scale,
    /// Seeds of every setting, from 0; by default those of the scale.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// Directory of runs and results.
    #[arg(long, default_value = "runs/reproduction", value_name = "DIR")]
    out: PathBuf,
    /// Directory of rows: read before, and written when a run is complete.
    #[arg(long, value_name = "DIR")]
    rows: Option<PathBuf>,
    /// Write the report, its plots and tables here as well, without the runs.
    #[arg(long, value_name = "DIR")]
    publish: Option<PathBuf>,
    /// Execute nothing: show the complete runs.
    #[arg(long)]
    gather: bool,
    /// Execute nothing: list the chosen runs, each with its progress.
    #[arg(long, conflicts_with = "gather")]
    list: bool,
    /// Execute the first N chosen runs that have rows again, and compare.
    #[arg(long, value_name = "N", requires = "rows", conflicts_with_all = ["gather", "list"])]
    verify_rows: Option<usize>,
    /// Stop after this time of the local engine, at the end of a round; see the exit codes.
    #[arg(long, value_name = "MINUTES", value_parser = positive)]
    minutes: Option<f64>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    study: StudyArgs,
}

/// Choice of runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Runs to execute, of those of the exhibits")]
struct ChoiceArgs {
    /// Only runs of this network.
    #[arg(long, value_parser = word::parser::<Network>(), value_name = "NETWORK")]
    network: Option<Network>,
    /// Only runs with these values and formulas of CRE; the baselines are `repaired`.
    #[arg(long, value_parser = word::parser::<Formulas>(), value_name = "FORMULAS")]
    formulas: Option<Formulas>,
    /// Only runs of these schedulers, separated by commas.
    #[arg(long, value_name = "LIST")]
    scheduler: Option<String>,
    /// Only runs of a cell, as in d=0.4,sigma=100, or d=0.4 for several; repeat for more.
    #[arg(long, value_name = "CELL")]
    cell: Vec<Cells>,
    /// Only runs that change V to these values, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    v: Vec<f64>,
    /// Only runs of this many rounds.
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Only runs of these seeds, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    seed: Vec<u32>,
}

impl ChoiceArgs {
    fn choice(&self) -> anyhow::Result<Choice> {
        let schedulers = self.scheduler.as_deref().map(choices::<Scheduler>);
        Ok(Choice {
            networks: self.network.into_iter().collect(),
            formulas: self.formulas.into_iter().collect(),
            schedulers: schedulers.transpose()?.unwrap_or_default(),
            cells: self.cell.clone(),
            factors: self.v.clone(),
            rounds: self.rounds.into_iter().collect(),
            seeds: self.seed.clone(),
        })
    }
}

/// Parts of the reproduction that need no runs.
#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Identify constants that the paper does not print by the activity that it does.
    Calibrate(calibrate::Args),
}

/// Executes what is missing, reads everything and writes the report.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(Part::Calibrate(args)) = &args.part {
        return calibrate::run(args);
    }
    let rows = args.rows.as_deref().map(Rows::read).transpose()?;
    let mut reproduction = Reproduction {
        scale: args.scale,
        seeds: args.seeds,
        exhibits: choices::<Exhibit>(&args.only)?,
        choice: args.choice.choice()?,
        rows: rows.unwrap_or_default(),
    };
    for (path, setting) in reproduction.rows.stale() {
        errln!(
            "{} is stale: {setting} has another scenario now, and its run is executed again; delete \
             the file",
            printable(&path.to_string_lossy())
        );
    }
    if args.list {
        return list(args, &reproduction);
    }
    if let Some(count) = args.verify_rows {
        return verify(args, &reproduction, count);
    }
    let runs = match args.gather {
        true => {
            keep_rows(args, &mut reproduction)?;
            Runs::new(&args.out)
        }
        false => match execute(args, &mut reproduction)? {
            Executed::Complete(runs) => runs,
            Executed::Stopped(code) => return Ok(ExitCode::from(code)),
        },
    };
    args.study.show(&reproduction, &runs)?;
    if let Some(publish) = &args.publish {
        reproduction.read(&runs)?.write(publish)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Result of an execution.
enum Executed {
    Complete(Runs),
    /// Stopped at checkpoints; the code is that of the program.
    Stopped(u8),
}

/// Executes the chosen runs that are not complete, and writes their rows.
fn execute(args: &Args, reproduction: &mut Reproduction) -> anyhow::Result<Executed> {
    anyhow::ensure!(
        args.minutes.is_none() || args.study.is_local(),
        "--minutes is a limit of --engine local; with slurm give --time"
    );
    let mut rows = reproduction.rows.clone();
    let mut watch = args.study.watch();
    let mut options = args.study.options()?;
    let stop = args.study.is_local().then(Stop::on_signals);
    let limit = args.minutes.map(|it| Duration::from_secs_f64(60.0 * it));
    if let Some(stop) = stop.clone() {
        // The limit counts from the first run on, so that every session completes at least a round.
        let begin = OnceLock::new();
        options.stopping = Stopping::when(move || {
            let spent = begin.get_or_init(Instant::now).elapsed();
            stop.is_requested() || limit.is_some_and(|limit| spent >= limit)
        });
    }
    let runs = match args.rows {
        Some(_) => {
            let mut keeper = Keeper::new(reproduction, &args.out, &mut rows, &mut watch)?;
            let runs = gleaner_experiment::run(reproduction, &args.out, &options, &mut keeper);
            keeper.finish()?;
            runs?
        }
        None => gleaner_experiment::run(reproduction, &args.out, &options, &mut watch)?,
    };
    reproduction.rows = rows;
    let open = runs
        .failed
        .iter()
        .filter(|(_, _, error)| error.is_stopped());
    let open = open.count();
    if open == 0 || open < runs.failed.len() {
        return Ok(Executed::Complete(runs.complete()?));
    }
    errln!(
        "stopped; {} not complete, and the same command continues",
        counted(open, "run")
    );
    let signal = stop.filter(Stop::is_requested).map(|it| it.exit_code());
    Ok(Executed::Stopped(signal.unwrap_or(OUT_OF_TIME)))
}

/// Writes the rows of complete runs that have none.
fn keep_rows(args: &Args, reproduction: &mut Reproduction) -> anyhow::Result<()> {
    if args.rows.is_some() {
        let mut rows = reproduction.rows.clone();
        let mut silent = ();
        let mut keeper = Keeper::new(reproduction, &args.out, &mut rows, &mut silent)?;
        keeper.gather();
        keeper.finish()?;
        reproduction.rows = rows;
    }
    Ok(())
}

/// Lists the chosen runs.
fn list(args: &Args, reproduction: &Reproduction) -> anyhow::Result<ExitCode> {
    let chosen = reproduction.chosen()?;
    let mut open = 0;
    for planned in &chosen {
        let progress = match reproduction.progress(planned, &args.out) {
            Progress::Row => "row".to_owned(),
            Progress::Complete => "complete".to_owned(),
            Progress::Open(round) => {
                open += 1;
                format!("round {round}")
            }
        };
        outln!("{}  {progress:<10}  {}", planned.point().id, planned.name());
    }
    outln!("{}, {open} not complete", counted(chosen.len(), "run"));
    Ok(ExitCode::SUCCESS)
}

/// Executes runs that have rows again, beside the others, and compares.
fn verify(args: &Args, reproduction: &Reproduction, count: usize) -> anyhow::Result<ExitCode> {
    let dir = args.out.join("verify");
    let mut chosen = reproduction.chosen()?;
    chosen.retain(|it| reproduction.progress(it, &args.out) == Progress::Row);
    chosen.truncate(count);
    let points = Points {
        name: reproduction.name(),
        keep: reproduction.keep(),
        points: chosen.iter().map(|it| it.point().clone()).collect(),
    };
    args.study.execute(&points, &dir)?.complete()?;
    let mut same = 0;
    for planned in &chosen {
        if reproduction.matches_row(planned, &dir)? {
            same += 1;
        } else {
            let id = &planned.point().id;
            outln!("{id}  differs from its row: {}", planned.name());
        }
    }
    outln!("{same} of {} as in the rows", counted(chosen.len(), "run"));
    if same == chosen.len() {
        // A later verification executes the runs again.
        let _ = std::fs::remove_dir_all(&dir);
        return Ok(ExitCode::SUCCESS);
    }
    errln!(
        "the runs are in {}; delete it to verify again",
        dir.display()
    );
    Ok(ExitCode::FAILURE)
}
