//! What one sender may say: a bucket of bytes that fills with time, so that no board, whatever it
//! does, makes the log grow by a megabyte in a minute. The record of a round is beyond it.

use gleaner_sim::ClientId;
use std::collections::HashSet;
use std::io::{self, Write};
use std::mem::{Discriminant, discriminant};

use tokio::time::Instant;

use super::bucket::Bucket;
use super::event::{Event, EventKind};

/// Bytes of news that may come at once: some forty rounds of an honest board.
const BURST: f64 = 192.0 * 1024.0;

/// Bytes of news in a second.
const RATE: f64 = 8.0 * 1024.0;

/// Bytes of a line beside its event: the time, and the line that tells of dropped news.
const BESIDE: f64 = 100.0;

/// The budget of one sender.
#[derive(Debug)]
pub(super) struct Budget {
    bucket: Bucket,
    /// The newest round, and what the sender told since it began: of which client and round, and
    /// of which kind.
    round: Option<u32>,
    told: HashSet<(ClientId, Option<u32>, Discriminant<EventKind>)>,
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// It must get through: it is part of a round's record.
    Always,
    /// It may get through if there is room.
    IfRoom,
    /// The budget is spent.
    Never,
}

impl Budget {
    /// Returns a full budget.
    pub(super) fn new() -> Self {
        Self {
            bucket: Bucket::new(BURST, RATE),
            round: None,
            told: HashSet::new(),
        }
    }

    /// Judges an event. Of a round's record the first event of a kind is free; a board that opens
    /// one session after the other can repeat it, and pays for that as for any news.
    pub(super) fn judge(&mut self, now: Instant, event: &Event) -> Due {
        if event.what.is_record() && self.is_first(event) {
            return Due::Always;
        }
        match self.bucket.take(now, bytes(event) + BESIDE) {
            true => Due::IfRoom,
            false => Due::Never,
        }
    }

    fn is_first(&mut self, event: &Event) -> bool {
        if event.round > self.round {
            self.round = event.round;
            self.told.clear();
        }
        let kind = discriminant(&event.what);
        self.told.insert((event.client, event.round, kind))
    }
}

/// Returns how long an event is in the log.
fn bytes(event: &Event) -> f64 {
    let mut length = Length(0);
    // Counting does not fail, and what cannot be written costs nothing.
    let _ = serde_json::to_writer(&mut length, event);
    length.0 as f64
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
