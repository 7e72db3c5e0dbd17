//! Measures a board: has it take one step of a plan after another, and collects its marks.

pub use super::plan::{InvalidPlan, Plan, Step};

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gleaner_energy::mark::Mark;
use gleaner_learn::train::FixedModel;
use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{
    About, DeviceToHost, HostToDevice, MeasureRefusal, Payload, RejectReason,
};

use super::{Service, ServiceError, Session, unasked};
use crate::fleet_file::Entry;
use crate::link::Endpoint;

/// The most marks of a measurement, far more than the steps of any plan leave.
const MOST_MARKS: usize = 1_000_000;

/// The result of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The firmware's build, as the board reports it.
    pub build: String,
    /// The board, as it reports itself.
    pub board: String,
    /// The supply's voltage, if the board can measure it.
    pub millivolts: Option<u16>,
    /// The marks of all steps, in order.
    pub marks: Vec<Mark>,
}

/// Measures the board at `endpoint`: sends it a model of its network, takes all steps and collects
/// the marks; `watch` is called with the number of steps done. Any model will do, since a training
/// step costs the same whatever the weights are.
///
/// # Errors
/// Returns the reason and the step.
pub async fn measure(
    entry: &Entry,
    endpoint: &Endpoint,
    steps: Vec<Step>,
    patience: Duration,
    watch: &mut (dyn FnMut(usize) + Send),
) -> Result<Measured, ServiceError> {
    let mut measurement = Measurement {
        model: None,
        has_model: false,
        steps: steps.into(),
        number: 0,
        begun: false,
        echoed: None,
        supply: false,
        watch,
        found: Measured::default(),
    };
    let mut session = Session::try_new(entry)?;
    session.run(endpoint, patience, &mut measurement).await
}

struct Measurement<'a> {
    /// The model to send first, until it has arrived.
    model: Option<Arc<[u8]>>,
    has_model: bool,
    steps: VecDeque<Step>,
    /// Number of the first step in `steps`.
    number: u32,
    /// Whether a step was sent; from then on one session must last.
    begun: bool,
    /// The echo that is expected back.
    echoed: Option<Arc<[u8]>>,
    /// Whether the board reported its supply, which is asked last.
    supply: bool,
    watch: &'a mut (dyn FnMut(usize) + Send),
    found: Measured,
}

impl Service for Measurement<'_> {
    type Output = Measured;

    fn handle(
        &mut self,
        session: &mut Session<'_>,
        event: Event<HostEnd>,
    ) -> Result<Option<Measured>, ServiceError> {
        match event {
            Event::Connected(greeting) => {
                self.lost(session)?;
                self.found.build = greeting.about.build.to_string();
                self.found.board = greeting.about.board.to_string();
                self.prepare(&greeting.about)?;
                self.send(session);
            }
            Event::Message(message) => self.message(session, &message)?,
            Event::Delivered(offer) if offer.payload == Payload::Model => {
                (self.model, self.has_model) = (None, true);
                session.last = "the model arrived".to_owned();
                self.send(session);
            }
            Event::Offered(offer) => {
                // The board repeats an offer whose answer found no room.
                let _ = match &self.echoed {
                    Some(bytes) if offer.len as usize == bytes.len() => {
                        session.peer.accept(bytes.len())
                    }
                    _ => session.peer.reject(RejectReason::Unexpected),
                };
            }
            Event::Received(_) => {
                let back = session.peer.take_received();
                match self.echoed.take() {
                    Some(bytes) if *bytes == *back => self.done(session),
                    Some(_) => return Err(self.wrong("it sent other bytes back")),
                    // A transfer is accepted only for an echo.
                    None => {}
                }
            }
            // A board is busy for a moment while it writes its flash or sends its marks.
            Event::Rejected(_, RejectReason::Busy) | Event::TransferTimedOut(_) => {
                self.send(session);
            }
            Event::Rejected(_, reason) => return Err(ServiceError::Rejected(reason)),
            _ => {}
        }
        let done = self.supply && self.steps.is_empty();
        Ok(done.then(|| std::mem::take(&mut self.found)))
    }

    fn lost(&mut self, session: &Session<'_>) -> Result<(), ServiceError> {
        match self.begun {
            true => Err(ServiceError::Interrupted {
                number: self.number,
                reason: session.last.clone(),
            }),
            false => Ok(()),
        }
    }
}

