//! What commands that make many runs have in common: lists of choices, and progress.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use strum::VariantArray;

use super::word::{self, Word};
use gleaner_experiment::PlannedRun;
use gleaner_experiment::batch::{Outcome, Point, Watcher};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::run::Summary;

/// Parses `all` or a list separated by commas; what is named twice is meant once.
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

/// Parses a list of schedulers, in which `paper` and `rivals` stand for several and `all` for all.
pub fn schedulers(text: &str) -> anyhow::Result<Vec<Scheduler>> {
    let mut chosen = Vec::new();
    for word in text.split(',') {
        let named = match word.trim() {
            "all" => Scheduler::VARIANTS.to_vec(),
            "paper" => Scheduler::PAPER.to_vec(),
            "rivals" => Scheduler::RIVALS.to_vec(),
            word => {
                let groups = |error| anyhow!("{error}; paper, rivals or all are several of them");
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

/// Shows how many runs are done.
pub struct Gathering {
    quiet: bool,
    done: usize,
    total: usize,
    bar: Option<ProgressBar>,
}

impl Gathering {
    /// Prepares to show `total` runs.
    pub fn new(quiet: bool, total: usize) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let template = "{bar:32.cyan/dim} run {pos}/{len}  {msg}  ETA {eta}";
            let style = ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(total as u64).with_style(style);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            quiet,
            done: 0,
            total,
            bar,
        }
    }

    /// Notes a finished run; `None` if it failed.
    pub fn finished(&mut self, run: &PlannedRun, outcome: Option<&Summary>) {
        let name = run.directory.path().file_name().unwrap_or_default();
        self.note(&name.to_string_lossy(), outcome);
    }

    fn note(&mut self, name: &str, outcome: Option<&Summary>) {
        self.done += 1;
        let result = outcome.map_or_else(
            || "failed".to_owned(),
            |summary| {
                format!(
                    "accuracy {:.1} %  energy {:.2} mJ/round",
                    100.0 * summary.tail_accuracy,
                    1e3 * summary.energy_per_round_j
                )
            },
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done as u64);
                bar.set_message(format!("{name}: {result}"));
            }
            None if self.quiet => {}
            None => errln!("run {}/{}  {name}: {result}", self.done, self.total),
        }
    }

    /// Takes the bar off the screen.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Watcher for Gathering {
    fn finished(&mut self, point: &Point, outcome: &Outcome) {
        self.note(&point.id, outcome.as_ref().ok());
    }

    fn notice(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None if self.quiet => {}
            None => errln!("{text}"),
        }
    }

    fn end(&mut self) {
        Self::end(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_schedulers_can_be_mixed_with_names_and_nobody_is_named_twice() {
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
