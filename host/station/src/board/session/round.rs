//! A round's work in one session: model and order, report, update.

use std::ops::ControlFlow;
use std::time::Duration;

use gleaner_shared::wire::message::{ModelHash, OrderReply, RejectReason, Report};

use super::action::{Output, Want};
use super::check;
use super::energy::EnergyTracker;
use super::handover::{Handed, Handover};
use super::state::{Session, Work};
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
        until: Duration,
    },
    /// The board reported, and its update is expected.
    Uploading {
        report: Box<Report>,
        /// Start of the upload on the modelled radio.
        since: Duration,
        until: Duration,
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
pub(super) enum Heard {
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
pub(super) struct Scene<'a> {
    pub(super) work: &'a Work,
    pub(super) session: &'a mut Session,
    pub(super) energy: &'a mut EnergyTracker,
    pub(super) out: &'a mut Output,
}

/// The next step, or the result of the work.
pub(super) type Flow = ControlFlow<WorkResult, Step>;

impl Step {
    /// Starts the work in a session.
    pub(super) fn begin(scene: &mut Scene<'_>) -> Self {
        Self::HandingOver(Handover::begin(scene))
    }

    /// Takes the next input. A report is accepted after its order was accepted in this session, and
    /// an update after the report.
    pub(super) fn hear(self, heard: Heard, scene: &mut Scene<'_>) -> Flow {
        let now = scene.out.now;
        match (self, heard) {
            (Self::HandingOver(handover), heard) => match handover.hear(heard, scene) {
                ControlFlow::Continue(handover) => {
                    ControlFlow::Continue(Self::HandingOver(handover))
                }
                ControlFlow::Break(Handed::Over { from }) => {
                    let limit = scene.work.job.limits.training(scene.work.job.order.epochs);
                    let until = now.saturating_add(limit);
                    ControlFlow::Continue(Self::Training { from, until })
                }
                ControlFlow::Break(Handed::Missing(reason)) => missing(reason),
                ControlFlow::Break(Handed::Declined(reason)) => {
                    ControlFlow::Break(WorkResult::Declined(reason))
                }
            },
            (Self::Training { from, .. }, Heard::Reported(report))
                if report.work == scene.work.mark =>
            {
                Self::trained(report, from, scene)
            }
            (Self::Training { .. } | Self::Uploading { .. }, Heard::Unfit(reason)) => {
                missing(format!("the update did not arrive: {reason}"))
            }
            (Self::Training { until, .. }, Heard::Time) if now >= until => {
                missing("training took too long")
            }
            (Self::Uploading { report, since, .. }, Heard::Received(update)) => {
                Self::hold(report, update, since, scene)
            }
            (Self::Uploading { until, .. }, Heard::Time) if now >= until => {
                missing("the update did not arrive in time")
            }
            (Self::Holding { report, update, at }, Heard::Time) if now >= at => {
                done(report, update, scene)
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
    pub(super) fn wakes_at(&self) -> Duration {
        match self {
            Self::HandingOver(handover) => handover.wakes_at(),
            Self::Training { until, .. } | Self::Uploading { until, .. } => *until,
            Self::Holding { at, .. } => *at,
        }
    }

    /// Handles the report; the modelled radio has delivered the model at `from`.
    fn trained(report: Box<Report>, from: Duration, scene: &mut Scene<'_>) -> Flow {
        if let Some(differs) = scene.energy.note(report.ledger) {
            scene.out.publish(differs);
        }
        let (job, about) = (&scene.work.job, &scene.session.greeting.about);
        if let Some(what) = check::anomaly(&report, &job.order, about) {
            let reason = format!("its report is impossible: {what}");
            scene.out.publish(EventKind::Implausible { what });
            return missing(reason);
        }
        let measured = Measured::of(&report);
        scene.out.publish(EventKind::Reported(Box::new(measured)));
        if !report.trained {
            return missing("its energy store was empty during training");
        }
        let until = scene.out.now.saturating_add(job.limits.upload);
        ControlFlow::Continue(Self::Uploading {
            report,
            since: scene.out.now.max(from),
            until,
        })
    }

    /// Ends the work with the update, but not before the modelled radio would have delivered it.
    fn hold(report: Box<Report>, update: Vec<u8>, since: Duration, scene: &mut Scene<'_>) -> Flow {
        match scene.work.job.pace {
            Some((_, up)) if scene.out.now < since.saturating_add(up) => {
                ControlFlow::Continue(Self::Holding {
                    report,
                    update,
                    at: since.saturating_add(up),
                })
            }
            _ => done(report, update, scene),
        }
    }
}

fn missing(reason: impl Into<String>) -> Flow {
    ControlFlow::Break(WorkResult::Missing(reason.into()))
}

fn done(report: Box<Report>, update: Vec<u8>, scene: &mut Scene<'_>) -> Flow {
    scene.out.publish(EventKind::Uploaded {
        bytes: update.len(),
        hash: ModelHash::of(&update).to_string(),
    });
    let upload = Upload {
        bytes: update,
        exact: scene.session.greeting.about.exact,
    };
    ControlFlow::Break(WorkResult::Done(report, upload))
}
