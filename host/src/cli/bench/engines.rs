//! `gleaner bench engines`: overhead of the engines that execute experiments.
//!
//! Every engine executes the same points with the same number of workers. The overhead is the workers'
//! time (wall time times their number) outside of rounds: starting programs, loading and partitioning
//! data, writing files, queueing, noticing that a point is done.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};

use crate::cli::study::{Watch, choices};
use gleaner_experiment::{
    Attempt, Engine, EngineOptions, Keep, Plan, Point, execute, execute_point, run_directory,
};
use gleaner_sim::report::table::Table;
use gleaner_sim::run::{Provenance, RunDirectory, thread_count};
use gleaner_sim::scenario::{Override, resolve};

/// Measure the overhead of execution engines.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Engines, separated by commas, or `all`.
    #[arg(long, default_value = "local", value_name = "LIST")]
    engines: String,
    /// Points of the plan.
    #[arg(long, default_value_t = 500, value_name = "N")]
    points: u32,
    /// Approximate seconds of rounds per point.
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    seconds: f64,
    /// Workers, each on one thread; 0 means one per processor.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = crate::cli::threads::parse)]
    workers: usize,
    /// The Python with the package hyperqueue.
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: std::path::PathBuf,
    /// Directory for the runs, which Slurm's nodes must see; by default a temporary one.
    #[arg(long, value_name = "DIR")]
    out: Option<std::path::PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Measures and prints a row for each engine.
///
/// # Errors
/// An engine that is not there, or a point that failed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let engines = choices::<Engine>(&args.engines)?;
    let workers = thread_count(args.workers);
    let temporary = tempfile::tempdir().context("no folder for temporary files")?;
    let folder = args.out.as_deref().unwrap_or(temporary.path());
    let rounds = rounds_of(args.seconds, &folder.join("calibration"))?;
    let mut rows = Vec::new();
    for engine in engines {
        rows.push(measure(args, engine, workers, rounds, folder)?);
    }
    if args.json {
        outjson!(serde_json::Value::from(rows));
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        "engine",
        "points",
        "s of rounds each",
        "workers",
        "wall s",
        "rounds s",
        "overhead",
    ]);
    for row in &rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_default();
        let rounds_s = number("rounds_s");
        table.row(vec![
            row["engine"].as_str().unwrap_or_default().to_owned(),
            args.points.to_string(),
            format!("{:.2}", rounds_s / f64::from(args.points.max(1))),
            workers.to_string(),
            format!("{:.1}", number("wall_s")),
            format!("{rounds_s:.1}"),
            format!("{:.1} %", 100.0 * number("overhead")),
        ]);
    }
    out!("{}", table.to_text());
    Ok(ExitCode::SUCCESS)
}

fn plan(points: u32, rounds: usize) -> anyhow::Result<Plan> {
    let point = |seed: u32| {
        let sets = [
            Override::new("run.rounds", i64::try_from(rounds)?),
            Override::new("run.seed", i64::from(seed)),
        ];
        let scenario = resolve("paper-mlp", &sets)?;
        let values = vec![("run.seed".to_owned(), seed.to_string())];
        Ok::<_, anyhow::Error>(Point::new(values, scenario))
    };
    let points: Result<_, _> = (0..points).map(point).collect();
    Ok(Plan::new("bench engines", Keep::Logs, points?))
}

/// Returns how many rounds take so long, from a point of a few.
fn rounds_of(seconds: f64, dir: &Path) -> anyhow::Result<usize> {
    const FEW: usize = 40;
    let plan = plan(1, FEW)?;
    let point = &plan.points()[0];
    let how = Attempt {
        threads: 1,
        ..Attempt::default()
    };
    execute_point(dir, point, &how, &mut gleaner_sim::run::Silent)?;
    let rounds_s = rounds_s(dir, point)?;
    Ok(((FEW as f64 * seconds / rounds_s) as usize).max(1))
}

/// Reads how long the rounds of a point took.
fn rounds_s(dir: &Path, point: &Point) -> anyhow::Result<f64> {
    let file = run_directory(dir, point).file(RunDirectory::ENVIRONMENT);
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let environment: Provenance = serde_json::from_str(&text)?;
    Ok(environment.wall_s)
}

fn measure(
    args: &Args,
    engine: Engine,
    workers: usize,
    rounds: usize,
    folder: &Path,
) -> anyhow::Result<serde_json::Value> {
    let plan = plan(args.points, rounds)?;
    let dir = folder.join(engine.to_string());
    plan.write(&dir)?;
    let options = EngineOptions {
        engine,
        threads: match engine {
            Engine::Local => workers,
            Engine::Slurm | Engine::Hyperqueue => 1,
        },
        max_jobs: Some(workers),
        python: args.python.clone(),
        ..EngineOptions::default()
    };
    let mut watch = Watch::new(args.json);
    let begin = Instant::now();
    let outcomes = execute(&plan, &dir, &options, &mut watch)?;
    let wall_s = begin.elapsed().as_secs_f64();
    let mut sum_s = 0.0;
    for (point, outcome) in plan.points().iter().zip(outcomes) {
        outcome.with_context(|| format!("{engine}: point {}", point.id))?;
        sum_s += rounds_s(&dir, point)?;
    }
    if sum_s <= 0.0 {
        bail!("{engine}: the points took no time");
    }
    Ok(serde_json::json!({
        "engine": engine.to_string(),
        "points": args.points,
        "rounds": rounds,
        "workers": workers,
        "wall_s": wall_s,
        "rounds_s": sum_s,
        "overhead": wall_s * workers as f64 / sum_s - 1.0,
    }))
}
