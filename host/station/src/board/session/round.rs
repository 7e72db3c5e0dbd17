//! A round's work in one session, step by step: model and order, report, update.

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

/// How far a round's work has come.
#[derive(Debug)]
pub(super) enum Step {
    /// Model and order are on their way.
    HandingOver(Handover),
    /// The board accepted the order and trains.
    Training {
        /// When the modelled radio has brought it the model.
        from: Duration,
        /// How long it may train.
        until: Duration,
    },
    /// The board reported, and its update is on its way.
    Uploading {
        /// The report.
        report: Box<Report>,
        /// Since when, by the modelled radio.
        since: Duration,
        /// How long it may be.
        until: Duration,
    },
    /// The update is here sooner than the modelled radio would have brought it.
    Landing {
        /// The report.
        report: Box<Report>,
        /// The update.
        update: Vec<u8>,
        /// When the modelled radio would have brought it.
        at: Duration,
    },
}

/// What an activity hears; it has been checked to concern it.
#[derive(Debug)]
pub(super) enum Heard {
    /// What was wanted is queued.
    Queued,
    /// The transfer to the board arrived whole.
    Delivered,
    /// The transfer to the board made no progress.
    Rejected,
    /// The board does not want the transfer.
    Declined(RejectReason),
    /// The board answered an order.
    Replied(OrderReply),
    /// The board reported on an order.
    Reported(Box<Report>),
    /// The transfer that was expected is here.
    Received(Vec<u8>),
    /// The transfer that was expected cannot be used, and why.
    Unfit(String),
    /// Nothing but time passed.
    Time,
}

/// What a step is taken with.
pub(super) struct Scene<'a> {
    /// What is to be done in the round.
    pub(super) work: &'a Work,
    /// What is known of the board.
    pub(super) session: &'a mut Session,
    /// Its books.
    pub(super) energy: &'a mut EnergyTracker,
    /// Where actions go.
    pub(super) out: &'a mut Output,
}

/// The step that follows, or what came of the work.
pub(super) type Flow = ControlFlow<WorkResult, Step>;

impl Step {
    /// Begins the work in a session, from whatever the board has already done.
    pub(super) fn begin(scene: &mut Scene<'_>) -> Self {
        Self::HandingOver(Handover::begin(scene))
    }

    /// Goes on with what was heard. A report counts once its order was accepted in this session,
    /// and an update after the report: a board says nothing of work that was not ordered again.
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
                Self::land(report, update, since, scene)
            }
            (Self::Uploading { until, .. }, Heard::Time) if now >= until => {
                missing("the update did not arrive in time")
            }
            (Self::Landing { report, update, at }, Heard::Time) if now >= at => {
                done(report, update, scene)
            }
            (step, _) => ControlFlow::Continue(step),
        }
    }

    /// Returns what must be queued before the work goes on.
    pub(super) fn wants(&self, job: &RoundWork) -> Option<Want> {
        match self {
            Self::HandingOver(handover) => handover.wants(job),
            Self::Training { .. } | Self::Uploading { .. } | Self::Landing { .. } => None,
        }
    }

    /// Tells whether the update is due.
    pub(super) const fn is_uploading(&self) -> bool {
        matches!(self, Self::Uploading { .. })
    }

    /// Returns when the step must be looked at without anything having happened.
    pub(super) fn wakes_at(&self) -> Duration {
        match self {
            Self::HandingOver(handover) => handover.wakes_at(),
            Self::Training { until, .. } | Self::Uploading { until, .. } => *until,
            Self::Landing { at, .. } => *at,
        }
    }

    /// Goes on with the update after the report; the modelled radio has the model there at
    /// `from`.
    fn trained(report: Box<Report>, from: Duration, scene: &mut Scene<'_>) -> Flow {
        if let Some(differs) = scene.energy.note(report.ledger) {
            scene.out.publish(differs);
        }
        let (job, about) = (&scene.work.job, &scene.session.greeting.about);
        if let Some(what) = check::doubt(&report, &job.order, about) {
            let reason = format!("its report cannot be: {what}");
            scene.out.publish(EventKind::Implausible { what });
            return missing(reason);
        }
        let measured = Measured::of(&report);
        scene.out.publish(EventKind::Reported(Box::new(measured)));
        if !report.trained {
            return missing("its store ran dry while training");
        }
        let until = scene.out.now.saturating_add(job.limits.upload);
        ControlFlow::Continue(Self::Uploading {
            report,
            since: scene.out.now.max(from),
            until,
        })
    }

    /// Ends with the update, but not before the modelled radio would have.
    fn land(report: Box<Report>, update: Vec<u8>, since: Duration, scene: &mut Scene<'_>) -> Flow {
        match scene.work.job.pace {
            Some((_, up)) if scene.out.now < since.saturating_add(up) => {
                ControlFlow::Continue(Self::Landing {
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
