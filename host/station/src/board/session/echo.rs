//! Bytes sent there and back, over as many sessions as it takes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::message::RejectReason;

use super::handover::PAUSE;
use super::round::StepInput;
use crate::board::SessionError;

/// An echo: the bytes, its start and its deadline.
#[derive(Debug)]
pub(super) struct Echo {
    pub(super) bytes: Arc<[u8]>,
    pub(super) since: Duration,
    pub(super) until: Duration,
}

/// The progress of an echo in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EchoStep {
    /// The bytes are to be offered.
    Offering,
    /// The bytes were offered and are expected back.
    Offered,
    /// The board was busy; the bytes are offered again at `until`.
    Pausing { until: Duration },
}

impl EchoStep {
    /// Returns when the step continues if nothing happens before.
    pub(super) const fn wakes_at(self) -> Option<Duration> {
        match self {
            Self::Pausing { until } => Some(until),
            Self::Offering | Self::Offered => None,
        }
    }
}

impl Echo {
    /// Returns an error after the deadline.
    pub(super) fn overdue(&self, now: Duration) -> Option<SessionError> {
        let limit = self.until.saturating_sub(self.since);
        (now >= self.until).then_some(SessionError::EchoTimedOut(limit))
    }

    /// Takes the next input; breaks with the time that the echo took, or with an error.
    pub(super) fn handle(
        &self,
        step: EchoStep,
        input: StepInput,
        now: Duration,
    ) -> ControlFlow<Result<Duration, SessionError>, EchoStep> {
        match input {
            StepInput::Queued => ControlFlow::Continue(EchoStep::Offered),
            StepInput::Rejected => ControlFlow::Continue(EchoStep::Offering),
            StepInput::Declined(RejectReason::Busy) => ControlFlow::Continue(EchoStep::Pausing {
                until: now.saturating_add(PAUSE),
            }),
            StepInput::Declined(reason) => {
                ControlFlow::Break(Err(SessionError::EchoRejected(reason)))
            }
            StepInput::Unfit(reason) => ControlFlow::Break(Err(SessionError::EchoDiffers(reason))),
            StepInput::Received(back) if back == *self.bytes => {
                ControlFlow::Break(Ok(now.saturating_sub(self.since)))
            }
            StepInput::Received(_) => {
                let what = "its bytes are not those that were sent".to_owned();
                ControlFlow::Break(Err(SessionError::EchoDiffers(what)))
            }
            StepInput::Time => match self.overdue(now) {
                Some(error) => ControlFlow::Break(Err(error)),
                None => ControlFlow::Continue(match step {
                    EchoStep::Pausing { until } if now >= until => EchoStep::Offering,
                    step => step,
                }),
            },
            StepInput::Delivered | StepInput::Replied(_) | StepInput::Reported(_) => {
                ControlFlow::Continue(step)
            }
        }
    }
}
