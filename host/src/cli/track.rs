//! `gleaner compare --track`: the schedulers under the same rules, part by part and cell by cell.

use std::path::PathBuf;
use std::process::ExitCode;

use super::gather::{Gathering, choices};
use super::scenario::ScenarioArgs;
use gleaner_experiment::PlannedRun;
use gleaner_experiment::track::{Cell, Part, Track, Tuning, Watcher, race};
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::run::{RunDirectory, Summary};
use gleaner_sim::scenario::Override;

/// What a track adds to a comparison.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The track")]
pub struct TrackArgs {
    /// Race the schedulers on the track: (a) as described, (b) with the same server step, (c) tuned
    /// on validation images, each with accuracy after so many mJ, C5, fairness and paired
    /// differences.
    #[arg(long, conflicts_with = "record_channel")]
    track: bool,
    /// Settings to race in: own (the scenario's), paper (nine cells), or lists of values such as
    /// "d=0.2,0.4;sigma=100" of any keys.
    #[arg(long, default_value = "own", value_name = "CELLS", requires = "track")]
    cells: String,
    /// Parts to run: a, b, c, or all.
    #[arg(long, default_value = "all", value_name = "LIST", requires = "track")]
    parts: String,
    /// Number of seeds that choose in (c), from 100; none of them judges.
    #[arg(long, default_value_t = 5, value_name = "N", requires = "track",
          value_parser = clap::value_parser!(u32).range(1..))]
    tuning_seeds: u32,
    /// Learning rates that (c) tries with the plain server.
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "track", value_parser = positive)]
    rates: Vec<f64>,
    /// Steps that (c) tries with the spectral server.
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "track", value_parser = positive)]
    steps: Vec<f64>,
}

impl TrackArgs {
    /// Says whether the track was asked for.
    pub const fn wanted(&self) -> bool {
        self.track
    }

    fn tuning(&self) -> Tuning {
        let usual = Tuning::default();
        let or = |given: &Vec<f64>, usual: Vec<f64>| match given.is_empty() {
            true => usual,
            false => given.clone(),
        };
        Tuning {
            seeds: Tuning::seeds(self.tuning_seeds as usize),
            rates: or(&self.rates, usual.rates),
            steps: or(&self.steps, usual.steps),
        }
    }
}

/// Parses a number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(format!("`{text}` is not a positive number")),
    }
}

/// What a comparison and its track have in common.
pub struct Common<'a> {
    /// The scenario that cells and entrants change.
    pub scenario: &'a ScenarioArgs,
    /// Who decides.
    pub schedulers: Vec<Scheduler>,
    /// The powers of the baselines.
    pub powers: Vec<BaselinePower>,
    /// The seeds that judge.
    pub seeds: Vec<u64>,
    /// Where to.
    pub out: Option<PathBuf>,
    /// Threads in all.
    pub threads: usize,
    /// Whether to print JSON.
    pub json: bool,
    /// Whether to print nothing but the result.
    pub quiet: bool,
}

/// Runs the track.
///
/// # Errors
/// Whatever stopped the first run that failed.
pub fn run(args: &TrackArgs, common: Common<'_>) -> anyhow::Result<ExitCode> {
    let track = Track {
        parts: choices::<Part>(&args.parts)?,
        cells: Cell::list(&args.cells)?,
        schedulers: common.schedulers,
        powers: common.powers,
        seeds: common.seeds,
        tuning: args.tuning(),
    };
    // Runs are named by their scenarios, so tracks can share a directory.
    let out = common.out.unwrap_or_else(|| PathBuf::from("runs/track"));
    let directory = RunDirectory::new(out);
    let resolve = |more: &[Override]| common.scenario.resolve_with(more);
    let mut bar = Bar::new(common.quiet);
    let outcome = race(&track, &directory, &resolve, common.threads, &mut bar)?;
    outcome.write(&directory, &common.scenario.resolve()?)?;
    if common.json {
        outln!("{}", outcome.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    out!("{}", outcome.to_text());
    if !common.quiet {
        let report = directory.file(RunDirectory::REPORT);
        outln!("\nreport  {}", report.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows how the runs go.
pub struct Bar {
    quiet: bool,
    gathering: Option<Gathering>,
}

impl Bar {
    /// Shows nothing yet, and nothing at all if it is to be quiet.
    pub const fn new(quiet: bool) -> Self {
        Self {
            quiet,
            gathering: None,
        }
    }
}

impl Watcher for Bar {
    fn begin(&mut self, runs: usize) {
        self.gathering = Some(Gathering::new(self.quiet, runs));
    }

    fn finished(&mut self, run: &PlannedRun, summary: &Summary) {
        if let Some(gathering) = &mut self.gathering {
            gathering.finished(run, Some(summary));
        }
    }

    fn end(&mut self) {
        if let Some(mut gathering) = self.gathering.take() {
            gathering.end();
        }
    }
}
