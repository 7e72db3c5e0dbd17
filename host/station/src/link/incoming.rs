//! Hands an accepted connection to the board's task.
//!
//! A key belongs to one board. While the board that has it is in a session, and for a pause after, a
//! connection of another device with the same key is refused: two boards of one key would otherwise
//! displace each other without end.

mod holder;

pub use holder::{Caller, Rivalry};

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use gleaner_shared::wire::message::DeviceId;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::ByteStream;
use holder::Holder;

/// The slot in which the newest line of one board waits for its task. A board has one line, the one
/// it opened last.
#[derive(Clone, Default)]
pub struct Incoming(Arc<Slot>);

#[derive(Default)]
struct Slot {
    newest: Mutex<Newest>,
    arrived: Notify,
    refused: Notify,
}

#[derive(Default)]
struct Newest {
    line: Option<Box<dyn ByteStream>>,
    holder: Option<Holder>,
    /// Whether the last rivalry was not taken yet.
    is_news: bool,
    rivalry: Option<Rivalry>,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}

impl fmt::Display for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.with(|newest| newest.holder.as_ref().map(|holder| holder.caller.from)) {
            Some(address) => write!(f, "connection from {address}"),
            None => f.write_str("no connection yet"),
        }
    }
}

impl Incoming {
    fn with<T>(&self, look: impl FnOnce(&mut Newest) -> T) -> T {
        look(&mut self.0.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells whether a line of this device may be put into the slot.
    ///
    /// # Errors
    /// Returns both devices if another one has the board's key, or if lines displace each other.
    pub fn admit(&self, device: DeviceId, from: SocketAddr) -> Result<(), Rivalry> {
        let caller = Caller { device, from };
        let refused = self.with(|newest| {
            let now = Instant::now();
            let holder = newest.holder.get_or_insert(Holder::new(caller, now));
            if holder.admits(caller, now) {
                return None;
            }
            let kept = holder.caller;
            let times = newest.rivalry.map_or(0, |rivalry| rivalry.times);
            let rivalry = Rivalry {
                kept,
                refused: caller,
                times: times.saturating_add(1),
            };
            newest.rivalry = Some(rivalry);
            newest.is_news |= rivalry.is_due();
            Some(rivalry)
        });
        match refused {
            None => Ok(()),
            Some(rivalry) => {
                self.0.refused.notify_one();
                Err(rivalry)
            }
        }
    }

    /// Puts an admitted line into the slot; one that still waits there is closed.
    pub fn put(&self, line: Box<dyn ByteStream>) {
        let older = self.with(|newest| newest.line.replace(line));
        drop(older);
        self.0.arrived.notify_one();
    }

    /// Notes that a session of the board is open, or that its line or session is gone.
    pub fn hold(&self, is_open: bool) {
        self.with(|newest| {
            if let Some(holder) = &mut newest.holder {
                holder.hold(is_open, Instant::now());
            }
        });
    }

    /// Waits for a line and takes it.
    pub async fn take(&self) -> Box<dyn ByteStream> {
        loop {
            self.wait().await;
            if let Some(line) = self.with(|newest| newest.line.take()) {
                return line;
            }
        }
    }

    /// Waits until a line is in the slot, without taking it.
    pub async fn wait(&self) {
        while self.with(|newest| newest.line.is_none()) {
            self.0.arrived.notified().await;
        }
    }

    /// Waits until a line was refused because of another board; only some repetitions are news.
    pub async fn rivalry(&self) -> Rivalry {
        loop {
            let news = self.with(|newest| {
                newest
                    .rivalry
                    .filter(|_| std::mem::take(&mut newest.is_news))
            });
            if let Some(rivalry) = news {
                return rivalry;
            }
            self.0.refused.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const DEVICE: DeviceId = DeviceId([1; 12]);
    const OTHER: DeviceId = DeviceId([2; 12]);

    fn from(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[tokio::test]
    async fn the_newest_line_is_taken_and_the_one_before_it_is_closed() {
        let incoming = Incoming::default();
        assert_eq!(incoming.to_string(), "no connection yet");
        let ((first, mut far_first), (second, mut far_second)) = (duplex(8), duplex(8));
        for (line, port) in [(first, 1), (second, 2)] {
            incoming.admit(DEVICE, from(port)).unwrap();
            incoming.put(Box::new(line));
        }
        incoming.wait().await;
        let mut line = incoming.take().await;
        assert_eq!(incoming.to_string(), "connection from 127.0.0.1:2");
        assert_eq!(far_first.read(&mut [0; 8]).await.unwrap(), 0);
        far_second.write_all(b"here").await.unwrap();
        let mut word = [0; 4];
        line.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"here");
    }

    #[tokio::test]
    async fn a_waiting_task_is_woken_by_a_later_line() {
        let incoming = Incoming::default();
        let waiting = incoming.clone();
        let task = tokio::spawn(async move { waiting.take().await });
        tokio::task::yield_now().await;
        let (line, _far) = duplex(8);
        incoming.put(Box::new(line));
        task.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn another_device_is_refused_and_said_until_the_first_is_gone_for_a_pause() {
        let incoming = Incoming::default();
        incoming.admit(DEVICE, from(1)).unwrap();
        incoming.hold(true);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        for times in 1..=17 {
            let rivalry = incoming.admit(OTHER, from(2)).unwrap_err();
            assert_eq!(
                (rivalry.kept.device, rivalry.refused.device),
                (DEVICE, OTHER)
            );
            assert_eq!(rivalry.times, times);
            if [1, 16].contains(&times) {
                assert_eq!(incoming.rivalry().await.times, times);
            }
        }
        let quiet = tokio::time::timeout(Duration::from_secs(9), incoming.rivalry());
        assert!(quiet.await.is_err());
        // The first board may come back at once, another only after a pause.
        incoming.hold(false);
        assert!(incoming.admit(OTHER, from(2)).is_err());
        incoming.admit(DEVICE, from(3)).unwrap();
        tokio::time::advance(holder::PAUSE).await;
        incoming.admit(OTHER, from(2)).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn lines_of_one_number_that_displace_each_other_are_refused_for_a_while() {
        let incoming = Incoming::default();
        incoming.admit(DEVICE, from(1)).unwrap();
        let mut refused = None;
        for turn in 0..holder::MOST_DISPLACED + 1 {
            incoming.hold(true);
            refused = incoming.admit(DEVICE, from(turn as u16 % 2)).err();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(refused.map(|rivalry| rivalry.times), Some(1));
        // A board whose session has ended is the same board.
        incoming.hold(false);
        incoming.admit(DEVICE, from(9)).unwrap();
        // And so is one that displaces its own session now and then.
        for _ in 0..20 {
            incoming.hold(true);
            tokio::time::advance(holder::WINDOW).await;
            incoming.admit(DEVICE, from(9)).unwrap();
        }
    }
}
