//! The TCP listener for boards that the base station cannot reach, behind NAT or on Wi-Fi.
//!
//! Anybody may connect. Every connection is asked for a greeting (`handshake`), and only a board
//! that proves its key (`boards`) reaches its task. The cost of unknown clients is bounded: at most
//! [`HALF_OPEN`] connections without a greeting, of which the oldest is closed for the next one, and
//! a rate limit; further connections wait in the system's queue. `counts` counts what happened.

mod boards;
mod counts;
mod handshake;

pub use boards::{ExpectedBoards, check};
pub use counts::{ConnectionCounts, ListenerStatus};

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::auth::NonceSource;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinError, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use crate::rate_limit::TokenBucket;
use counts::Outcome;

/// Connections at one time that have not greeted.
pub const HALF_OPEN: usize = 256;

/// Time before a connection may be closed for the next one: a board answers within milliseconds,
/// and a thousand of them at once on a busy machine within this.
const GRACE: Duration = Duration::from_secs(1);

/// Connections accepted per second after a burst; trying a greeting with a thousand keys takes a
/// fraction of a millisecond.
const CONNECTIONS_PER_SECOND: f64 = 500.0;

/// Connections accepted at once beyond two for each board.
const SPARE_CONNECTIONS: f64 = 100.0;

/// Connections that the system queues until they are accepted.
const QUEUE: u32 = 4096;

/// Pause after the system had no socket to give.
const RECOVERY: Duration = Duration::from_millis(100);

/// Error listening for boards.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum ListenError {
    /// Boards connect by themselves, but `--listen` is missing.
    #[error(
        "{names}: link = \"incoming\" needs --listen, for boards that reach this machine's loopback, \
         or --listen ADDRESS:PORT for any other"
    )]
    NotListening { names: String },
    /// `--listen` is given, but no board connects by itself.
    #[error(
        "--listen {address}: no client of the fleet connects by itself; in fleet.toml, give one that \
         does link = \"incoming\" and key = \"64 hexadecimal digits\" (docs/guide/boards.md)"
    )]
    NoIncoming { address: SocketAddr },
    /// Other machines reach the address, and boards without a key could be impersonated.
    #[error(
        "--listen {address} is reached from other machines, where every board that connects needs \
         a key; without one: {names}. Put the output of `openssl rand -hex 32` into key in \
         fleet.toml and into the board with `gleaner flash`, or listen on 127.0.0.1"
    )]
    MissingKeys { address: SocketAddr, names: String },
    /// The address is not available.
    #[error("cannot listen on {address}: {source}")]
    Address {
        address: SocketAddr,
        source: io::Error,
    },
    /// The system has no randomness for nonces.
    #[error("the system has no randomness for greetings: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// A bound address that does not accept connections yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpSocket,
    address: SocketAddr,
    nonces: NonceSource,
    boards: ExpectedBoards,
    status: Arc<ListenerStatus>,
}

impl Listener {
    /// Binds an address; port 0 takes any free port.
    ///
    /// # Errors
    /// Returns an error if the address is not available.
    pub fn bind(
        address: SocketAddr,
        boards: ExpectedBoards,
        status: Arc<ListenerStatus>,
    ) -> Result<Self, ListenError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        let bound = bind(address).and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (address, socket) = bound.map_err(|source| ListenError::Address { address, source })?;
        Ok(Self {
            socket,
            address,
            nonces: NonceSource::new(seed),
            boards,
            status,
        })
    }

    /// Returns the bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts connections on the current runtime, until the returned task is dropped.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn start(self) -> io::Result<ListenerTask> {
        let listener = self.socket.listen(QUEUE)?;
        self.status.set_address(self.address);
        let burst = 2.0 * self.boards.count() as f64 + SPARE_CONNECTIONS;
        let acceptor = Acceptor {
            handshakes: JoinSet::new(),
            arrivals: VecDeque::new(),
            limit: TokenBucket::new(burst, CONNECTIONS_PER_SECOND),
            nonces: self.nonces,
            boards: self.boards,
            status: self.status,
        };
        Ok(ListenerTask(tokio::spawn(acceptor.run(listener))))
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A resumed run does not wait until the connections of the last one time out. On other systems
    // the option would let other programs take the address, too.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// A listener that accepts connections; dropping it stops that.
#[derive(Debug)]
pub struct ListenerTask(JoinHandle<()>);

impl Drop for ListenerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Accepts connections and runs their handshakes.
struct Acceptor {
    handshakes: JoinSet<Outcome>,
    /// Start and task of each handshake, the oldest first; some may have ended.
    arrivals: VecDeque<(Instant, AbortHandle)>,
    limit: TokenBucket,
    nonces: NonceSource,
    boards: ExpectedBoards,
    status: Arc<ListenerStatus>,
}

impl Acceptor {
    async fn run(mut self, listener: TcpListener) {
        let mut delayed = false;
        loop {
            let full = self.handshakes.len() >= HALF_OPEN;
            let oldest = self.oldest();
            let accept = async {
                delayed |= self.limit.ready(1.0).await;
                listener.accept().await
            };
            tokio::select! {
                Some(ended) = self.handshakes.join_next() => self.count(ended),
                () = sleep_until(oldest + GRACE), if full => self.evict().await,
                accepted = accept, if !full => match accepted {
                    Ok((stream, from)) => {
                        self.limit.take(Instant::now(), 1.0);
                        self.accept(stream, from, std::mem::take(&mut delayed));
                    }
                    Err(_) => sleep(RECOVERY).await,
                },
            }
        }
    }

    fn accept(&mut self, stream: TcpStream, from: SocketAddr, delayed: bool) {
        let nonce = self.nonces.draw();
        let boards = self.boards.clone();
        // Acknowledgements are small and waited for. A stream that refuses the option is gone.
        let _ = stream.set_nodelay(true);
        let handshake = async move { handshake::run(Box::new(stream), from, nonce, &boards).await };
        let task = self.handshakes.spawn(handshake);
        if self.arrivals.len() > 2 * HALF_OPEN {
            self.arrivals.retain(|(_, task)| !task.is_finished());
        }
        self.arrivals.push_back((Instant::now(), task));
        self.status.connected(delayed, self.handshakes.len());
    }

    /// Returns the start of the oldest handshake that still runs.
    fn oldest(&mut self) -> Instant {
        while let Some((since, task)) = self.arrivals.front() {
            if !task.is_finished() {
                return *since;
            }
            self.arrivals.pop_front();
        }
        Instant::now()
    }

    /// Ends the oldest handshake.
    async fn evict(&mut self) {
        if let Some((_, oldest)) = self.arrivals.pop_front() {
            oldest.abort();
        }
        // The first handshake to end, aborted or not, makes room.
        if let Some(ended) = self.handshakes.join_next().await {
            self.count(ended);
        }
    }

    fn count(&self, ended: Result<Outcome, JoinError>) {
        self.status.count(ended.unwrap_or(Outcome::Evicted));
    }
}
