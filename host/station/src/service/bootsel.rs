//! Restarts a board as the drive of its boot loader, over its line and under its key.

use std::time::Duration;

use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{BootselRefusal, DeviceToHost, HostToDevice};
use tokio::time::timeout;

use super::{Service, ServiceError, Session};
use crate::fleet_file::Entry;
use crate::link::Endpoint;

/// Time for a refusal to come; a board that restarted as a drive sends nothing.
const GRACE: Duration = Duration::from_secs(2);

/// Restarts the board at `endpoint` as a drive.
///
/// # Errors
/// Returns an error if the board has no key, does not answer, or refuses.
pub async fn bootsel(
    entry: &Entry,
    endpoint: &Endpoint,
    patience: Duration,
) -> Result<(), ServiceError> {
    if entry.key.is_none() {
        return Err(ServiceError::Unkeyed);
    }
    let mut session = Session::try_new(entry)?;
    session.run(endpoint, patience, &mut Restart).await?;
    match timeout(GRACE, refusal(&mut session)).await {
        Ok(Some(reason)) => Err(ServiceError::BootselRefused(reason)),
        Ok(None) | Err(_) => Ok(()),
    }
}

struct Restart;

impl Service for Restart {
    type Output = ();

    // A board with another client's shard is restarted to be flashed.
    const CHECKS_CLIENT: bool = false;

    fn handle(
        &mut self,
        session: &mut Session<'_>,
        event: Event<HostEnd>,
    ) -> Result<Option<()>, ServiceError> {
        let is_connected = matches!(event, Event::Connected(_));
        if is_connected {
            // The queue of a new session has room.
            let _ = session.peer.send(HostToDevice::Bootsel);
        }
        Ok(is_connected.then_some(()))
    }
}

/// Waits for a refusal; returns `None` once the board is gone.
async fn refusal(session: &mut Session<'_>) -> Option<BootselRefusal> {
    loop {
        match session.peer.next().await.ok()? {
            Event::Message(DeviceToHost::BootselRefused(reason)) if session.peer.is_said() => {
                return Some(reason);
            }
            Event::Lost(_) => return None,
            _ => {}
        }
    }
}
