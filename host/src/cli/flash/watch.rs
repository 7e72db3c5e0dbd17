//! Progress of flashing: a bar on a terminal, nothing elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use gleaner_station::device::flash::target::{Part, Step, Watch};

/// The progress bar of the current step.
#[derive(Debug)]
pub struct Bar<'a> {
    board: &'a str,
    bar: Option<ProgressBar>,
}

impl<'a> Bar<'a> {
    /// Returns the bar of a board.
    #[must_use]
    pub const fn new(board: &'a str) -> Self {
        Self { board, bar: None }
    }
}

impl Watch for Bar<'_> {
    fn begin(&mut self, part: &Part, step: Step, bytes: u64) {
        self.clear();
        if !std::io::stderr().is_terminal() {
            return;
        }
        let template = "{prefix}  {msg:<16} {bar:32.cyan/dim} {bytes}/{total_bytes}  {eta}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(bytes).with_style(style);
        bar.set_prefix(self.board.to_owned());
        bar.set_message(format!("{step} {}", part.what));
        self.bar = Some(bar);
    }

    fn advance(&mut self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(bytes);
        }
    }
}

impl Bar<'_> {
    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
