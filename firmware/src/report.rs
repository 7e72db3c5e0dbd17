//! The report of a self-test image: lines of text, sent repeatedly.
//!
//! ```text
//! begin
//! fingerprint 8 1234567890
//! frame seal 964 181770
//! end
//! ```
//! A line is a name, a size in bytes and a number.

use core::fmt::Write as _;

use embedded_io_async::Write as _;
use gleaner_shared::units::Micros;
use heapless::String;

use crate::platform::{Board, Clock, Platform, Watchdog};

/// Size of the longest report.
const BYTES: usize = 2048;

/// Lines of a report between `begin` and `end`.
pub struct Report(String<BYTES>);

impl Report {
    /// Starts a report with its first line.
    pub fn new() -> Self {
        let mut report = Self(String::new());
        report.line(format_args!("begin"));
        report
    }

    /// Adds a line to the report.
    pub fn add(&mut self, what: &str, bytes: usize, number: u64) {
        self.line(format_args!("{what} {bytes} {number}"));
    }

    fn line(&mut self, line: core::fmt::Arguments<'_>) {
        // A truncated report lacks its last line, which its reader detects.
        let _ = self
            .0
            .write_fmt(line)
            .and_then(|()| self.0.write_char('\n'));
    }

    /// Sends the report once a second, forever; `between` is called each time.
    pub async fn repeat<P: Platform>(
        mut self,
        mut board: Board<P>,
        mut between: impl FnMut(&mut Board<P>),
    ) -> ! {
        self.line(format_args!("end"));
        loop {
            board.watchdog.feed();
            between(&mut board);
            // Repeated because nobody may be listening yet.
            let _ = board.tx.write_all(self.0.as_bytes()).await;
            let later = board.clock.now().saturating_add(Micros(1_000_000));
            board.clock.wait_until(later).await;
        }
    }
}
