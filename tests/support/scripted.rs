//! A board with a valid key that answers by a script, truthful or not: its messages are authentic.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::{DeviceEnd, DeviceLink, Event, Timing};
use gleaner_shared::wire::message::{DeviceId, DeviceToHost, Payload};
use gleaner_shared::wire::{FrameBuffer, Key};

use crate::client::about_of;

/// Room for the transfers of a station.
const ROOM: usize = 1 << 17;

/// What a script makes a board say.
#[allow(clippy::large_enum_variant, reason = "there are few at a time")]
#[derive(Clone, Debug, PartialEq)]
pub enum Say {
    /// A message.
    Message(DeviceToHost),
    /// A transfer of these bytes.
    Echo(Vec<u8>),
}

impl From<DeviceToHost> for Say {
    fn from(message: DeviceToHost) -> Self {
        Self::Message(message)
    }
}

/// A scripted board behind a TCP port; dropping it ends its thread.
pub struct Scripted {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scripted {
    /// Starts the board of client `number`. `script` returns what it says to each event; received
    /// bytes come with it.
    ///
    /// # Panics
    /// When the system has no port or thread to give.
    #[must_use]
    pub fn start(
        number: u32,
        key: Key,
        script: impl FnMut(&Event<DeviceEnd>, &[u8]) -> Vec<Say> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut script = script;
            let mut starts = 0;
            while !seen.load(Ordering::Relaxed) {
                let Ok((line, _)) = listener.accept() else {
                    return;
                };
                starts += 1;
                let board = Board {
                    number,
                    device: DeviceId([number as u8; 12]),
                    key,
                    starts,
                };
                // The other side may close the line at any time.
                let _ = board.serve(line, &mut script, &seen);
            }
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }

    /// Has the board of client `number`, on that chip, connect to a base station, again after every end
    /// of the line.
    ///
    /// # Panics
    /// When the system has no thread to give.
    #[must_use]
    pub fn dial(
        station: SocketAddr,
        (number, device, key): (u32, DeviceId, Key),
        script: impl FnMut(&Event<DeviceEnd>, &[u8]) -> Vec<Say> + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut script = script;
            let mut starts = 0u8;
            while !seen.load(Ordering::Relaxed) {
                starts = starts.wrapping_add(1);
                let board = Board {
                    number,
                    device,
                    key,
                    starts,
                };
                if let Ok(line) = TcpStream::connect(station) {
                    // The other side may close the line at any time.
                    let _ = board.serve(line, &mut script, &seen);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Self {
            address: station,
            stop,
            thread: Some(thread),
        }
    }

    /// Returns the address of its line.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread if it waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A board's identity on one line.
struct Board {
    number: u32,
    device: DeviceId,
    key: Key,
    starts: u8,
}

impl Board {
    fn serve(
        &self,
        mut line: TcpStream,
        script: &mut impl FnMut(&Event<DeviceEnd>, &[u8]) -> Vec<Say>,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        line.set_nodelay(true)?;
        line.set_read_timeout(Some(Duration::from_millis(1)))?;
        let timing = Timing::for_bit_rate(921_600);
        let entropy = [self.starts; 32];
        let mut link = DeviceLink::new(self.key, Some(entropy), self.device, timing);
        let (begin, mut frame) = (Instant::now(), FrameBuffer::new());
        let now = || Micros(begin.elapsed().as_micros() as u64);
        let mut store = vec![0; ROOM];
        let mut pending: VecDeque<Say> = VecDeque::new();
        let mut source = Vec::new();
        let mut piece = [0; 4096];
        while !stop.load(Ordering::Relaxed) {
            let mut bytes = match line.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(len) => &piece[..len],
                Err(error) if is_timeout(error.kind()) => &[],
                Err(error) => return Err(error),
            };
            loop {
                let event = match bytes.is_empty() {
                    true => link.poll(now()),
                    false => link.receive(now(), &mut bytes, &mut store),
                };
                let Some(event) = event else {
                    if bytes.is_empty() {
                        break;
                    }
                    continue;
                };
                match &event {
                    Event::Connected(()) => {
                        pending.clear();
                        pending.push_back(
                            DeviceToHost::About(about_of(self.number, ROOM as u32)).into(),
                        );
                    }
                    Event::Offered(_) => drop(link.accept(&store)),
                    _ => {}
                }
                let received = match &event {
                    Event::Received(offer) => &store[..offer.len as usize],
                    _ => &[],
                };
                pending.extend(script(&event, received));
            }
            while let Some(say) = pending.front() {
                let said = match say {
                    Say::Message(message) => link.send(message.clone()),
                    Say::Echo(bytes) => {
                        source.clone_from(bytes);
                        link.offer(now(), Payload::Echo, None, &source).map(drop)
                    }
                };
                if said.is_err() {
                    break;
                }
                pending.pop_front();
            }
            while let Some(bytes) = link.transmit(now(), &source, &mut frame) {
                line.write_all(bytes)?;
            }
        }
        Ok(())
    }
}

fn is_timeout(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
