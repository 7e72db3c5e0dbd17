//! The entry points of the state machine: inputs and requests in, actions and deadlines out.

use std::mem;
use std::time::Duration;

use gleaner_shared::wire::message::Payload;

use super::check::Profile;
use super::echo::EchoStep;
use super::io::{Action, Output, Want};
use super::io::{Input, Request};
use super::line::{Refusals, Reopening};
use super::round::StepInput;
use super::state::{Activity, PendingRequest, Stage, State};
use crate::board::ConfirmedState;
use crate::board::booking::Booking;

/// One board's session, without its line and its clock.
#[derive(Debug)]
pub(in crate::board) struct Machine {
    pub(super) profile: Profile,
    pub(super) booking: Booking,
    pub(super) state: State,
    pub(super) reopening: Reopening,
    pub(super) refusals: Refusals,
    /// Whether the board may not know yet how its last work or round ended.
    pub(super) owed: bool,
    /// The last problem, which becomes the reason of an absence.
    pub(super) last_problem: String,
}

impl Machine {
    /// Starts without a line, at the time zero.
    pub(in crate::board) fn new(profile: Profile, confirmed: ConfirmedState) -> Self {
        Self {
            booking: Booking::new(confirmed, profile.bounds),
            profile,
            state: State::Connecting {
                stage: Stage::Unplugged {
                    reopen_at: Duration::ZERO,
                },
                pending: None,
            },
            reopening: Reopening::default(),
            refusals: Refusals::default(),
            owed: false,
            last_problem: "it has not connected yet".to_owned(),
        }
    }

    /// Handles an input at the time `now`, which never goes back, and returns the actions, in order.
    pub(in crate::board) fn handle(&mut self, now: Duration, input: Input) -> Vec<Action> {
        let mut out = self.output(now);
        match input {
            Input::Opened { place } => self.opened(place, &mut out),
            Input::Gone { reason } => self.gone(reason, &mut out),
            Input::Connected(greeting) => self.greeted(greeting, &mut out),
            Input::Refused { reason } => self.refused(reason, &mut out),
            Input::Lost { reason } => self.lost(reason, &mut out),
            Input::Message(message) => self.receive(*message, &mut out),
            Input::Offered(offer) => self.offered(&offer, &mut out),
            Input::Chunk { have, of } => Self::chunk(have, of, &mut out),
            Input::Received(offer, bytes) => self.received(&offer, bytes, &mut out),
            Input::Corrupt(offer) => self.corrupt(&offer, &mut out),
            Input::Delivered => self.advance(StepInput::Delivered, &mut out),
            Input::Declined(reason) => self.advance(StepInput::Declined(reason), &mut out),
            Input::Rejected => self.advance(StepInput::Rejected, &mut out),
            Input::Queued => self.advance(StepInput::Queued, &mut out),
            Input::Recalled => self.recall(&mut out),
            // A provisioned board knows of everything before, too.
            Input::Idle => self.owed &= !self.is_provisioned() || self.is_busy(),
            Input::Time => {}
        }
        // Deadlines come last, so that an input at the last moment is in time.
        self.advance(StepInput::Time, &mut out);
        out.into_actions()
    }

    /// Starts a request and returns the actions, in order; the answer is among the actions of this
    /// turn or of a later one.
    ///
    /// # Errors
    /// Returns the request while another one is not answered.
    #[allow(clippy::result_large_err, reason = "the request is returned whole")]
    pub(in crate::board) fn ask(
        &mut self,
        now: Duration,
        request: Request,
    ) -> Result<Vec<Action>, Request> {
        if self.is_busy() {
            return Err(request);
        }
        let mut out = self.output(now);
        match request {
            Request::Work(job) => self.work(job, &mut out),
            Request::Close(closing) => self.close(&closing, &mut out),
            Request::Restore(confirmed) => self.booking.restore(confirmed),
            Request::Greet(limit) => self.greet(limit, &mut out),
            Request::Echo(bytes, limit) => self.echo(bytes, limit, &mut out),
        }
        self.advance(StepInput::Time, &mut out);
        Ok(out.into_actions())
    }

    /// Tells whether a request is not answered yet.
    pub(in crate::board) const fn is_busy(&self) -> bool {
        match &self.state {
            State::Connecting { pending, .. } => pending.is_some(),
            State::Provisioned { activity, .. } => !matches!(activity, Activity::Idle),
        }
    }

    /// Tells whether the board may not know yet how its last work or round ended.
    pub(in crate::board) const fn owes(&self) -> bool {
        self.owed
    }

    /// Returns what must be queued before the machine continues. It depends on the state alone, so
    /// that nothing is left over from an earlier session or request.
    pub(in crate::board) fn wants(&self) -> Option<Want> {
        let State::Provisioned { activity, .. } = &self.state else {
            return None;
        };
        match activity {
            Activity::Work { work, step } => step.wants(&work.job),
            Activity::Echo {
                echo,
                step: EchoStep::Offering,
            } => Some(Want::Offer {
                payload: Payload::Echo,
                bytes: echo.bytes.clone(),
            }),
            Activity::Echo { .. } | Activity::Idle => None,
        }
    }

    /// Returns when the line is to be opened, while there is none.
    pub(in crate::board) const fn opens_at(&self) -> Option<Duration> {
        match self.state {
            State::Connecting {
                stage: Stage::Unplugged { reopen_at },
                ..
            } => Some(reopen_at),
            _ => None,
        }
    }

    /// Returns when [`Input::Time`] is due, if nothing else happens before.
    pub(in crate::board) fn wakes_at(&self) -> Option<Duration> {
        match &self.state {
            State::Connecting { pending, .. } => pending.as_ref().map(PendingRequest::wakes_at),
            State::Provisioned { activity, .. } => activity.wakes_at(),
        }
    }

    pub(super) const fn is_provisioned(&self) -> bool {
        matches!(self.state, State::Provisioned { .. })
    }

    /// Takes the state out; it is put back before the turn ends.
    pub(super) fn take(&mut self) -> State {
        let placeholder = State::Connecting {
            stage: Stage::Calling,
            pending: None,
        };
        mem::replace(&mut self.state, placeholder)
    }

    fn output(&self, now: Duration) -> Output {
        Output::new(now, self.profile.client, self.state.round())
    }
}
