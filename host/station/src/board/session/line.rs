//! The line and the session on it: opening, loss, and what that means for the current request.

use std::time::Duration;

use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{HostToDevice, ShardStatus};

use super::io::Output;
use super::machine::Machine;
use super::state::{Activity, PendingRequest, Session, Stage, State};
use crate::board::WorkResult;
use crate::event::EventKind;

/// First and longest pause between two attempts to open a line.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Pause before the next attempt to open a line, doubled every time.
#[derive(Debug)]
pub(super) struct Reopening(Duration);

impl Default for Reopening {
    fn default() -> Self {
        Self(REOPEN.0)
    }
}

impl Reopening {
    /// Returns the pause, and doubles the next one.
    fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (2 * wait).min(REOPEN.1);
        wait
    }
}

/// Distinct reasons for refusals that are counted on one line; anybody on the line may invent one.
const REASONS: usize = 8;

/// Refusals of a session on a line, counted by reason. Anybody on the line may refuse without end,
/// so an event is published only when the count has grown sixteenfold.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<(String, u64)>);

impl Refusals {
    /// Counts a refusal; returns an event if one is due.
    fn count(&mut self, reason: &str) -> Option<EventKind> {
        let known = self.0.iter().position(|(known, _)| known == reason);
        let at = known.unwrap_or_else(|| {
            if self.0.len() < REASONS {
                self.0.push((reason.to_owned(), 0));
            } else if self.0.len() == REASONS {
                self.0.push(("many different reasons".to_owned(), 0));
            }
            self.0.len() - 1
        });
        let (reason, times) = self.0.get_mut(at)?;
        *times = times.saturating_add(1);
        let is_due = times.is_power_of_two() && times.trailing_zeros().is_multiple_of(4);
        is_due.then(|| EventKind::Refused {
            reason: reason.clone(),
            times: *times,
        })
    }
}

impl Machine {
    pub(super) fn opened(&mut self, place: String, out: &mut Output) {
        self.refusals = Refusals::default();
        out.publish(EventKind::Opened { place });
        if let State::Connecting { stage, .. } = &mut self.state
            && matches!(stage, Stage::Unplugged { .. })
        {
            *stage = Stage::Calling;
        }
    }

    pub(super) fn gone(&mut self, reason: String, out: &mut Output) {
        if self.last_problem != reason || self.state.session_mut().is_some() {
            out.publish(EventKind::Gone {
                reason: reason.clone(),
            });
        }
        self.last_problem = reason;
        let reopen_at = out.now.saturating_add(self.reopening.next());
        self.start_over(Stage::Unplugged { reopen_at }, out);
    }

    pub(super) fn refused(&mut self, reason: String, out: &mut Output) {
        if let Some(refused) = self.refusals.count(&reason) {
            out.publish(refused);
        }
        self.last_problem = reason;
    }

    /// Handles the end of a session; the link asks for another one by itself.
    pub(super) fn lost(&mut self, reason: String, out: &mut Output) {
        self.last_problem.clone_from(&reason);
        out.publish(EventKind::Lost { reason });
        self.start_over(Stage::Calling, out);
    }

    /// Provisions a board that greeted.
    pub(super) fn greeted(&mut self, greeting: Box<Greeting>, out: &mut Output) {
        // An open line proves nothing, since a gateway may accept it for an absent board.
        self.reopening = Reopening::default();
        let about = &greeting.about;
        let (samples, shard_crc) = match about.shard {
            ShardStatus::Present { samples, crc, .. } => (Some(samples), Some(crc)),
            ShardStatus::Absent | ShardStatus::Damaged => (None, None),
        };
        out.publish(EventKind::Connected {
            board: about.board.as_str().to_owned(),
            build: about.build.as_str().to_owned(),
            samples,
            shard_crc,
        });
        self.booking.start_session();
        let provision = self.profile.provision(&self.booking);
        // The queue of a new session has room.
        out.send(HostToDevice::Provision(provision));
        self.start_over(Stage::Greeted(Session::new(greeting)), out);
    }

    /// Ends the session; its current request is pending until the next one. Work on trial ends.
    fn start_over(&mut self, stage: Stage, out: &mut Output) {
        let pending = match self.take() {
            State::Connecting { pending, .. } => pending,
            State::Provisioned { activity, .. } => match activity {
                Activity::Idle => None,
                Activity::Work { work, .. } if work.job.on_trial => {
                    let reason = format!("its session ended on trial: {}", self.last_problem);
                    self.finish(&work, WorkResult::Missing(reason), out);
                    None
                }
                Activity::Work { work, .. } => Some(PendingRequest::Work(work)),
                Activity::Echo { echo, .. } => Some(PendingRequest::Echo(echo)),
            },
        };
        self.state = State::Connecting { stage, pending };
    }
}
