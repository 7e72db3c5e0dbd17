//! What an image of the self-test says over its link: lines of text, over and over.
//!
//! ```text
//! begin
//! fingerprint 8 1234567890
//! frame seal 964 181770
//! end
//! ```
//! A line is what was found, how many bytes it is of, and a number.

use core::fmt::Write as _;

use embedded_io_async::Write as _;
use gleaner_shared::units::Micros;
use heapless::String;

use crate::platform::{Board, Clock, Platform, Watchdog};

/// Room for everything an image says.
const BYTES: usize = 2048;

/// What is said.
pub struct Report(String<BYTES>);

impl Report {
    /// Starts an empty report.
    #[must_use]
    pub fn new() -> Self {
        let mut report = Self(String::new());
        report.line(format_args!("begin"));
        report
    }

    /// Adds what was found of so many bytes.
    pub fn say(&mut self, what: &str, bytes: usize, number: u64) {
        self.line(format_args!("{what} {bytes} {number}"));
    }

    fn line(&mut self, line: core::fmt::Arguments<'_>) {
        // A report that is cut has no end, which its reader misses.
        let _ = self
            .0
            .write_fmt(line)
            .and_then(|()| self.0.write_char('\n'));
    }

    /// Says it once a second, for ever; `between` has its turn with the board each time.
    pub async fn repeat<P: Platform>(
        mut self,
        mut board: Board<P>,
        mut between: impl FnMut(&mut Board<P>),
    ) -> ! {
        self.line(format_args!("end"));
        loop {
            board.watchdog.feed();
            between(&mut board);
            // Nobody may be listening yet: it is said again.
            let _ = board.tx.write_all(self.0.as_bytes()).await;
            let later = board.clock.now().saturating_add(Micros(1_000_000));
            board.clock.wait_until(later).await;
        }
    }
}

impl Default for Report {
    fn default() -> Self {
        Self::new()
    }
}
