//! The first part of a round's work: sending model and order to the board.
//!
//! A board that holds the previous model is sent the change first. Any other board is sent the
//! order first; its reply says whether it needs the whole model.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::message::{
    DeclineReason, HostToDevice, OrderReply, Payload, RejectReason,
};

use super::io::Want;
use super::round::{StepContext, StepInput};
use crate::board::RoundWork;
use crate::event::EventKind;

/// Orders in one session that the board may decline for lack of the model.
const ORDER_TRIES: u32 = 4;

/// Pause before a transfer is offered again to a busy board.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

/// The transfer of model and order.
#[derive(Debug)]
pub(super) struct Handover {
    since: Duration,
    /// Orders sent in this session.
    tries: u32,
    stage: Stage,
}

/// The progress of a handover.
#[derive(Debug)]
enum Stage {
    /// Bytes are to be offered.
    Offering(Cargo),
    /// Bytes were offered and are being sent.
    Delivering(Cargo),
    /// The board was busy; the bytes are offered again at `at`.
    Pausing { cargo: Cargo, at: Duration },
    /// The order is to be sent.
    Ordering,
    /// The order was sent; the reply is expected.
    Ordered,
}

#[derive(Clone, Debug)]
struct Cargo {
    payload: Payload,
    bytes: Arc<[u8]>,
}

/// How a handover ended.
#[derive(Debug)]
pub(super) enum Handed {
    /// The board accepted the order; the modelled radio would have delivered the model at `from`.
    Over { from: Duration },
    /// The board will not work, for this reason.
    Missing(String),
    /// The board's energy does not suffice; names the shortfall.
    Declined(String),
}

/// The continued handover, or its result.
type Flow = ControlFlow<Handed, Handover>;

impl Handover {
    /// Begins with the change of the model if the board holds the previous model, else with the
    /// order.
    pub(super) fn begin(context: &mut StepContext<'_>) -> Self {
        let handover = Self {
            since: context.out.now,
            tries: 0,
            stage: Stage::Ordering,
        };
        match &context.work.job.update {
            Some((base, change)) if context.session.holds == Some(*base) => {
                handover.offer(Payload::Update, Arc::clone(change), context)
            }
            _ => Self {
                tries: 1,
                ..handover
            },
        }
    }

    /// Takes the next input.
    pub(super) fn handle(self, input: StepInput, context: &mut StepContext<'_>) -> Flow {
        let now = context.out.now;
        match (&self.stage, input) {
            (Stage::Offering(cargo), StepInput::Queued) => {
                let cargo = cargo.clone();
                self.at(Stage::Delivering(cargo))
            }
            (Stage::Delivering(_), StepInput::Delivered) => {
                context.session.holds = None;
                context.out.publish(EventKind::Sent);
                self.try_order()
            }
            // The transfer made no progress for too long.
            (Stage::Delivering(cargo), StepInput::Rejected) => {
                let cargo = cargo.clone();
                self.at(Stage::Offering(cargo))
            }
            // The board is busy with something else.
            (Stage::Delivering(cargo), StepInput::Declined(RejectReason::Busy)) => {
                let (cargo, at) = (cargo.clone(), now.saturating_add(PAUSE));
                self.at(Stage::Pausing { cargo, at })
            }
            (Stage::Delivering(_), StepInput::Declined(reason)) => {
                missing(rejection(reason).to_owned())
            }
            (Stage::Pausing { cargo, at }, StepInput::Time) if now >= *at => {
                let cargo = cargo.clone();
                self.at(Stage::Offering(cargo))
            }
            (Stage::Ordering, StepInput::Queued) => self.at(Stage::Ordered),
            (Stage::Ordered, StepInput::Replied(reply)) if reply.work == context.work.mark => {
                self.replied(&reply, context)
            }
            _ => ControlFlow::Continue(self),
        }
    }