impl Measurement<'_> {
    /// Makes a model for the board's network, and checks that the board has room for every echo.
    fn prepare(&mut self, about: &About) -> Result<(), ServiceError> {
        let (network, most) = (about.shape.sizes(), about.largest_transfer);
        let too_long = self.steps.iter().find_map(|step| match step {
            Step::Echo(bytes) if bytes.len() > most as usize => Some(bytes.len()),
            _ => None,
        });
        if let Some(bytes) = too_long {
            return Err(ServiceError::Transfer {
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

    fn message(
        &mut self,
        session: &mut Session<'_>,
        message: &DeviceToHost,
    ) -> Result<(), ServiceError> {
        match *message {
            // Marks before the first step are left over from another measurement.
            DeviceToHost::Mark(mark) if self.begun => {
                let marks = &self.found.marks;
                let expected = marks.len() as u32;
                if mark.seq != expected {
                    return Err(ServiceError::MarkMissing {
                        number: self.number,
                        expected,
                        found: mark.seq,
                    });
                }
                if marks.last().is_some_and(|last| mark.t_us.0 < last.t_us) {
                    return Err(self.wrong("the clock in its marks went back"));
                }
                if marks.len() >= MOST_MARKS {
                    return Err(self.wrong("it sent too many marks"));
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
            DeviceToHost::Measured { number, refused } => {
                let step = match self.steps.front() {
                    Some(&Step::Board(step)) if number == self.number && self.is_asked(session) => {
                        step
                    }
                    _ => return Err(unasked(message)),
                };
                match refused {
                    None => self.done(session),
                    // The board first finishes what it does.
                    Some(MeasureRefusal::Busy) => self.send(session),
                    Some(reason) => {
                        return Err(ServiceError::Step {
                            number,
                            step,
                            reason,
                        });
                    }
                }
            }
            DeviceToHost::Supply(supply) => {
                if !self.steps.is_empty() || !self.is_asked(session) {
                    return Err(unasked(message));
                }
                self.found.millivolts = supply.millivolts;
                self.supply = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells whether the first step, or the last question, is on the line.
    fn is_asked(&self, session: &Session<'_>) -> bool {
        self.begun && session.peer.is_said()
    }

    fn wrong(&self, problem: &str) -> ServiceError {
        ServiceError::WrongAnswer {
            number: self.number as usize,
            problem: problem.to_owned(),
        }
    }

    fn done(&mut self, session: &mut Session<'_>) {
        self.steps.pop_front();
        self.number += 1;
        (self.watch)(self.number as usize);
        self.send(session);
    }

    /// Sends the model if it has not arrived, or else the first step. The queue has room, since one
    /// message is sent at a time.
    fn send(&mut self, session: &mut Session<'_>) {
        let peer = &mut session.peer;
        let sent = match (&self.model, self.steps.front()) {
            (Some(model), _) => peer.offer(Payload::Model, Arc::clone(model)),
            (None, Some(&Step::Board(step))) => {
                self.begun = true;
                let number = self.number;
                session.last = format!("step {number}, {step:?}, is under way");
                peer.send(HostToDevice::Measure { number, step })
            }
            (None, Some(Step::Echo(bytes))) => {
                let bytes = Arc::clone(bytes);
                self.echoed = Some(Arc::clone(&bytes));
                session.last = format!("step {}, {} bytes, is under way", self.number, bytes.len());
                peer.offer(Payload::Echo, bytes)
            }
            (None, None) => peer.send(HostToDevice::Inspect),
        };
        if let Err(error) = sent {
            session.last = error.to_string();
        }
    }
}
