//! Byte streams to one peer: a serial port, a TCP connection that either side opened, or memory.
//!
//! A [`ByteStream`] is an open line; an [`Endpoint`] opens a line, again and again while boards
//! disconnect and return. [`faults`] wraps any line in one that loses, flips, repeats, delays and
//! cuts. This module does not interpret the bytes, except that a zero ends a frame.

pub mod faults;
pub mod incoming;
pub mod memory;
pub mod serial;

use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::fleet_file::Place;
use faults::{FaultCounters, Faults};
use incoming::{Incoming, Rivalry};
use memory::MemoryListener;

/// An open line. A read of zero bytes, like an error, means that the peer closed it.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// The other end of a line.
#[derive(Clone, Debug)]
enum Peer {
    /// A device or program to connect to.
    At(Place),
    /// A device that connects by itself.
    Incoming(Incoming),
    /// A connector in this process, for tests.
    Memory(MemoryListener),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(place) => place.fmt(f),
            Self::Incoming(incoming) => incoming.fmt(f),
            Self::Memory(_) => f.write_str("memory"),
        }
    }
}

/// A place where a line can be opened, and the faults to inject into the line.
#[derive(Clone, Debug)]
pub struct Endpoint {
    peer: Peer,
    faults: Option<(Faults, Arc<FaultCounters>)>,
}

impl Endpoint {
    /// Returns an endpoint that connects to a place.
    #[must_use]
    pub const fn new(place: Place) -> Self {
        Self {
            peer: Peer::At(place),
            faults: None,
        }
    }

    /// Returns an endpoint for lines that the other side opens.
    #[must_use]
    pub const fn incoming(incoming: Incoming) -> Self {
        Self {
            peer: Peer::Incoming(incoming),
            faults: None,
        }
    }

    /// Returns an endpoint for lines inside this process.
    #[must_use]
    pub const fn in_memory(socket: MemoryListener) -> Self {
        Self {
            peer: Peer::Memory(socket),
            faults: None,
        }
    }

    /// Injects faults into every line, counted in `counters`.
    #[must_use]
    pub fn with_faults(self, faults: Faults, counters: Arc<FaultCounters>) -> Self {
        Self {
            faults: faults.any().then_some((faults, counters)),
            ..self
        }
    }

    /// Returns the peer, for display.
    #[must_use]
    pub const fn place(&self) -> &impl fmt::Display {
        &self.peer
    }

    /// Opens a line. `attempt` counts the lines, so that each has faults of its own.
    ///
    /// # Errors
    /// Returns the error of the system; try again later.
    pub async fn open(&self, attempt: u32) -> io::Result<Box<dyn ByteStream>> {
        let link: Box<dyn ByteStream> = match &self.peer {
            Peer::At(Place::Serial(address)) => Box::new(address.open().map_err(io::Error::other)?),
            Peer::At(Place::Tcp(address)) => {
                let stream = TcpStream::connect(address).await?;
                // Acknowledgements are small and waited for.
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Peer::Incoming(incoming) => incoming.take().await,
            Peer::Memory(socket) => Box::new(socket.accept().await?),
        };
        Ok(match &self.faults {
            None => link,
            Some((faults, counters)) => Box::new(faults.wrap(link, attempt, Arc::clone(counters))),
        })
    }

    /// Notes that a session on a line of the other side is open, or that line or session are gone.
    pub fn hold(&self, is_open: bool) {
        if let Peer::Incoming(incoming) = &self.peer {
            incoming.hold(is_open);
        }
    }

    /// Waits until a line was refused because a second device has the board's key.
    pub async fn rivalry(&self) -> Rivalry {
        match &self.peer {
            Peer::Incoming(incoming) => incoming.rivalry().await,
            Peer::At(_) | Peer::Memory(_) => std::future::pending().await,
        }
    }

    /// Waits until the other side has opened a newer line.
    pub async fn superseded(&self) {
        match &self.peer {
            Peer::Incoming(incoming) => incoming.wait().await,
            Peer::At(_) | Peer::Memory(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_tcp_line_carries_bytes_both_ways_and_its_end_is_seen() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let endpoint = Endpoint::new(Place::Tcp(address));
        let (near, far) = tokio::join!(endpoint.open(0), listener.accept());
        let (mut near, (mut far, _)) = (near.unwrap(), far.unwrap());
        near.write_all(b"down").await.unwrap();
        far.write_all(b"up").await.unwrap();
        let (mut down, mut up) = ([0; 4], [0; 2]);
        far.read_exact(&mut down).await.unwrap();
        near.read_exact(&mut up).await.unwrap();
        assert_eq!((&down, &up), (b"down", b"up"));
        drop(far);
        assert_eq!(near.read(&mut up).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_an_error_and_no_wait() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        assert!(Endpoint::new(Place::Tcp(address)).open(0).await.is_err());
    }
}
