//! Sends a board into its boot loader, which shows it as a drive, over its line and under its key.

use std::io;
use std::time::Duration;

use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{BootselRefusal, DeviceToHost, HostToDevice, Refusal};
use tokio::time::{sleep, timeout};

use super::link::Endpoint;
use super::peer::Peer;
use crate::fleet_file::Entry;

/// Between two attempts to open a line.
const REOPEN: Duration = Duration::from_millis(500);
/// A board that does not refuse for so long has gone: as a drive it says nothing.
const GRACE: Duration = Duration::from_secs(2);

/// Why a board did not become a drive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootselError {
    /// It has no key in the list.
    #[error(
        "it has no key: {}; `key` in fleet.toml and `gleaner flash` give it one",
        BootselRefusal::NoKey
    )]
    Unkeyed,
    /// No session, and the board or this end said why.
    #[error("no session: {0}")]
    Session(Refusal),
    /// The board stays.
    #[error("it stays: {0}")]
    Refused(BootselRefusal),
    /// The board was not there for long enough.
    #[error("no answer within {} s ({last})", patience.as_secs())]
    Silent {
        /// How long it was waited for.
        patience: Duration,
        /// What was seen last.
        last: String,
    },
    /// The system has no randomness for a session.
    #[error("no session: {0}")]
    System(#[from] io::Error),
}

/// Sends the board at `endpoint` into its boot loader.
///
/// # Errors
/// Says why it stays.
pub async fn bootsel(
    entry: &Entry,
    endpoint: &Endpoint,
    patience: Duration,
) -> Result<(), BootselError> {
    if entry.key.is_none() {
        return Err(BootselError::Unkeyed);
    }
    let mut farewell = Farewell {
        peer: Peer::try_new(entry.wire_keys(), entry.timing())?,
        last: "the line was not opened".to_owned(),
    };
    let sent = timeout(patience, farewell.send(endpoint)).await;
    sent.unwrap_or_else(|_| {
        Err(BootselError::Silent {
            patience,
            last: std::mem::take(&mut farewell.last),
        })
    })?;
    // Whatever ends the line now, the board went.
    match timeout(GRACE, farewell.refusal()).await {
        Ok(Some(reason)) => Err(BootselError::Refused(reason)),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The last words to a board.
struct Farewell {
    peer: Peer,
    /// What was seen last, for whoever waits in vain.
    last: String,
}

impl Farewell {
    /// Opens a session and says it.
    async fn send(&mut self, endpoint: &Endpoint) -> Result<(), BootselError> {
        let mut attempt = 0;
        loop {
            match endpoint.open(attempt).await {
                Ok(line) => self.peer.plug(line),
                Err(error) => self.last = error.to_string(),
            }
            loop {
                match self.peer.next().await {
                    Ok(Event::Connected(_)) => {
                        // A session that has just been opened has room.
                        let _ = self.peer.send(HostToDevice::Bootsel);
                        return Ok(());
                    }
                    Ok(Event::Refused(refusal)) => return Err(BootselError::Session(refusal)),
                    Ok(Event::Lost(reason)) => self.last = reason.to_string(),
                    Ok(_) => {}
                    Err(error) => {
                        if error.kind() != io::ErrorKind::NotConnected {
                            self.last = error.to_string();
                        }
                        break;
                    }
                }
            }
            attempt += 1;
            sleep(REOPEN).await;
        }
    }

    /// Waits for a refusal; `None` once the board is gone.
    async fn refusal(&mut self) -> Option<BootselRefusal> {
        loop {
            let event: Event<HostEnd> = self.peer.next().await.ok()?;
            match event {
                Event::Message(DeviceToHost::BootselRefused(reason)) => return Some(reason),
                Event::Lost(_) => return None,
                _ => {}
            }
        }
    }
}
