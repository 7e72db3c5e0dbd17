//! Runs of several settings over the same seeds, made once and kept thin.

use std::error::Error;
use std::fmt::Display;
use std::path::Path;

use gleaner_experiment::PlannedRun;
use gleaner_experiment::track::{Roster, Watcher, make};
use gleaner_sim::run::{RunDirectory, Summary};
use gleaner_sim::scenario::{Override, resolve};
use gleaner_tests::progress;
use indicatif::ProgressBar;

/// One setting: a preset and what is changed in it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in the table.
    pub name: String,
    preset: &'static str,
    keys: Vec<Override>,
}

impl Case {
    /// Changes keys of a preset, each as `key=value`.
    ///
    /// # Panics
    /// When one has no `=`.
    pub fn new(name: impl Into<String>, preset: &'static str, keys: &[&str]) -> Self {
        let key = |text: &&str| text.parse().expect("key=value");
        Self {
            name: name.into(),
            preset,
            keys: keys.iter().map(key).collect(),
        }
    }

    /// Adds settings written as `key=value`.
    pub fn with(mut self, name: impl Into<String>, keys: &[&str]) -> Self {
        let more = Self::new(name, self.preset, keys);
        self.keys.extend(more.keys);
        self.name = more.name;
        self
    }

    /// Adds one setting by key and value.
    pub fn set(self, key: &str, value: impl Display) -> Self {
        let name = self.name.clone();
        self.with(name, &[&format!("{key}={value}")])
    }
}

/// What one seed of a case came to, and where it lies.
pub struct Run {
    pub summary: Summary,
    pub directory: RunDirectory,
}

/// Makes every case with every seed; the outer list is the cases'.
///
/// # Errors
/// Whatever is wrong with a scenario, its data or its run.
pub fn make_all(
    cases: &[Case],
    seeds: u32,
    out: &Path,
    threads: usize,
) -> Result<Vec<Vec<Run>>, Box<dyn Error>> {
    let mut roster = Roster::new(&RunDirectory::new(out));
    let mut places = Vec::new();
    for case in cases {
        let mut each = Vec::new();
        for seed in 0..seeds {
            let mut keys = case.keys.clone();
            keys.push(Override::new("run.seed", i64::from(seed)));
            each.push(roster.add(resolve(case.preset, &keys)?));
        }
        places.push(each);
    }
    let summaries = make(roster.runs(), threads, &mut Bar::default())?;
    let run = |place: usize| Run {
        summary: summaries[place].clone(),
        directory: roster.runs()[place].directory.clone(),
    };
    let all = places
        .into_iter()
        .map(|each| each.into_iter().map(run).collect());
    Ok(all.collect())
}

/// Shows how many runs are made.
#[derive(Default)]
pub struct Bar(Option<ProgressBar>);

impl Watcher for Bar {
    fn begin(&mut self, runs: usize) {
        self.0 = Some(progress("runs", runs as u64));
    }

    fn finished(&mut self, _: &PlannedRun, _: &Summary) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

/// Returns the mean of a figure over the seeds.
pub fn mean(runs: &[Run], figure: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len().max(1) as f64
}

/// Returns accuracy over the last tenth, in percent.
pub fn accuracy(run: &Run) -> f64 {
    100.0 * run.summary.tail_accuracy
}

/// Returns millijoules a round.
pub fn energy(run: &Run) -> f64 {
    1e3 * run.summary.energy_per_round_j
}
