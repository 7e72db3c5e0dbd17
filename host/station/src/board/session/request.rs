//! Requests to the board: how they start, wait for the board, and end.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::message::HostToDevice;

use super::echo::{Echo, EchoStep};
use super::io::{Answer, Output};
use super::machine::Machine;
use super::round::{Step, StepContext};
use super::state::{Activity, PendingRequest, Session, Stage, State, Work};
use crate::board::{Closing, RoundWork, SessionError, WorkResult};
use crate::event::EventKind;

impl Machine {
    pub(super) fn work(&mut self, job: Box<RoundWork>, out: &mut Output) {
        out.round = Some(job.order.round);
        let work = Work {
            mark: job.order.mark(),
            give_up_at: out.now.saturating_add(job.limit),
            job,
        };
        self.run(PendingRequest::Work(work), out);
    }

    pub(super) fn greet(&mut self, limit: Duration, out: &mut Output) {
        let until = out.now.saturating_add(limit);
        self.run(PendingRequest::Greet { until }, out);
    }

    pub(super) fn echo(&mut self, bytes: Arc<[u8]>, limit: Duration, out: &mut Output) {
        let (since, until) = (out.now, out.now.saturating_add(limit));
        let echo = Echo {
            bytes,
            since,
            until,
        };
        self.run(PendingRequest::Echo(echo), out);
    }

    pub(super) fn close(&mut self, closing: &Closing, out: &mut Output) {
        let mark = closing.mark;
        if let Some(refused) = self.booking.close(closing) {
            out.publish(refused);
        }
        self.owed |= closing.counted || self.is_provisioned();
        // An absent board learns all this from its next provision.
        match closing.rest {
            Some(rest) if !self.booking.is_refused() => out.send(HostToDevice::Order(rest)),
            // The board lost its power, and with it the ledger, after its report, or its ledger was
            // refused.
            _ if self.booking.is_behind() => {
                let provision = self.profile.provision(&self.booking);
                out.send(HostToDevice::Provision(provision));
            }
            _ => {}
        }
        out.send(HostToDevice::Commit {
            mark,
            counted: closing.counted,
        });
        out.answer(Answer::Closed(self.booking.confirmed()));
    }

    /// Starts a request, at once if the board is provisioned.
    fn run(&mut self, pending: PendingRequest, out: &mut Output) {
        self.state = match self.take() {
            State::Connecting { stage, .. } => State::Connecting {
                stage,
                pending: Some(pending),
            },
            State::Provisioned { session, .. } => self.begin(session, Some(pending), out),
        };
    }

    /// Starts the pending request in a session.
    pub(super) fn begin(
        &mut self,
        mut session: Session,
        pending: Option<PendingRequest>,
        out: &mut Output,
    ) -> State {
        session.corrupt = 0;
        let activity = match pending {
            None => Activity::Idle,
            Some(PendingRequest::Greet { .. }) => {
                out.answer(Answer::Greeted(Ok(session.greeting.clone())));
                Activity::Idle
            }
            Some(PendingRequest::Echo(echo)) => Activity::Echo {
                echo,
                step: EchoStep::Offering,
            },
            Some(PendingRequest::Work(work)) => {
                self.owed = true;
                let (model, code) = (work.job.model.len(), work.job.order.code);
                let unfit = self.profile.unfit(&session.greeting.about, model, code);
                match unfit
                    .map(WorkResult::Missing)
                    .or_else(|| self.reserve(&work, out))
                {
                    Some(outcome) => self.finish(&work, outcome, out),
                    None => {
                        let step = Step::begin(&mut StepContext {
                            work: &work,
                            session: &mut session,
                            booking: &mut self.booking,
                            out,
                        });
                        Activity::Work { work, step }
                    }
                }
            }
        };
        State::Provisioned { session, activity }
    }

    /// Begins the order's round in the booking; declines the order in the board's place if its store
    /// cannot pay for it, which a board with a true ledger would have done.
    fn reserve(&mut self, work: &Work, out: &mut Output) -> Option<WorkResult> {
        let order = &work.job.order;
        if let Some(refused) = self.booking.begin(order) {
            out.publish(refused);
            self.correct(out);
        }
        let shortfall = self.booking.check_reserve(order).err()?;
        let reason = format!("{shortfall}, as the base station books its store");
        Some(WorkResult::Declined(reason))
    }

    /// Keeps a request pending, or ends it at its deadline.
    pub(super) fn wait(
        &mut self,
        pending: PendingRequest,
        stage: &Stage,
        out: &mut Output,
    ) -> Option<PendingRequest> {
        match &pending {
            PendingRequest::Work(work) if out.now >= work.give_up_at => {
                let reason = format!("not connected: {}", self.last_problem);
                self.finish(work, WorkResult::Missing(reason), out);
            }
            PendingRequest::Greet { until } if out.now >= *until => {
                out.answer(Answer::Greeted(match stage {
                    Stage::Greeted(session) => Ok(session.greeting.clone()),
                    Stage::Unplugged { .. } | Stage::Calling => {
                        Err(SessionError::NotConnected(self.last_problem.clone()))
                    }
                }));
            }
            PendingRequest::Echo(echo) => match echo.overdue(out.now) {
                Some(error) => out.answer(Answer::Echoed(Err(error))),
                None => return Some(pending),
            },
            PendingRequest::Work(_) | PendingRequest::Greet { .. } => return Some(pending),
        }
        None
    }

    /// Ends a round's work that nobody waits for any more.
    pub(super) fn recall(&mut self, out: &mut Output) {
        let recalled = || WorkResult::Missing("the round closed without it".to_owned());
        self.state = match self.take() {
            State::Connecting {
                stage,
                pending: Some(PendingRequest::Work(work)),
            } => {
                self.finish(&work, recalled(), out);
                State::Connecting {
                    stage,
                    pending: None,
                }
            }
            State::Provisioned {
                session,
                activity: Activity::Work { work, .. },
            } => State::Provisioned {
                session,
                activity: self.finish(&work, recalled(), out),
            },
            other => other,
        };
    }

    /// Ends a round's work and answers.
    pub(super) fn finish(&self, work: &Work, outcome: WorkResult, out: &mut Output) -> Activity {
        let missing = match &outcome {
            WorkResult::Missing(reason) => Some(reason.clone()),
            WorkResult::Declined(reason) => Some(format!("declined: {reason}")),
            WorkResult::Done(..) => None,
        };
        if let Some(reason) = missing {
            out.publish(EventKind::Missing { reason });
            // Without a session the next order cancels the work, too.
            out.send(HostToDevice::Cancel { work: work.mark });
        }
        out.round = None;
        out.answer(Answer::Worked(outcome));
        Activity::Idle
    }
}
