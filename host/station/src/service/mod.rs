//! Services of one board outside of a run: rotate its key ([`rekey`]), classify samples
//! ([`infer`]), measure its energy ([`measure`]), or restart it as a boot drive ([`bootsel`]).
//!
//! `Session` keeps a line and a session open, over as many attempts as it takes, and passes every
//! event to a `Service`, which ends with a result.

pub mod bootsel;
pub mod infer;
pub mod measure;
mod plan;
pub mod rekey;

use std::io;
use std::time::Duration;

use gleaner_learn::train::TooLarge;
use gleaner_shared::board::Shape;
use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{
    BootselRefusal, DeviceToHost, MeasureRefusal, MeasureStep, Refusal, RejectReason, RekeyRefusal,
    ShardStatus,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::link::Endpoint;
use super::peer::Peer;
use crate::fleet_file::{Entry, FleetFileError};

/// Between two attempts to open a line, or to ask a busy board.
const PAUSE: Duration = Duration::from_millis(500);

/// Refusals of a session before giving up. Anybody on the line may refuse in a board's name, and a
/// board that holds another next key refuses until it is asked for the key before it.
const REFUSALS: u32 = 4;

/// Error of a service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum ServiceError {
    /// The board has no key.
    #[error(
        "it has no key: put the output of `openssl rand -hex 32` into `key` in fleet.toml and write \
         it with `gleaner flash`"
    )]
    Unkeyed,
    /// The fleet file cannot be read or written.
    #[error(transparent)]
    FleetFile(#[from] FleetFileError),
    /// The board on the line has another client's shard.
    #[error("the board on this line is client {found}: correct its place, or flash its shard")]
    OtherClient { found: u32 },
    /// One end refused the session.
    #[error("no session: {0}")]
    Refused(Refusal),
    /// The board did not answer in time; `last` is the last thing that happened.
    #[error("no answer within {} s ({last}); run the command again", patience.as_secs())]
    Silent { patience: Duration, last: String },
    /// The system has no randomness for a session.
    #[error("no session: {0}")]
    System(#[from] io::Error),
    /// The board does not restart as a drive.
    #[error("the board refuses to restart as a drive: {0}")]
    BootselRefused(BootselRefusal),
    /// The board does not accept the new key.
    #[error("the board keeps its key: {0}")]
    KeyRefused(RekeyRefusal),
    /// The board was built for another network than the bytes to send.
    #[error(
        "the board was built for a network {network}, which takes {fits} bytes of {what}, not {found}: give the \
         board's scenario (--preset, --scenario, --set), or `gleaner flash` the image of this one"
    )]
    OtherNetwork {
        network: Shape,
        what: &'static str,
        fits: usize,
        found: usize,
    },
    /// The board rejects a transfer.
    #[error("the board rejects the transfer: {0:?}; flash the firmware of this revision")]
    Rejected(RejectReason),
    /// The board refuses a step of a measurement; steps count from 0.
    #[error("step {number}, {step:?}: {reason}")]
    Step {
        number: u32,
        step: MeasureStep,
        reason: MeasureRefusal,
    },
    /// The board answers what it was not asked.
    #[error(
        "the board sent what it was not asked for ({answer}), so none of its answers counts: `gleaner \
         flash` the firmware of this revision"
    )]
    Unasked { answer: String },
    /// An answer of the board does not fit its question; questions and steps count from 0.
    #[error(
        "the board's answer to question {number} is impossible ({problem}), so none of its answers \
         counts: `gleaner flash` the firmware of this revision"
    )]
    WrongAnswer { number: usize, problem: String },
    /// The board reports an impossible network.
    #[error("the board on this line reports an impossible network: {0}")]
    Network(#[from] TooLarge),
    /// The board has no room for a transfer of the measurement plan.
    #[error(
        "transfer_bytes has {bytes}: a board built for a network {network} takes {most} at most; lower it in \
         a plan of your own (`gleaner measure --print-plan > plan.toml`, `--plan plan.toml`)"
    )]
    Transfer {
        bytes: usize,
        most: u32,
        network: Shape,
    },
    /// Marks of a measurement are missing.
    #[error(
        "mark {found} came instead of mark {expected} in step {number}: the line lost its session, \
         or the step was too long for the board's memory; measure again"
    )]
    MarkMissing {
        number: u32,
        expected: u32,
        found: u32,
    },
    /// The session was lost during a measurement.
    #[error("the session was lost in step {number} ({reason}); measure again")]
    Interrupted { number: u32, reason: String },
}

