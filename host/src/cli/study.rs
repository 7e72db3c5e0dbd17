//! Options and output that all studies share: lists of choices, execution with progress, results.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use gleaner_files::{printable, printable_lines};
use indicatif::{ProgressBar, ProgressStyle};
use strum::VariantArray;

use super::engine::EngineArgs;
use super::simulate::numbered;
use super::word::{self, Word};
use gleaner_experiment::{
    EngineOptions, ExperimentError, Outcome, Point, Runs, Study, Watcher, plan,
};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::run::{RunDirectory, RunError};

/// Execution and output of a study.
#[derive(Debug, clap::Args)]
pub struct StudyArgs {
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing but the results.
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

impl StudyArgs {
    /// Executes the points of a study that are not complete in its directory.
    pub fn execute(&self, study: &dyn Study, dir: &Path) -> anyhow::Result<Runs> {
        let mut watch = Watch::new(self.quiet);
        let options = self.engine.options()?;
        Ok(gleaner_experiment::run(study, dir, &options, &mut watch)?)
    }

    /// Returns the options of the engine.
    pub fn options(&self) -> anyhow::Result<EngineOptions> {
        self.engine.options()
    }

    /// Tells whether points are executed in this process.
    pub fn is_local(&self) -> bool {
        self.engine.is_local()
    }

    /// Returns the progress on standard error.
    pub const fn watch(&self) -> Watch {
        Watch::new(self.quiet)
    }

    /// Writes the results of a study to its directory and prints them.
    pub fn show(&self, study: &dyn Study, runs: &Runs) -> anyhow::Result<()> {
        let findings = study.read(runs)?;
        findings.write(runs.dir())?;
        if self.json {
            outjson!(findings.json);
            return Ok(());
        }
        out!("{}", findings.text);
        if !self.quiet {
            let report = runs.dir().join(RunDirectory::REPORT);
            outln!("\nreport  {}", report.display());
        }
        Ok(())
    }
}

/// Returns the directory of a study: the one that was given, or a default under runs/. A default that
/// holds another plan or trace gives way to the next number; a given directory is refused.
pub fn directory(
    study: &dyn Study,
    out: Option<&Path>,
    name: &str,
) -> Result<PathBuf, ExperimentError> {
    let mut number = 1;
    loop {
        let dir = out.map_or_else(|| numbered(name, number).path().to_owned(), Path::to_owned);
        match plan(study, &Runs::new(&dir)) {
            Ok(_) => return Ok(dir),
            Err(
                ExperimentError::OtherPlan { .. }
                | ExperimentError::NotEmpty { .. }
                | ExperimentError::Run(RunError::OtherTrace { .. }),
            ) if out.is_none() => number += 1,
            Err(error) => return Err(error),
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

/// Parses `all` or a list separated by commas; duplicates are dropped.
pub fn choices<T: Word + PartialEq>(text: &str) -> anyhow::Result<Vec<T>> {
    if text == "all" {
        return Ok(T::VARIANTS.to_vec());
    }
    let mut chosen = Vec::new();
    for word in text.split(',') {
        let choice = word::parse(word.trim()).map_err(|error| anyhow!(error))?;
        if !chosen.contains(&choice) {
            chosen.push(choice);
        }
    }
    Ok(chosen)
}

/// Parses a list of schedulers, with the groups `paper`, `rivals` and `all`.
pub fn schedulers(text: &str) -> anyhow::Result<Vec<Scheduler>> {
    let mut chosen = Vec::new();
    for word in text.split(',') {
        let named = match word.trim() {
            "all" => Scheduler::VARIANTS.to_vec(),
            "paper" => Scheduler::PAPER.to_vec(),
            "rivals" => Scheduler::RIVALS.to_vec(),
            word => {
                let groups = |error| anyhow!("{error}; or one of the groups paper, rivals, all");
                vec![word::parse(word).map_err(groups)?]
            }
        };
        for scheduler in named {
            if !chosen.contains(&scheduler) {
                chosen.push(scheduler);
            }
        }
    }
    Ok(chosen)
}

/// Shows the progress of an execution: a bar on a terminal, plain lines elsewhere, or nothing.
pub struct Watch {
    quiet: bool,
    done: usize,
    total: usize,
    bar: Option<ProgressBar>,
}

impl Watch {
    pub const fn new(quiet: bool) -> Self {
        Self {
            quiet,
            done: 0,
            total: 0,
            bar: None,
        }
    }
}

impl Watcher for Watch {
    fn begin(&mut self, points: usize) {
        (self.done, self.total) = (0, points);
        self.bar = (!self.quiet && std::io::stderr().is_terminal()).then(|| {
            let template = "{bar:32.cyan/dim} run {pos}/{len}  {msg}  ETA {eta}";
            let style = ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(points as u64).with_style(style);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
    }

    fn finished(&mut self, point: &Point, outcome: &Outcome) {
        if matches!(outcome, Err(error) if error.is_open()) {
            // The execution was stopped before the point.
            return;
        }
        self.done += 1;
        let labels: Vec<&str> = point.values.iter().map(|(_, it)| it.as_str()).collect();
        let name = format!("{} ({})", point.id, labels.join(", "));
        let result = match outcome {
            Ok(summary) => format!(
                "accuracy {:.1} %  energy {:.2} mJ/round",
                100.0 * summary.tail_accuracy,
                1e3 * summary.energy_per_round_j
            ),
            Err(error) if error.is_stopped() => error.to_string(),
            Err(_) => "failed".to_owned(),
        };
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done as u64);
                bar.set_message(printable(&format!("{name}: {result}")).into_owned());
            }
            None if self.quiet => {}
            None => errln!("run {}/{}  {name}: {result}", self.done, self.total),
        }
    }

    fn notice(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(printable_lines(text)),
            None if self.quiet => {}
            None => errln!("{text}"),
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_schedulers_can_be_mixed_with_names() {
        let usual = schedulers("paper,glean").unwrap();
        assert_eq!(usual.len(), 7);
        let all = schedulers("all").unwrap();
        assert_eq!(all, Scheduler::VARIANTS);
        assert_eq!(schedulers("paper,glean,rivals").unwrap(), all);
        assert_eq!(schedulers("rivals, greedy").unwrap(), Scheduler::RIVALS);
        let error = schedulers("paper,greed").unwrap_err().to_string();
        assert!(
            error.contains("`greed` is not one of") && error.contains("rivals"),
            "{error}"
        );
    }
}
