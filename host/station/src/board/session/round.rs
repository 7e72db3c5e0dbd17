//! A round's work in one session: model and order, report, update.

use std::ops::ControlFlow;
use std::time::Duration;

use gleaner_shared::wire::message::{ModelHash, OrderReply, RejectReason, Report};

use super::check;
use super::handover::{Handed, Handover};
use super::io::{Output, Want};
use super::state::{Session, Work};
use crate::board::booking::Booking;
use crate::board::{RoundWork, Upload, WorkResult};
use crate::event::{EventKind, Measured};

/// The progress of a round's work.
#[derive(Debug)]
pub(super) enum Step {
    /// Model and order are being sent.
    HandingOver(Handover),
    /// The board accepted the order and trains.
    Training {
        /// When the modelled radio has delivered the model.
        from: Duration,
    },
    /// The board reported, and its update is expected.
    Uploading {
        report: Box<Report>,
        /// Start of the upload on the modelled radio.
        since: Duration,
    },
    /// The update is here, and is held back until the modelled radio would have delivered it.
    Holding {
        report: Box<Report>,
        update: Vec<u8>,
        at: Duration,
    },
}

/// An input of an activity, checked to concern it.
#[derive(Debug)]
pub(super) enum StepInput {
    /// The message or transfer of `wants` was queued.
    Queued,
    /// The transfer to the board is complete.
    Delivered,
    /// The transfer to the board made no progress for too long.
    Rejected,
    /// The board rejects the transfer.
    Declined(RejectReason),
    /// The board answered an order.
    Replied(OrderReply),
    /// The board reported on an order.
    Reported(Box<Report>),
    /// The expected transfer is complete.
    Received(Vec<u8>),
    /// The expected transfer cannot be used, for this reason.
    Unfit(String),
    /// Time passed, and nothing else happened.
    Time,
}

/// What a step reads and changes.
pub(super) struct StepContext<'a> {
    pub(super) work: &'a Work,
    pub(super) session: &'a mut Session,
    pub(super) booking: &'a mut Booking,
    pub(super) out: &'a mut Output,
}

/// The next step, or the result of the work.
pub(super) type Flow = ControlFlow<WorkResult, Step>;

impl Step {
    /// Starts the work in a session.
    pub(super) fn begin(context: &mut StepContext<'_>) -> Self {
        Self::HandingOver(Handover::begin(context))
    }

    /// Takes the next input. A report is accepted after its order was accepted in this session, and
    /// an update after the report.
    pub(super) fn handle(self, input: StepInput, context: &mut StepContext<'_>) -> Flow {
        let now = context.out.now;
        match (self, input) {
            (Self::HandingOver(handover), input) => match handover.handle(input, context) {
                ControlFlow::Continue(handover) => {
                    ControlFlow::Continue(Self::HandingOver(handover))
                }
                ControlFlow::Break(Handed::Over { from }) => {
                    ControlFlow::Continue(Self::Training { from })
                }
                ControlFlow::Break(Handed::Missing(reason)) => missing(reason),
                ControlFlow::Break(Handed::Declined(reason)) => {
                    ControlFlow::Break(WorkResult::Declined(reason))
                }
            },
            (Self::Training { from }, StepInput::Reported(report))
                if report.work == context.work.mark =>
            {
                Self::trained(report, from, context)
            }
            (Self::Training { .. } | Self::Uploading { .. }, StepInput::Unfit(reason)) => {
                missing(format!("the update did not arrive: {reason}"))
            }
            (Self::Uploading { report, since }, StepInput::Received(update)) => {
                Self::hold(report, update, since, context)
            }
            (Self::Holding { report, update, at }, StepInput::Time) if now >= at => {
                done(report, update, context)
            }
            (step, _) => ControlFlow::Continue(step),
        }
    }

    /// Returns what must be queued before the work continues.
    pub(super) fn wants(&self, job: &RoundWork) -> Option<Want> {
        match self {
            Self::HandingOver(handover) => handover.wants(job),
            Self::Training { .. } | Self::Uploading { .. } | Self::Holding { .. } => None,
        }
    }

    /// Tells whether the update is expected.
    pub(super) const fn is_uploading(&self) -> bool {
        matches!(self, Self::Uploading { .. })
    }

    /// Returns when the step continues if nothing happens before.
    pub(super) const fn wakes_at(&self) -> Option<Duration> {
        match self {
            Self::HandingOver(handover) => handover.wakes_at(),
            Self::Training { .. } | Self::Uploading { .. } => None,
            Self::Holding { at, .. } => Some(*at),
        }
    }

    /// Says what the board had not done when the round's limit was over.
    pub(super) const fn overdue(&self) -> &'static str {
        match self {
            Self::HandingOver(_) => "the model did not arrive in time",
            Self::Training { .. } => "training took too long",
            Self::Uploading { .. } => "the update did not arrive in time",
            Self::Holding { .. } => "the modelled upload ends after the limit",
        }
    }

    /// Handles the report; the modelled radio has delivered the model at `from`.
    fn trained(report: Box<Report>, from: Duration, context: &mut StepContext<'_>) -> Flow {
        let (job, about) = (&context.work.job, &context.session.greeting.about);
        let anomaly = check::anomaly(&report, &job.order, about);
        let refused = match report.trained && anomaly.is_none() {
            true => context.booking.trained(report.ledger),
            false => context.booking.note(report.ledger),
        };
        if let Some(refused) = refused {
            context.out.publish(refused);
        }
        if let Some(what) = anomaly {
            let reason = format!("its report is impossible: {what}");
            context.out.publish(EventKind::Implausible { what });
            return missing(reason);
        }
        let measured = Measured::of(&report);
        context.out.publish(EventKind::Reported(Box::new(measured)));
        if !report.trained {
            return missing("its energy store was empty during training");
        }
        ControlFlow::Continue(Self::Uploading {
            report,
            since: context.out.now.max(from),
        })
    }

    /// Ends the work with the update, but not before the modelled radio would have delivered it.
    fn hold(
        report: Box<Report>,
        update: Vec<u8>,
        since: Duration,
        context: &mut StepContext<'_>,
    ) -> Flow {
        match context.work.job.pace {
            Some((_, up)) if context.out.now < since.saturating_add(up) => {
                ControlFlow::Continue(Self::Holding {
                    report,
                    update,
                    at: since.saturating_add(up),
                })
            }
            _ => done(report, update, context),
        }
    }
}

fn missing(reason: impl Into<String>) -> Flow {
    ControlFlow::Break(WorkResult::Missing(reason.into()))
}

fn done(report: Box<Report>, update: Vec<u8>, context: &mut StepContext<'_>) -> Flow {
    context.out.publish(EventKind::Uploaded {
        bytes: update.len(),
        hash: ModelHash::of(&update).to_string(),
    });
    let upload = Upload {
        bytes: update,
        exact: context.session.greeting.about.exact,
    };
    ControlFlow::Break(WorkResult::Done(report, upload))
}
