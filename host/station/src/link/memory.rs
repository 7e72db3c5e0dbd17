//! Lines inside one process, for tests.

use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::io::DuplexStream;
use tokio::sync::{Mutex, mpsc};

/// Bytes a line holds before its writer waits, like the buffer of a serial driver.
const CAPACITY: usize = 4096;

/// The host's side, which waits for lines.
#[derive(Clone)]
pub struct MemoryListener {
    lines: Arc<Mutex<mpsc::Receiver<DuplexStream>>>,
}

impl fmt::Debug for MemoryListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryListener")
    }
}

impl MemoryListener {
    /// Waits until the other side opens a line.
    ///
    /// # Errors
    /// Returns an error if the connector was dropped.
    pub async fn accept(&self) -> io::Result<DuplexStream> {
        let line = self.lines.lock().await.recv().await;
        line.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))
    }
}

/// The device's side, which opens lines. Dropping a line closes it.
#[derive(Clone, Debug)]
pub struct MemoryConnector {
    lines: mpsc::Sender<DuplexStream>,
}

impl MemoryConnector {
    /// Opens a line and returns the device's end of it.
    ///
    /// # Errors
    /// Returns an error if the listener was dropped.
    pub async fn connect(&self) -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(CAPACITY);
        let sent = self.lines.send(near).await;
        sent.map_err(|_| io::Error::from(io::ErrorKind::NotConnected))?;
        Ok(far)
    }
}

/// Returns a listener and its connector.
#[must_use]
pub fn pair() -> (MemoryListener, MemoryConnector) {
    let (sender, receiver) = mpsc::channel(1);
    let lines = Arc::new(Mutex::new(receiver));
    (MemoryListener { lines }, MemoryConnector { lines: sender })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_closed_line_can_be_opened_again() {
        let (listener, connector) = pair();
        for _ in 0..2 {
            let mut far = connector.connect().await.unwrap();
            let mut near = listener.accept().await.unwrap();
            far.write_all(b"here").await.unwrap();
            let mut word = [0; 4];
            near.read_exact(&mut word).await.unwrap();
            assert_eq!(&word, b"here");
            drop(far);
            assert_eq!(near.read(&mut word).await.unwrap(), 0);
        }
    }
}
