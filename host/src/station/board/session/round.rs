//! A round's work in one session, step by step: model and order, report, update.

use std::ops::ControlFlow;
use std::time::Duration;

use gleaner_shared::wire::message::{ModelHash, OrderReply, RejectReason, Report};

use super::action::{Output, Want};
use super::books::Books;
use super::check;
use super::handover::{Handed, Handover};
use super::state::Session;
use crate::station::board::{RoundWork, WorkResult};
use crate::station::event::{EventKind, Measured};

/// How far a round's work has come.
#[derive(Debug)]
pub(super) enum Step {
    /// Model and order are on their way.
    HandingOver {
        /// How far they have come.
        handover: Handover,
        /// The update, from a board that had done the work before this session.
        early: Option<Vec<u8>>,
    },
    /// The board trains.
    Training {
        /// How long it may.
        until: Duration,
        /// The update, from a board that had done the work before this session.
        early: Option<Vec<u8>>,
    },
    /// The board reported, and its update is on its way.
    Uploading {
        /// The report.
        report: Box<Report>,
        /// Since when.
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
    /// The board reported; the session has the report.
    Reported,
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
    pub(super) job: &'a RoundWork,
    /// What is known of the board.
    pub(super) session: &'a mut Session,
    /// Its books.
    pub(super) books: &'a mut Books,
    /// Where actions go.
    pub(super) out: &'a mut Output,
}

/// The step that follows, or what came of the work.
pub(super) type Flow = ControlFlow<WorkResult, Step>;

impl Step {
    /// Begins the work in a session, from whatever the board has already done.
    pub(super) fn begin(scene: &mut Scene<'_>) -> Self {
        Self::HandingOver {
            handover: Handover::begin(scene),
            early: None,
        }
    }

    /// Goes on with what was heard.
    pub(super) fn hear(self, heard: Heard, scene: &mut Scene<'_>) -> Flow {
        let now = scene.out.now;
        match (self, heard) {
            (Self::HandingOver { handover, .. }, Heard::Received(update)) => {
                ControlFlow::Continue(Self::HandingOver {
                    handover,
                    early: Some(update),
                })
            }
            // Before it took the order this may be left from another one.
            (step @ Self::HandingOver { .. }, Heard::Unfit(_)) => ControlFlow::Continue(step),
            (Self::HandingOver { handover, early }, heard) => match handover.hear(heard, scene) {
                ControlFlow::Continue(handover) => {
                    ControlFlow::Continue(Self::HandingOver { handover, early })
                }
                ControlFlow::Break(Handed::Over) => Self::train(early, scene),
                ControlFlow::Break(Handed::Missing(reason)) => missing(reason),
            },
            (Self::Training { until, .. }, Heard::Received(update)) => {
                ControlFlow::Continue(Self::Training {
                    until,
                    early: Some(update),
                })
            }
            (Self::Training { until, early }, Heard::Reported) => {
                Self::trained(until, early, scene)
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
            (Self::Landing { report, at, .. }, Heard::Received(update)) => {
                ControlFlow::Continue(Self::Landing { report, update, at })
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
            Self::HandingOver { handover, .. } => handover.wants(job),
            Self::Training { .. } | Self::Uploading { .. } | Self::Landing { .. } => None,
        }
    }

    /// Returns when the step must be looked at without anything having happened.
    pub(super) fn wakes_at(&self) -> Duration {
        match self {
            Self::HandingOver { handover, .. } => handover.wakes_at(),
            Self::Training { until, .. } | Self::Uploading { until, .. } => *until,
            Self::Landing { at, .. } => *at,
        }
    }

    /// Waits for the report.
    fn train(early: Option<Vec<u8>>, scene: &mut Scene<'_>) -> Flow {
        let limit = scene.job.limits.training(scene.job.order.epochs);
        Self::trained(scene.out.now.saturating_add(limit), early, scene)
    }

    /// Goes on with the update if the report is here.
    fn trained(until: Duration, early: Option<Vec<u8>>, scene: &mut Scene<'_>) -> Flow {
        let Some(report) = scene.session.report_on(&scene.job.order) else {
            return ControlFlow::Continue(Self::Training { until, early });
        };
        let report = Box::new(*report);
        if let Some(differs) = scene.books.note(report.ledger) {
            scene.out.publish(differs);
        }
        if let Some(what) = check::doubt(&report, &scene.job.order, &scene.session.hello) {
            let reason = format!("its report cannot be: {what}");
            scene.out.publish(EventKind::Implausible { what });
            return missing(reason);
        }
        let measured = Measured::of(&report);
        scene.out.publish(EventKind::Reported(Box::new(measured)));
        if !report.trained {
            return missing("its store ran dry while training");
        }
        let since = scene.out.now;
        match early {
            Some(update) => Self::land(report, update, since, scene),
            None => ControlFlow::Continue(Self::Uploading {
                report,
                since,
                until: since.saturating_add(scene.job.limits.upload),
            }),
        }
    }

    /// Ends with the update, but not before the modelled radio would have.
    fn land(report: Box<Report>, update: Vec<u8>, since: Duration, scene: &mut Scene<'_>) -> Flow {
        match scene.job.pace {
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
    ControlFlow::Break(WorkResult::Done(report, update))
}
