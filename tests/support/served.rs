//! The firmware's client in a thread of its own with its line on a TCP port: a board without an
//! emulator.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gleaner_shared::units::Micros;

use crate::in_process::{self, InProcess};
use crate::nor::Nor;
use crate::wire::Wire;

/// How much faster the client's time runs than the wall's, so that tests need not wait for
/// bytes at 921,600 baud.
const SPEED: u64 = 8;

/// A client behind a TCP port; dropping it ends the thread.
pub struct Served {
    address: SocketAddr,
    shared: Arc<Shared>,
    flash: Nor,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    resets: AtomicU32,
    power_cuts: AtomicU32,
}

impl Served {
    /// Starts a client whose flash holds `shard`.
    ///
    /// # Panics
    /// When the system has no port or thread to give.
    #[must_use]
    pub fn start(shard: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let flash = in_process::flash(0);
        let chip = flash.clone();
        let thread = std::thread::spawn(move || serve(&listener, &shard, chip, &seen));
        Self {
            address,
            shared,
            flash,
            thread: Some(thread),
        }
    }

    /// Returns the address of its line.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the flash with its keys and state.
    #[must_use]
    pub const fn flash(&self) -> &Nor {
        &self.flash
    }

    /// Returns a handle that resets the client or cuts its power from another thread.
    #[must_use]
    pub fn button(&self) -> Button {
        Button(Arc::clone(&self.shared))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Wakes the thread if it waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The buttons of a served client.
#[derive(Clone)]
pub struct Button(Arc<Shared>);

impl Button {
    /// Resets the client; memory that survives a reset does.
    pub fn reset(&self) {
        self.0.resets.fetch_add(1, Ordering::Relaxed);
    }

    /// Cuts the power: everything but the flash is lost, and so is the line.
    pub fn cut_power(&self) {
        self.0.power_cuts.fetch_add(1, Ordering::Relaxed);
    }
}

fn serve(listener: &TcpListener, shard: &[u8], flash: Nor, shared: &Shared) {
    let mut client = InProcess::start_on(shard, flash);
    let begin = Instant::now();
    let (mut resets, mut cuts) = (0, 0);
    while !shared.stop.load(Ordering::Relaxed) {
        let Ok((mut line, _)) = listener.accept() else {
            return;
        };
        let _ = line.set_nodelay(true);
        let _ = line.set_read_timeout(Some(Duration::from_millis(1)));
        let mut piece = [0; 4096];
        while !shared.stop.load(Ordering::Relaxed) {
            if shared.power_cuts.load(Ordering::Relaxed) > cuts {
                cuts += 1;
                client.power_cycle();
                break;
            }
            if shared.resets.load(Ordering::Relaxed) > resets {
                resets += 1;
                client.reset();
            }
            let received = match line.read(&mut piece) {
                Ok(0) => break,
                Ok(len) => &piece[..len],
                Err(error) if is_timeout(error.kind()) => &[],
                Err(_) => break,
            };
            let elapsed = Micros(begin.elapsed().as_micros() as u64 * SPEED);
            let until = elapsed.max(client.now().saturating_add(Micros(1)));
            let mut answer = client.exchange(received, until);
            while client.now() < until {
                answer.extend(client.exchange(&[], until));
            }
            if line.write_all(&answer).is_err() {
                break;
            }
        }
    }
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
