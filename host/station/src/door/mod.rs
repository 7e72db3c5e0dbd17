//! The door: where boards call in that the base station cannot call, behind NAT or on Wi-Fi.
//!
//! Anybody may knock. Whoever does is asked for a greeting (`guest`), and only a board that
//! proves its key (`callers`) reaches its task. What strangers can cost is bounded: so many that
//! have not greeted yet, the oldest of which gives way to the next caller; so many calls a second
//! (`pace`); everything else waits in the system's queue, and is counted (`calls`).

mod callers;
mod calls;
mod guest;
mod pace;

pub use callers::{Callers, check};
pub use calls::{Calls, Tally};

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::auth::NonceSource;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinError, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use calls::Outcome;
use pace::Pace;

/// Callers at one time that have not greeted.
pub const HALF_OPEN: usize = 256;

/// How long a caller is left alone before it gives way to the next one: a board answers within
/// milliseconds, and a thousand of them at once on a busy machine within this.
const GRACE: Duration = Duration::from_secs(1);

/// Calls answered in a second once a burst is over; trying a greeting with a thousand keys takes a
/// fraction of a millisecond.
const CALLS_PER_SECOND: f64 = 500.0;

/// Calls answered at once beyond two for each board.
const SPARE_CALLS: f64 = 100.0;

/// Calls the system keeps until they are answered.
const QUEUE: u32 = 4096;

/// How long to leave the system alone that had no socket to give.
const RECOVERY: Duration = Duration::from_millis(100);

/// Why nobody can call in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoorError {
    /// Boards would call in vain.
    #[error(
        "{names} would call in vain (link = \"incoming\"): add --listen for boards that reach this \
         machine's loopback, or --listen ADDRESS:PORT for any other"
    )]
    Unheard {
        /// The boards.
        names: String,
    },
    /// No board calls in.
    #[error(
        "--listen {address}: no client of the fleet calls in; in fleet.toml, give one that does \
         link = \"incoming\" and key = \"64 hexadecimal digits\" (docs/guide/boards.md)"
    )]
    NobodyCalls {
        /// Where it would have been listened.
        address: SocketAddr,
    },
    /// Anybody could stand in for a board.
    #[error(
        "--listen {address} is reached from other machines, where every board that calls in needs \
         a key; without one: {names}. Put the output of `openssl rand -hex 32` into key in \
         fleet.toml and into the board with `gleaner flash`, or listen on 127.0.0.1"
    )]
    Open {
        /// Where it would have been listened.
        address: SocketAddr,
        /// The boards without a key.
        names: String,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// There are no unpredictable nonces.
    #[error("the system has no randomness for greetings: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// An address that is ours, where nobody is answered yet.
#[derive(Debug)]
pub struct Door {
    socket: TcpSocket,
    address: SocketAddr,
    nonces: NonceSource,
    callers: Callers,
    calls: Arc<Calls>,
}

impl Door {
    /// Takes an address; port 0 takes any that is free.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn at(address: SocketAddr, callers: Callers, calls: Arc<Calls>) -> Result<Self, DoorError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        let taken = take(address).and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (address, socket) = taken.map_err(|source| DoorError::Address { address, source })?;
        Ok(Self {
            socket,
            address,
            nonces: NonceSource::new(seed),
            callers,
            calls,
        })
    }

    /// Returns the address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers calls from now on, on the current runtime, until what is returned is dropped.
    ///
    /// # Errors
    /// What the system said.
    pub fn open(self) -> io::Result<OpenDoor> {
        let listener = self.socket.listen(QUEUE)?;
        self.calls.answer_at(self.address);
        let burst = 2.0 * self.callers.count() as f64 + SPARE_CALLS;
        let hall = Hall {
            guests: JoinSet::new(),
            arrivals: VecDeque::new(),
            nonces: self.nonces,
            callers: self.callers,
            calls: self.calls,
        };
        let pace = Pace::new(CALLS_PER_SECOND, burst);
        Ok(OpenDoor(tokio::spawn(hall.answer(listener, pace))))
    }
}

fn take(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A run that is resumed does not wait for the connections of the last one to be forgotten.
    // Elsewhere the option would let others take the address, too.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// A door that answers; dropped, it is closed.
#[derive(Debug)]
pub struct OpenDoor(JoinHandle<()>);

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Callers that have not greeted yet.
struct Hall {
    guests: JoinSet<Outcome>,
    /// When who came, the oldest first; some of them may be gone by now.
    arrivals: VecDeque<(Instant, AbortHandle)>,
    nonces: NonceSource,
    callers: Callers,
    calls: Arc<Calls>,
}

impl Hall {
    async fn answer(mut self, listener: TcpListener, mut pace: Pace) {
        loop {
            let full = self.guests.len() >= HALF_OPEN;
            let oldest = self.oldest();
            let call = async {
                pace.ready().await;
                listener.accept().await
            };
            tokio::select! {
                Some(ended) = self.guests.join_next() => self.count(ended),
                () = sleep_until(oldest + GRACE), if full => self.evict().await,
                call = call, if !full => match call {
                    Ok((stream, from)) => self.receive(stream, from, pace.take()),
                    Err(_) => sleep(RECOVERY).await,
                },
            }
        }
    }

    fn receive(&mut self, stream: TcpStream, from: SocketAddr, delayed: bool) {
        let nonce = self.nonces.draw();
        let callers = self.callers.clone();
        // Acknowledgements are small and waited for. A line that cannot be told so is gone.
        let _ = stream.set_nodelay(true);
        let hear = async move { guest::hear(Box::new(stream), from, nonce, &callers).await };
        let guest = self.guests.spawn(hear);
        if self.arrivals.len() > 2 * HALF_OPEN {
            self.arrivals.retain(|(_, guest)| !guest.is_finished());
        }
        self.arrivals.push_back((Instant::now(), guest));
        self.calls.answered(delayed, self.guests.len());
    }

    /// Returns when the oldest of those still here came.
    fn oldest(&mut self) -> Instant {
        while let Some((since, guest)) = self.arrivals.front() {
            if !guest.is_finished() {
                return *since;
            }
            self.arrivals.pop_front();
        }
        Instant::now()
    }

    /// Shows the oldest out.
    async fn evict(&mut self) {
        if let Some((_, oldest)) = self.arrivals.pop_front() {
            oldest.abort();
        }
        // Whoever leaves first makes room.
        if let Some(ended) = self.guests.join_next().await {
            self.count(ended);
        }
    }

    fn count(&self, ended: Result<Outcome, JoinError>) {
        self.calls.count(ended.unwrap_or(Outcome::Evicted));
    }
}
