//! A board measured, outside of runs: one step of a plan after another, and the marks it tells.

mod plan;

pub use plan::{Plan, PlanError, Step};

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use gleaner_energy::mark::Mark;
use gleaner_learn::train::{FixedModel, TooLarge};
use gleaner_shared::board::Shape;
use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{
    About, DeviceToHost, HostToDevice, MeasureRefusal, MeasureStep, Payload, Refusal, RejectReason,
    ShardStatus,
};
use tokio::time::{sleep, timeout};

use super::link::Endpoint;
use super::peer::Peer;
use crate::fleet_file::Entry;

/// Between two attempts to open a line.
const PAUSE: Duration = Duration::from_millis(500);

/// How often a session may be refused: strangers may refuse in a board's name.
const REFUSALS: u32 = 4;

/// Why a board was not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// Another client's board is on its line.
    #[error("the board on this line is client {found}: correct its place, or flash its shard")]
    OtherClient {
        /// The client of the board's shard.
        found: u32,
    },
    /// No session, and the board or this end said why.
    #[error("no session: {0}")]
    Refused(Refusal),
    /// The board does not take a step.
    #[error("step {number}, {step:?}: {reason}")]
    Step {
        /// Number of the step, from 0.
        number: u32,
        /// The step.
        step: MeasureStep,
        /// Why not.
        reason: MeasureRefusal,
    },
    /// The board does not take a transfer.
    #[error("the board does not take the bytes: {0:?}; flash the firmware of this revision")]
    Rejected(RejectReason),
    /// The board says it trains a network that none does.
    #[error("the board on this line says it was built for another network: {0}")]
    Network(#[from] TooLarge),
    /// The board has no room for a transfer of the plan.
    #[error(
        "transfer_bytes has {bytes}: a board built for a network {network} takes {most} at most; lower it in \
         a plan of your own (`gleaner measure --print-plan > plan.toml`, `--plan plan.toml`)"
    )]
    Transfer {
        /// Bytes there and back.
        bytes: usize,
        /// What the board takes.
        most: u32,
        /// Its network.
        network: Shape,
    },
    /// Marks are missing.
    #[error(
        "mark {found} came where mark {expected} was due, in step {number}: the line lost its \
         session or the step was too long for the board's memory; measure again"
    )]
    Lost {
        /// Number of the step, from 0.
        number: u32,
        /// The mark that was due.
        expected: u32,
        /// The mark that came.
        found: u32,
    },
    /// The session was lost in the middle: what the board did meanwhile is unknown.
    #[error("the session was lost in step {number} ({reason}); measure again")]
    Broken {
        /// Number of the step, from 0.
        number: u32,
        /// Why.
        reason: String,
    },
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

/// What a measurement brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Which image ran.
    pub build: String,
    /// Which board it ran on, by its own word.
    pub board: String,
    /// The supply's voltage, where the board can tell.
    pub millivolts: Option<u16>,
    /// What the board did.
    pub marks: Vec<Mark>,
}

/// Measures a board at `endpoint`: delivers a model of its network, takes all steps and gathers the marks;
/// `watch` is told how many steps are done. Any model does: a step of training costs the same whatever the
/// weights are.
///
/// # Errors
/// Says why not, and in which step.
pub async fn measure(
    entry: &Entry,
    endpoint: &Endpoint,
    steps: Vec<Step>,
    patience: Duration,
    watch: &mut (dyn FnMut(usize) + Send),
) -> Result<Measured, MeasureError> {
    let mut survey = Survey {
        entry,
        peer: Peer::try_new(entry.wire_keys(), entry.timing())?,
        model: None,
        has_model: false,
        steps: steps.into(),
        number: 0,
        begun: false,
        echoed: None,
        supply: false,
        refusals: 0,
        watch,
        last: "the line was not opened".to_owned(),
        found: Measured {
            build: String::new(),
            board: String::new(),
            millivolts: None,
            marks: Vec::new(),
        },
    };
    let held = timeout(patience, survey.hold(endpoint)).await;
    match held {
        Ok(Ok(())) => Ok(survey.found),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(MeasureError::Silent {
            patience,
            last: survey.last,
        }),
    }
}

/// A measurement on its way.
struct Survey<'a> {
    entry: &'a Entry,
    peer: Peer,
    /// The model that goes first, until it arrived.
    model: Option<Arc<[u8]>>,
    has_model: bool,
    steps: VecDeque<Step>,
    /// Number of the step in front.
    number: u32,
    /// Whether a step was taken; from then on all is one session.
    begun: bool,
    /// Bytes of the echo that is on its way back.
    echoed: Option<usize>,
    /// Whether the board told of its supply, the last thing asked.
    supply: bool,
    refusals: u32,
    watch: &'a mut (dyn FnMut(usize) + Send),
    /// What was seen last, for whoever waits in vain.
    last: String,
    found: Measured,
}

