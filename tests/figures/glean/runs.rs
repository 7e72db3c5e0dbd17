//! Runs of several settings over the same seeds, deduplicated and without bulky artefacts.

use std::error::Error;
use std::fmt::Display;
use std::path::Path;

use gleaner_experiment::{CompletedRun, EngineOptions, Keep, Outcome, Point, Points, Watcher, run};
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

    /// Changes further keys and renames the case.
    pub fn with(mut self, name: impl Into<String>, keys: &[&str]) -> Self {
        let more = Self::new(name, self.preset, keys);
        self.keys.extend(more.keys);
        self.name = more.name;
        self
    }

    /// Changes one key and keeps the name.
    pub fn set(self, key: &str, value: impl Display) -> Self {
        let name = self.name.clone();
        self.with(name, &[&format!("{key}={value}")])
    }
}

/// Executes every case with every seed; the outer list is the cases'.
///
/// # Errors
/// Whatever is wrong with a scenario, its data or its run.
pub fn execute_all(
    cases: &[Case],
    seeds: u32,
    out: &Path,
    threads: usize,
) -> Result<Vec<Vec<CompletedRun>>, Box<dyn Error>> {
    let mut points = Vec::new();
    for case in cases {
        for seed in 0..seeds {
            let mut keys = case.keys.clone();
            keys.push(Override::new("run.seed", i64::from(seed)));
            let values = vec![("case".to_owned(), case.name.clone())];
            points.push(Point::new(values, resolve(case.preset, &keys)?));
        }
    }
    let study = Points {
        name: "figures glean".to_owned(),
        keep: Keep::Summary,
        points,
    };
    let options = EngineOptions::local(threads);
    let runs = run(&study, out, &options, &mut Bar::default())?.complete()?;
    let of = |point: &Point| Ok(runs.of(point)?.clone());
    let all = study.points.chunks(seeds.max(1) as usize);
    all.map(|each| each.iter().map(of).collect()).collect()
}

/// Shows how many runs are complete.
#[derive(Default)]
pub struct Bar(Option<ProgressBar>);

impl Watcher for Bar {
    fn begin(&mut self, points: usize) {
        self.0 = Some(progress("runs", points as u64));
    }

    fn finished(&mut self, _: &Point, _: &Outcome) {
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
pub fn mean(runs: &[CompletedRun], figure: impl Fn(&CompletedRun) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len().max(1) as f64
}

/// Returns accuracy over the last tenth, in percent.
pub fn accuracy(run: &CompletedRun) -> f64 {
    100.0 * run.summary.tail_accuracy
}

/// Returns millijoules per round.
pub fn energy(run: &CompletedRun) -> f64 {
    1e3 * run.summary.energy_per_round_j
}
