//! What is asked of the board: how it begins, waits for the board, and ends.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::message::HostToDevice;

use super::action::{Answer, Output};
use super::echo::{Echo, EchoStep};
use super::machine::Machine;
use super::round::{Scene, Step};
use super::state::{Activity, Errand, Session, Stage, State, Work};
use crate::board::{Closing, RoundWork, WorkResult};
use crate::event::EventKind;

impl Machine {
    /// Carries out a round's work.
    pub(super) fn work(&mut self, job: Box<RoundWork>, out: &mut Output) {
        out.round = Some(job.order.round);
        let whole = job.limits.whole(job.order.epochs);
        let until = self.waits_until(&job, out.now);
        let work = Work {
            mark: job.order.mark(),
            job,
            give_up_at: out.now.saturating_add(whole),
        };
        self.run(Errand::Work { work, until }, out);
    }

    /// Waits for a session.
    pub(super) fn greet(&mut self, limit: Duration, out: &mut Output) {
        let until = out.now.saturating_add(limit);
        self.run(Errand::Greet { until }, out);
    }

    /// Sends bytes there and back.
    pub(super) fn echo(&mut self, bytes: Arc<[u8]>, limit: Duration, out: &mut Output) {
        let (since, until) = (out.now, out.now.saturating_add(limit));
        let echo = Echo {
            bytes,
            since,
            until,
        };
        self.run(Errand::Echo(echo), out);
    }

    /// Closes a round.
    pub(super) fn close(&mut self, closing: &Closing, out: &mut Output) {
        let mark = closing.mark;
        self.books.close(closing);
        // A board that is not there learns of it all from its next provision.
        match closing.rest {
            Some(rest) => out.send(HostToDevice::Order(rest)),
            // It lost its power after it had reported, and with it what it had booked.
            None if self.books.is_behind() => {
                let provision = self.profile.provision(&self.books.standing());
                out.send(HostToDevice::Provision(provision));
            }
            None => {}
        }
        out.send(HostToDevice::Commit {
            mark,
            counted: closing.counted,
        });
        out.answer(Answer::Closed(self.books.standing()));
    }

    /// Begins an errand, at once if the board is there.
    fn run(&mut self, errand: Errand, out: &mut Output) {
        self.state = match self.take() {
            State::Connecting { stage, .. } => State::Connecting {
                stage,
                errand: Some(errand),
            },
            State::Provisioned { session, .. } => self.begin(session, Some(errand), out),
        };
    }

    /// Begins what waited for the session.
    pub(super) fn begin(
        &mut self,
        mut session: Session,
        errand: Option<Errand>,
        out: &mut Output,
    ) -> State {
        session.corrupt = 0;
        let activity = match errand {
            None => Activity::Idle,
            Some(Errand::Greet { .. }) => {
                out.answer(Answer::Greeted(Ok(session.greeting.clone())));
                Activity::Idle
            }
            Some(Errand::Echo(echo)) => Activity::Echo {
                echo,
                step: EchoStep::Offering,
            },
            Some(Errand::Work { work, .. }) => {
                self.absent = false;
                let model = work.job.model.len();
                match self.profile.unfit(&session.greeting.about, model) {
                    Some(wrong) => self.finish(&work, WorkResult::Missing(wrong), out),
                    None => {
                        let step = Step::begin(&mut Scene {
                            work: &work,
                            session: &mut session,
                            books: &mut self.books,
                            out,
                        });
                        Activity::Work { work, step }
                    }
                }
            }
        };
        State::Provisioned { session, activity }
    }

    /// Lets an errand wait for the board, unless it has waited long enough.
    pub(super) fn wait(
        &mut self,
        errand: Errand,
        stage: &Stage,
        out: &mut Output,
    ) -> Option<Errand> {
        match &errand {
            Errand::Work { work, until } if out.now >= *until => {
                self.absent = true;
                let reason = format!("not connected: {}", self.complaint);
                self.finish(work, WorkResult::Missing(reason), out);
            }
            Errand::Work { work, .. } if out.now >= work.give_up_at => {
                self.give_up(work, out);
            }
            Errand::Greet { until } if out.now >= *until => {
                out.answer(Answer::Greeted(match stage {
                    Stage::Greeted(session) => Ok(session.greeting.clone()),
                    Stage::Unplugged { .. } | Stage::Calling => Err(self.complaint.clone()),
                }));
            }
            Errand::Echo(echo) => match echo.overdue(out.now) {
                Some(reason) => out.answer(Answer::Echoed(Err(reason))),
                None => return Some(errand),
            },
            Errand::Work { .. } | Errand::Greet { .. } => return Some(errand),
        }
        None
    }

    /// Ends a round's work that took too long as a whole.
    pub(super) fn give_up(&self, work: &Work, out: &mut Output) -> Activity {
        let reason = format!("not done in time: {}", self.complaint);
        self.finish(work, WorkResult::Missing(reason), out)
    }

    /// Ends a round's work and answers.
    pub(super) fn finish(&self, work: &Work, outcome: WorkResult, out: &mut Output) -> Activity {
        let told = match &outcome {
            WorkResult::Missing(reason) => Some(reason.clone()),
            WorkResult::Declined(reason) => Some(format!("declined: {reason}")),
            WorkResult::Done(..) => None,
        };
        if let Some(reason) = told {
            out.publish(EventKind::Missing { reason });
            // Without a session there is nobody to tell; the next order tells it, too.
            out.send(HostToDevice::Cancel { work: work.mark });
        }
        out.round = None;
        out.answer(Answer::Worked(outcome));
        Activity::Idle
    }
}