    /// Returns what must be queued before the handover continues.
    pub(super) fn wants(&self, job: &RoundWork) -> Option<Want> {
        match &self.stage {
            Stage::Offering(cargo) => Some(Want::Offer {
                payload: cargo.payload,
                bytes: Arc::clone(&cargo.bytes),
            }),
            Stage::Ordering => Some(Want::Say(HostToDevice::Order(job.order))),
            Stage::Delivering(_) | Stage::Pausing { .. } | Stage::Ordered => None,
        }
    }

    /// Returns when the handover continues if nothing happens before.
    pub(super) const fn wakes_at(&self) -> Option<Duration> {
        match self.stage {
            Stage::Pausing { at, .. } => Some(at),
            _ => None,
        }
    }

    fn at(mut self, stage: Stage) -> Flow {
        self.stage = stage;
        ControlFlow::Continue(self)
    }

    fn offer(self, payload: Payload, bytes: Arc<[u8]>, context: &mut StepContext<'_>) -> Self {
        context.out.publish(EventKind::Sending {
            bytes: bytes.len(),
            whole: payload == Payload::Model,
        });
        Self {
            stage: Stage::Offering(Cargo { payload, bytes }),
            ..self
        }
    }

    /// Sends the order, up to the limit of tries.
    fn try_order(self) -> Flow {
        if self.tries >= ORDER_TRIES {
            return missing("it does not keep the model".to_owned());
        }
        ControlFlow::Continue(Self {
            tries: self.tries + 1,
            stage: Stage::Ordering,
            ..self
        })
    }

    /// Takes the board's reply to the order.
    fn replied(self, reply: &OrderReply, context: &mut StepContext<'_>) -> Flow {
        match &reply.declined {
            None => self.accepted(context),
            Some(DeclineReason::Model) => {
                let model = Arc::clone(&context.work.job.model);
                ControlFlow::Continue(self.offer(Payload::Model, model, context))
            }
            Some(reason @ DeclineReason::Energy(_)) => {
                ControlFlow::Break(Handed::Declined(decline(reason)))
            }
            Some(reason) => missing(format!("declined: {}", decline(reason))),
        }
    }

    /// Ends the handover of an accepted order.
    fn accepted(self, context: &mut StepContext<'_>) -> Flow {
        let job = &context.work.job;
        let order = &job.order;
        context.session.holds = Some(order.model);
        context.out.publish(EventKind::Ordered {
            epochs: order.epochs.into(),
            channel: order.channel.into(),
            power_w: order.power.0 as f64 * 1e-9,
        });
        let down = job.pace.map_or(Duration::ZERO, |(down, _)| down);
        let from = self.since.saturating_add(down);
        ControlFlow::Break(Handed::Over { from })
    }
}

const fn missing(reason: String) -> Flow {
    ControlFlow::Break(Handed::Missing(reason))
}

/// Describes why a board rejected a transfer.
pub(in crate::board) const fn rejection(reason: RejectReason) -> &'static str {
    match reason {
        RejectReason::TooLarge => "it rejects the transfer: more bytes than it has room for",
        RejectReason::Busy => "it rejects the transfer: it is busy",
        RejectReason::Unexpected => "it rejects the transfer: not what it expects",
        RejectReason::HashMismatch => {
            "it rejects the transfer: the hash of what arrives does not fit, again and again"
        }
    }
}

/// Describes why a board declined an order.
fn decline(reason: &DeclineReason) -> String {
    match reason {
        DeclineReason::Energy(shortfall) => shortfall.to_string(),
        DeclineReason::NotProvisioned => "it was not provisioned".to_owned(),
        DeclineReason::Shard(_) => {
            "its shard does not fit; `gleaner flash` says how to make a smaller one".to_owned()
        }
        DeclineReason::Model => "it does not hold the model".to_owned(),
        DeclineReason::Stale { newest } => format!("it has closed round {newest} already"),
        DeclineReason::Invalid => "a field of the order is out of range".to_owned(),
        DeclineReason::OtherRun => "it was provisioned for another run".to_owned(),
    }
}