/// Returns the error about a message that nothing asked for.
fn unasked(message: &DeviceToHost) -> ServiceError {
    let answer = format!("{message:?}");
    ServiceError::Unasked { answer }
}

/// A conversation with a board that ends with a result.
trait Service {
    /// Result of the conversation.
    type Output;

    /// Whether the board must hold the shard of its client.
    const CHECKS_CLIENT: bool = true;

    /// Handles an event; returns the result at the end. Refusals and losses of the session do not
    /// come here.
    fn handle(
        &mut self,
        session: &mut Session<'_>,
        event: Event<HostEnd>,
    ) -> Result<Option<Self::Output>, ServiceError>;

    /// Handles the loss of the session or the line.
    fn lost(&mut self, _session: &Session<'_>) -> Result<(), ServiceError> {
        Ok(())
    }

    /// Returns when to call [`Service::retry`] if nothing happens before.
    fn retry_at(&self) -> Option<Instant> {
        None
    }

    /// Tries again what the board was too busy for.
    fn retry(&mut self, _session: &mut Session<'_>) {}
}

/// A line to one board and the session on it.
struct Session<'a> {
    entry: &'a Entry,
    peer: Peer,
    refusals: u32,
    /// The last thing that happened, for the error after a timeout.
    last: String,
}

impl<'a> Session<'a> {
    fn try_new(entry: &'a Entry) -> io::Result<Self> {
        Ok(Self {
            entry,
            peer: Peer::try_new(entry.wire_keys(), entry.timing())?,
            refusals: 0,
            last: "the line was not opened".to_owned(),
        })
    }

    /// Runs a service to its end, for `patience` at most.
    async fn run<S: Service>(
        &mut self,
        endpoint: &Endpoint,
        patience: Duration,
        service: &mut S,
    ) -> Result<S::Output, ServiceError> {
        match timeout(patience, self.converse(endpoint, service)).await {
            Ok(ended) => ended,
            Err(_) => Err(ServiceError::Silent {
                patience,
                last: std::mem::take(&mut self.last),
            }),
        }
    }

    async fn converse<S: Service>(
        &mut self,
        endpoint: &Endpoint,
        service: &mut S,
    ) -> Result<S::Output, ServiceError> {
        let mut attempt = 0;
        loop {
            match endpoint.open(attempt).await {
                Ok(line) => self.peer.plug(line),
                Err(error) => self.last = error.to_string(),
            }
            loop {
                let retry_at = service.retry_at();
                let event = tokio::select! {
                    event = self.peer.next() => event,
                    () = sleep_until(retry_at.unwrap_or_else(Instant::now)), if retry_at.is_some() => {
                        service.retry(self);
                        continue;
                    }
                };
                match event {
                    Ok(event) => {
                        if let Some(output) = self.handle(event, service)? {
                            return Ok(output);
                        }
                    }
                    Err(error) => {
                        if error.kind() != io::ErrorKind::NotConnected {
                            self.last = error.to_string();
                        }
                        break;
                    }
                }
            }
            service.lost(self)?;
            attempt += 1;
            sleep(PAUSE).await;
        }
    }

    fn handle<S: Service>(
        &mut self,
        event: Event<HostEnd>,
        service: &mut S,
    ) -> Result<Option<S::Output>, ServiceError> {
        match &event {
            Event::Connected(greeting) => {
                self.last = "a session is open".to_owned();
                match greeting.about.shard {
                    ShardStatus::Present { client, .. }
                        if S::CHECKS_CLIENT && client != self.entry.id.0 =>
                    {
                        return Err(ServiceError::OtherClient { found: client });
                    }
                    _ => {}
                }
            }
            Event::Refused(refusal) => {
                self.refusals += 1;
                self.last = refusal.to_string();
                return match self.refusals >= REFUSALS {
                    true => Err(ServiceError::Refused(*refusal)),
                    false => Ok(None),
                };
            }
            // The link connects again by itself.
            Event::Lost(reason) => {
                self.last = reason.to_string();
                return service.lost(self).map(|()| None);
            }
            _ => {}
        }
        service.handle(self, event)
    }
}
