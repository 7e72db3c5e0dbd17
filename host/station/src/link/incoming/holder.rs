//! The device that a board's key belongs to, and who else calls with that key.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use gleaner_shared::wire::message::DeviceId;
use tokio::time::Instant;

/// Time after the last session of a device before another may take its place, as when a broken board
/// is replaced.
pub const PAUSE: Duration = Duration::from_secs(30);

/// Open sessions that lines of one chip number may displace within [`WINDOW`].
pub const MOST_DISPLACED: usize = 4;

/// See [`MOST_DISPLACED`].
pub const WINDOW: Duration = Duration::from_secs(60);

/// A device that proved a key, and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The chip number that it named.
    pub device: DeviceId,
    /// The address of the connection.
    pub from: SocketAddr,
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chip {} at {}", self.device, self.from)
    }
}

/// A refused connection: two boards have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rivalry {
    /// The device that keeps its line.
    pub kept: Caller,
    /// The device that is refused.
    pub refused: Caller,
    /// Refusals so far.
    pub times: u64,
}

impl Rivalry {
    /// Tells whether this refusal is news: the first, and then sixteen times as many.
    pub(super) const fn is_due(&self) -> bool {
        self.times.is_power_of_two() && self.times.trailing_zeros().is_multiple_of(4)
    }
}

/// The device whose lines are served.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) caller: Caller,
    /// Whether it is in a session.
    is_open: bool,
    /// When it was last in a session, or connected.
    seen: Instant,
    /// When its own newer lines displaced its open sessions.
    displaced: VecDeque<Instant>,
}

impl Holder {
    pub(super) const fn new(caller: Caller, now: Instant) -> Self {
        Self {
            caller,
            is_open: false,
            seen: now,
            displaced: VecDeque::new(),
        }
    }

    /// Notes the start or the end of a session.
    pub(super) const fn hold(&mut self, is_open: bool, now: Instant) {
        // The end of an attempt without a session is no sign of the device.
        if self.is_open || is_open {
            self.seen = now;
        }
        self.is_open = is_open;
    }

    /// Tells whether a line replaces the one that is served, which it then does.
    pub(super) fn admits(&mut self, caller: Caller, now: Instant) -> bool {
        if caller.device != self.caller.device {
            let is_free = !self.is_open && now.duration_since(self.seen) >= PAUSE;
            if is_free {
                *self = Self::new(caller, now);
            }
            return is_free;
        }
        if self.is_open {
            let is_old = |at: &Instant| now.duration_since(*at) >= WINDOW;
            while self.displaced.front().is_some_and(is_old) {
                self.displaced.pop_front();
            }
            if self.displaced.len() >= MOST_DISPLACED {
                return false;
            }
            self.displaced.push_back(now);
        }
        self.caller = caller;
        true
    }
}
