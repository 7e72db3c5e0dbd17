//! Hands an accepted connection to the board's task.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::ByteStream;

/// The slot in which the newest line of one board waits for its task. A board has one line, the one
/// it opened last.
#[derive(Clone, Default)]
pub struct Incoming(Arc<Slot>);

#[derive(Default)]
struct Slot {
    newest: Mutex<Newest>,
    arrived: Notify,
}

#[derive(Default)]
struct Newest {
    line: Option<Box<dyn ByteStream>>,
    from: Option<SocketAddr>,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}

impl fmt::Display for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.with(|newest| newest.from) {
            Some(address) => write!(f, "connection from {address}"),
            None => f.write_str("no connection yet"),
        }
    }
}

impl Incoming {
    fn with<T>(&self, look: impl FnOnce(&mut Newest) -> T) -> T {
        look(&mut self.0.newest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a line into the slot; one that still waits there is closed.
    pub fn put(&self, line: Box<dyn ByteStream>, from: SocketAddr) {
        let older = self.with(|newest| {
            newest.from = Some(from);
            newest.line.replace(line)
        });
        drop(older);
        self.0.arrived.notify_one();
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
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn the_newest_line_is_taken_and_the_one_before_it_is_closed() {
        let incoming = Incoming::default();
        assert_eq!(incoming.to_string(), "no connection yet");
        let from = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let ((first, mut far_first), (second, mut far_second)) = (duplex(8), duplex(8));
        incoming.put(Box::new(first), from(1));
        incoming.put(Box::new(second), from(2));
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
        incoming.put(Box::new(line), SocketAddr::from(([127, 0, 0, 1], 1)));
        task.await.unwrap();
    }
}
