//! Progress of a run: a bar on a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::io::IsTerminal;
use std::time::Duration;

use gleaner_files::printable_lines;
use indicatif::{ProgressBar, ProgressStyle};

use gleaner_sim::round::{RoundLog, RoundRow};
use gleaner_sim::run::Observer;

/// Shows rounds as they finish.
pub struct Progress {
    quiet: bool,
    bar: Option<ProgressBar>,
    total: usize,
    accuracy: Option<f64>,
    validation: Option<f64>,
}

impl Progress {
    /// Creates the display; with `quiet` it shows warnings only.
    #[must_use]
    pub const fn new(quiet: bool) -> Self {
        Self {
            quiet,
            bar: None,
            total: 0,
            accuracy: None,
            validation: None,
        }
    }

    /// Removes the bar from the terminal.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn started(&mut self, done: usize, total: usize) {
        self.total = total;
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let template = "{bar:32.cyan/dim} round {pos}/{len}  {msg}  ETA {eta}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(total as u64)
            .with_style(style)
            .with_position(done as u64);
        bar.reset_eta();
        bar.enable_steady_tick(Duration::from_millis(200));
        self.bar = Some(bar);
    }

    fn round(&mut self, log: &RoundLog) {
        let row = &log.round;
        self.accuracy = row.accuracy.or(self.accuracy);
        self.validation = row.validation_accuracy.or(self.validation);
        let mut accuracy = self.accuracy.map_or_else(
            || "not yet measured".to_owned(),
            |share| format!("{:.1} %", 100.0 * share),
        );
        if let Some(share) = self.validation {
            accuracy.push_str(&format!("  validation {:.1} %", 100.0 * share));
        }
        if let Some(privacy) = row.privacy {
            accuracy.push_str(&format!("  epsilon {:.2}", privacy.epsilon));
        }
        let energy_mj = 1e3 * row.cumulative_spent_j;
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(row.round));
            bar.set_message(format!(
                "accuracy {accuracy}  energy so far {energy_mj:.1} mJ"
            ));
        } else if !self.quiet && is_printed(row, self.total) {
            errln!(
                "round {}/{}  accuracy {accuracy}  energy so far {energy_mj:.1} mJ",
                row.round,
                self.total
            );
        }
    }

    fn notice(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(printable_lines(text)),
            None => errln!("{text}"),
        }
    }
}

/// Tells whether a round is printed without a terminal: every tenth part of the run and the end, or every
/// round where its epsilon grows.
fn is_printed(row: &RoundRow, total: usize) -> bool {
    let round = row.round as usize;
    let is_tenth = round > 0 && (round == total || round.is_multiple_of(total.div_ceil(10).max(1)));
    is_tenth || row.ending.is_some() || row.privacy.is_some()
}