impl Survey<'_> {
    async fn hold(&mut self, endpoint: &Endpoint) -> Result<(), MeasureError> {
        let mut attempt = 0;
        loop {
            match endpoint.open(attempt).await {
                Ok(line) => self.peer.plug(line),
                Err(error) => self.last = error.to_string(),
            }
            loop {
                match self.peer.next().await {
                    Ok(event) => self.hear(event)?,
                    Err(error) => {
                        if error.kind() != io::ErrorKind::NotConnected {
                            self.last = error.to_string();
                        }
                        break;
                    }
                }
                if self.supply && self.steps.is_empty() {
                    return Ok(());
                }
            }
            if self.begun {
                return Err(self.broken());
            }
            attempt += 1;
            sleep(PAUSE).await;
        }
    }

    fn broken(&self) -> MeasureError {
        MeasureError::Broken {
            number: self.number,
            reason: self.last.clone(),
        }
    }

    fn hear(&mut self, event: Event<HostEnd>) -> Result<(), MeasureError> {
        match event {
            Event::Connected(greeting) => {
                if let ShardStatus::Present { client, .. } = greeting.about.shard
                    && client != self.entry.id.0
                {
                    return Err(MeasureError::OtherClient { found: client });
                }
                if self.begun {
                    return Err(self.broken());
                }
                self.found.build = greeting.about.build.to_string();
                self.found.board = greeting.about.board.to_string();
                self.last = "a session is open".to_owned();
                self.fit(&greeting.about)?;
                self.go_on();
            }
            Event::Message(message) => self.heard(&message)?,
            Event::Delivered(offer) if offer.payload == Payload::Model => {
                (self.model, self.has_model) = (None, true);
                self.last = "the model arrived".to_owned();
                self.go_on();
            }
            Event::Offered(offer) => {
                // An answer that finds no room is asked for again.
                let _ = match self.echoed {
                    Some(len) if offer.len as usize == len => self.peer.accept(len),
                    _ => self.peer.reject(RejectReason::Unexpected),
                };
            }
            Event::Received(_) if self.echoed.take().is_some() => {
                self.peer.take_received();
                self.done();
            }
            // A board that writes its flash, or tells its marks, is not for long.
            Event::Rejected(_, RejectReason::Busy) | Event::TransferTimedOut(_) => self.go_on(),
            Event::Rejected(_, reason) => return Err(MeasureError::Rejected(reason)),
            Event::Refused(refusal) => {
                self.refusals += 1;
                self.last = refusal.to_string();
                if self.refusals >= REFUSALS {
                    return Err(MeasureError::Refused(refusal));
                }
            }
            Event::Lost(reason) => {
                self.last = reason.to_string();
                if self.begun {
                    return Err(self.broken());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes a model for the board's network, and checks that it has room for what is sent to it.
    fn fit(&mut self, about: &About) -> Result<(), MeasureError> {
        let (network, most) = (about.shape.sizes(), about.largest_transfer);
        let too_long = self.steps.iter().find_map(|step| match step {
            Step::Echo(bytes) if bytes.len() > most as usize => Some(bytes.len()),
            _ => None,
        });
        if let Some(bytes) = too_long {
            return Err(MeasureError::Transfer {
                bytes,
                most,
                network,
            });
        }
        if !self.has_model {
            let mut model = FixedModel::new(network)?;
            model.initialise(1);
            self.model = Some(model.exact().into());
        }
        Ok(())
    }

    fn heard(&mut self, message: &DeviceToHost) -> Result<(), MeasureError> {
        match *message {
            DeviceToHost::Mark(mark) => {
                let expected = self.found.marks.len() as u32;
                // What is left of another measurement.
                if !self.begun {
                    return Ok(());
                }
                if mark.seq != expected {
                    return Err(MeasureError::Lost {
                        number: self.number,
                        expected,
                        found: mark.seq,
                    });
                }
                self.found.marks.push(Mark {
                    seq: mark.seq,
                    phase: mark.phase,
                    t_us: mark.t_us.0,
                    cycles: mark.cycles.0,
                    samples: mark.samples,
                    bytes: mark.bytes,
                    clk_hz: mark.clk_hz,
                });
            }
            DeviceToHost::Measured { number, refused } if number == self.number => {
                match (refused, self.steps.front()) {
                    (None, _) => self.done(),
                    // It ends what it does first.
                    (Some(MeasureRefusal::Busy), _) => self.go_on(),
                    (Some(reason), Some(&Step::Board(step))) => {
                        return Err(MeasureError::Step {
                            number,
                            step,
                            reason,
                        });
                    }
                    _ => {}
                }
            }
            DeviceToHost::Supply(supply) => {
                self.found.millivolts = supply.millivolts;
                self.supply = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn done(&mut self) {
        self.steps.pop_front();
        self.number += 1;
        (self.watch)(self.number as usize);
        self.go_on();
    }

    /// Sends the model if it is not there, or else the step in front. The queue has room: one thing
    /// is said at a time.
    fn go_on(&mut self) {
        let sent = match (&self.model, self.steps.front()) {
            (Some(model), _) => self.peer.offer(Payload::Model, Arc::clone(model)),
            (None, Some(&Step::Board(step))) => {
                self.begun = true;
                let number = self.number;
                self.last = format!("step {number}, {step:?}, is under way");
                self.peer.send(HostToDevice::Measure { number, step })
            }
            (None, Some(Step::Echo(bytes))) => {
                let bytes = Arc::clone(bytes);
                self.echoed = Some(bytes.len());
                self.last = format!("step {}, {} bytes, is under way", self.number, bytes.len());
                self.peer.offer(Payload::Echo, bytes)
            }
            (None, None) => self.peer.send(HostToDevice::Inspect),
        };
        if let Err(error) = sent {
            self.last = error.to_string();
        }
    }
}
