//! Messages and transfers of the board, passed to the request they concern.

use std::ops::ControlFlow;

use gleaner_shared::energy::Snapshot;
use gleaner_shared::wire::message::{DeviceToHost, HostToDevice, Offer, RejectReason};

use super::check::Expected;
use super::io::{Action, Answer, Output};
use super::machine::Machine;
use super::round::{Step, StepContext, StepInput};
use super::state::{Activity, Session, Stage, State, Work};
use crate::board::WorkResult;
use crate::event::EventKind;

/// Hash mismatches of a transfer before giving up: as often as the link asks for its bytes.
const CORRUPT_TRIES: u32 = 4;

impl Machine {
    /// Handles a message; messages about an earlier request are ignored.
    pub(super) fn receive(&mut self, message: DeviceToHost, out: &mut Output) {
        match message {
            DeviceToHost::Provisioned { client, ledger } if client == self.profile.client => {
                self.provisioned(ledger, out);
            }
            DeviceToHost::Provisioned { client, .. } => {
                self.last_problem = format!("it took the provision as client {client}");
            }
            DeviceToHost::OrderReply(reply) => self.advance(StepInput::Replied(reply), out),
            DeviceToHost::Progress(progress) => {
                if self.state.has_grown(&progress) {
                    out.publish(EventKind::Epoch {
                        done: progress.epoch,
                    });
                }
            }
            DeviceToHost::Report(report) => self.advance(StepInput::Reported(Box::new(report)), out),
            DeviceToHost::Cancelled { ledger, .. } => {
                if let Some(refused) = self.booking.note(ledger) {
                    out.publish(refused);
                }
                self.correct(out);
            }
            DeviceToHost::Crash(crash) => out.publish(crash.into()),
            DeviceToHost::Holds { model } => {
                if let Some(session) = self.state.session_mut() {
                    session.holds = Some(model);
                }
            }
            DeviceToHost::FlashUse {
                erases,
                programs,
                closed,
            } => out.publish(EventKind::Flash {
                erases,
                programs,
                closed,
            }),
            DeviceToHost::Link(_)
            | DeviceToHost::Announce { .. }
            | DeviceToHost::Hello(_)
            | DeviceToHost::Refuse(_)
            | DeviceToHost::Counters(_)
            | DeviceToHost::Stack { .. }
            | DeviceToHost::About(_)
            // Only services outside of runs use these.
            | DeviceToHost::Rekeyed { .. }
            | DeviceToHost::RekeyRefused(_)
            | DeviceToHost::Classified(_)
            | DeviceToHost::InferRefused(_)
            | DeviceToHost::Labelled { .. }
            | DeviceToHost::BootselRefused(_)
            | DeviceToHost::Mark(_)
            | DeviceToHost::Measured { .. }
            | DeviceToHost::Supply(_) => {}
        }
    }

    /// Starts the pending request once the board is provisioned.
    fn provisioned(&mut self, ledger: Snapshot, out: &mut Output) {
        if let Some(differs) = self.booking.compare(ledger) {
            out.publish(differs);
        }
        self.correct(out);
        self.state = match self.take() {
            State::Connecting {
                stage: Stage::Greeted(session),
                pending,
            } => self.begin(session, pending, out),
            other => other,
        };
    }

    /// Provisions a board again whose ledger is not the one to continue with.
    pub(super) fn correct(&mut self, out: &mut Output) {
        if self.booking.must_correct() {
            let provision = self.profile.provision(&self.booking);
            out.send(HostToDevice::Provision(provision));
        }
    }

    /// Accepts or rejects an offer of the board. The expected transfer with a wrong length ends the
    /// request, since the board has no other.
    pub(super) fn offered(&mut self, offer: &Offer, out: &mut Output) {
        let admitted = match self.expects() {
            Some(expected) => expected.admit(offer),
            None => Err(RejectReason::Unexpected),
        };
        // The board repeats an offer whose answer found no room.
        out.push(match admitted {
            Ok(len) => Action::Accept { len },
            Err(reason) => Action::Reject(reason),
        });
        if let Some(expected) = self.expects()
            && admitted.is_err()
            && expected.is_it(offer)
        {
            let (found, wanted) = (offer.len, expected.len);
            let reason = format!("it has {found} bytes, not {wanted}");
            self.advance(StepInput::Unfit(reason), out);
        }
    }

    /// Counts a transfer with a wrong hash. The link asks for it again a few times by itself, and
    /// then rejects it.
    pub(super) fn corrupt(&mut self, offer: &Offer, out: &mut Output) {
        let awaited = self.expects().is_some_and(|it| it.admit(offer).is_ok());
        if awaited && self.state.count_corrupt() >= CORRUPT_TRIES {
            let reason = "its bytes do not have the hash they were offered with".to_owned();
            self.advance(StepInput::Unfit(reason), out);
        }
    }

    /// Publishes the progress of a transfer, every eight chunks.
    pub(super) fn chunk(have: u16, of: u16, out: &mut Output) {
        if have.is_multiple_of(8) || have == of {
            out.publish(EventKind::Receiving { have, of });
        }
    }

    /// Takes a complete transfer; one of an earlier request is dropped.
    pub(super) fn received(&mut self, offer: &Offer, bytes: Vec<u8>, out: &mut Output) {
        let expected = self.expects();
        if expected.is_some_and(|expected| expected.admit(offer) == Ok(bytes.len())) {
            self.advance(StepInput::Received(bytes), out);
        }
    }

    fn expects(&self) -> Option<Expected> {
        match &self.state {
            State::Connecting { .. } => None,
            State::Provisioned { activity, .. } => activity.expects(),
        }
    }

    /// Passes an input to the pending or current request.
    pub(super) fn advance(&mut self, input: StepInput, out: &mut Output) {
        self.state = match self.take() {
            State::Connecting { stage, pending } => {
                let pending = match (pending, input) {
                    (Some(pending), StepInput::Time) => self.wait(pending, &stage, out),
                    (pending, _) => pending,
                };
                State::Connecting { stage, pending }
            }
            State::Provisioned {
                mut session,
                activity,
            } => {
                let activity = match activity {
                    Activity::Idle => Activity::Idle,
                    Activity::Work { work, step } => {
                        self.work_on(work, step, input, &mut session, out)
                    }
                    Activity::Echo { echo, step } => match echo.handle(step, input, out.now) {
                        ControlFlow::Continue(step) => Activity::Echo { echo, step },
                        ControlFlow::Break(back) => {
                            out.answer(Answer::Echoed(back));
                            Activity::Idle
                        }
                    },
                };
                State::Provisioned { session, activity }
            }
        };
    }

    /// Passes an input to a round's work.
    fn work_on(
        &mut self,
        work: Work,
        step: Step,
        input: StepInput,
        session: &mut Session,
        out: &mut Output,
    ) -> Activity {
        let is_time = matches!(input, StepInput::Time);
        let context = &mut StepContext {
            work: &work,
            session,
            booking: &mut self.booking,
            out,
        };
        match step.handle(input, context) {
            ControlFlow::Break(outcome) => self.finish(&work, outcome, out),
            ControlFlow::Continue(step) if is_time && out.now >= work.give_up_at => {
                let reason = step.overdue().to_owned();
                self.finish(&work, WorkResult::Missing(reason), out)
            }
            ControlFlow::Continue(step) => Activity::Work { work, step },
        }
    }
}
