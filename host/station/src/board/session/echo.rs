//! Bytes sent there and back, over as many sessions as it takes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::message::RejectReason;

use super::handover::{PAUSE, why_rejected};
use super::round::Heard;

/// What is sent, and since when.
#[derive(Debug)]
pub(super) struct Echo {
    /// The bytes.
    pub(super) bytes: Arc<[u8]>,
    /// When it began.
    pub(super) since: Duration,
    /// When it has taken too long.
    pub(super) until: Duration,
}

/// How far an echo has come in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EchoStep {
    /// The bytes are to be offered.
    Offering,
    /// The bytes were offered and are waited for.
    Offered,
    /// The board was busy, and is left alone for a moment.
    Pausing {
        /// Until when.
        until: Duration,
    },
}

impl EchoStep {
    /// Returns when the step must be looked at without anything having happened.
    pub(super) const fn wakes_at(self) -> Option<Duration> {
        match self {
            Self::Pausing { until } => Some(until),
            Self::Offering | Self::Offered => None,
        }
    }
}

impl Echo {
    /// Says that it took too long, if it did.
    pub(super) fn overdue(&self, now: Duration) -> Option<String> {
        let limit = self.until.saturating_sub(self.since);
        (now >= self.until).then(|| format!("no echo within {} s", limit.as_secs()))
    }

    /// Goes on with what was heard; breaks with how long it took, or with what went wrong.
    pub(super) fn hear(
        &self,
        step: EchoStep,
        heard: Heard,
        now: Duration,
    ) -> ControlFlow<Result<Duration, String>, EchoStep> {
        match heard {
            Heard::Queued => ControlFlow::Continue(EchoStep::Offered),
            Heard::Rejected => ControlFlow::Continue(EchoStep::Offering),
            Heard::Declined(RejectReason::Busy) => ControlFlow::Continue(EchoStep::Pausing {
                until: now.saturating_add(PAUSE),
            }),
            Heard::Declined(reason) => ControlFlow::Break(Err(why_rejected(reason).to_owned())),
            Heard::Unfit(reason) => ControlFlow::Break(Err(format!("the echo differs: {reason}"))),
            Heard::Received(back) if back == *self.bytes => {
                ControlFlow::Break(Ok(now.saturating_sub(self.since)))
            }
            Heard::Received(_) => {
                ControlFlow::Break(Err("the echo differs from what was sent".to_owned()))
            }
            Heard::Time => match self.overdue(now) {
                Some(reason) => ControlFlow::Break(Err(reason)),
                None => ControlFlow::Continue(match step {
                    EchoStep::Pausing { until } if now >= until => EchoStep::Offering,
                    step => step,
                }),
            },
            Heard::Delivered | Heard::Replied(_) | Heard::Reported(_) => {
                ControlFlow::Continue(step)
            }
        }
    }
}
