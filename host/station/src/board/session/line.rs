//! The line and the session on it: how they come and go, and what that means for what was asked.

use std::time::Duration;

use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{HostToDevice, ShardStatus};

use super::action::Output;
use super::machine::Machine;
use super::state::{Activity, PendingRequest, Session, Stage, State};
use crate::board::RoundWork;
use crate::event::EventKind;

/// Between two attempts to open a line, at first and at most.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// How long a round waits for a board that an earlier one waited for in vain: long enough for one
/// that is back to be found and to greet.
const RETURN: Duration = Duration::from_secs(10);

/// How long to leave a line alone that could not be opened: twice as long every time.
#[derive(Debug)]
pub(super) struct Reopening(Duration);

impl Default for Reopening {
    fn default() -> Self {
        Self(REOPEN.0)
    }
}

impl Reopening {
    /// Returns the wait, and makes the next one longer.
    fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (2 * wait).min(REOPEN.1);
        wait
    }
}

/// Reasons for a refusal that are told apart on one line; a reason may hold whatever a stranger
/// on the line wrote.
const REASONS: usize = 8;

/// How often a session was refused on a line, by reason. Anyone on the line may refuse without
/// end, and nobody has to prove anything to do so: it is counted, and said when the count has
/// grown sixteen times.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<(String, u64)>);

impl Refusals {
    /// Counts a refusal; returns what is to be said of it, if anything is.
    fn count(&mut self, reason: &str) -> Option<EventKind> {
        let known = self.0.iter().position(|(known, _)| known == reason);
        let at = known.unwrap_or_else(|| {
            if self.0.len() < REASONS {
                self.0.push((reason.to_owned(), 0));
            } else if self.0.len() == REASONS {
                self.0.push(("for ever new reasons".to_owned(), 0));
            }
            self.0.len() - 1
        });
        let (reason, times) = self.0.get_mut(at)?;
        *times = times.saturating_add(1);
        let said = times.is_power_of_two() && times.trailing_zeros().is_multiple_of(4);
        said.then(|| EventKind::Refused {
            reason: reason.clone(),
            times: *times,
        })
    }
}

impl Machine {
    /// Takes note of a line.
    pub(super) fn opened(&mut self, place: String, out: &mut Output) {
        self.refusals = Refusals::default();
        out.publish(EventKind::Opened { place });
        if let State::Connecting { stage, .. } = &mut self.state
            && matches!(stage, Stage::Unplugged { .. })
        {
            *stage = Stage::Calling;
        }
    }

    /// Takes note that there is no line.
    pub(super) fn gone(&mut self, reason: String, out: &mut Output) {
        if self.complaint != reason || self.state.session_mut().is_some() {
            out.publish(EventKind::Gone {
                reason: reason.clone(),
            });
        }
        self.complaint = reason;
        let reopen_at = out.now.saturating_add(self.reopening.next());
        self.start_over(Stage::Unplugged { reopen_at }, out.now);
    }

    /// Takes note that one side does not want the session.
    pub(super) fn refused(&mut self, reason: String, out: &mut Output) {
        if let Some(refused) = self.refusals.count(&reason) {
            out.publish(refused);
        }
        self.complaint = reason;
    }

    /// Takes note that the session ended; the link asks for another one by itself.
    pub(super) fn lost(&mut self, reason: String, out: &mut Output) {
        self.complaint.clone_from(&reason);
        out.publish(EventKind::Lost { reason });
        self.start_over(Stage::Calling, out.now);
    }

    /// Tells a board that greeted who it is.
    pub(super) fn greeted(&mut self, greeting: Box<Greeting>, out: &mut Output) {
        self.absent = false;
        // A gateway may answer for a board that is not there: only the board's own word counts.
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
        self.energy.start_session();
        let provision = self.profile.provision(&self.energy.confirmed());
        // The queue of a new session has room.
        out.send(HostToDevice::Provision(provision));
        self.start_over(Stage::Greeted(Session::new(greeting)), out.now);
    }

    /// Leaves whatever session there was; what was under way in it waits for the next one.
    fn start_over(&mut self, stage: Stage, now: Duration) {
        let pending = match self.take() {
            State::Connecting { pending, .. } => pending,
            State::Provisioned { activity, .. } => match activity {
                Activity::Idle => None,
                Activity::Work { work, .. } => {
                    let until = self.waits_until(&work.job, now);
                    Some(PendingRequest::Work { work, until })
                }
                Activity::Echo { echo, .. } => Some(PendingRequest::Echo(echo)),
            },
        };
        self.state = State::Connecting { stage, pending };
    }

    /// Returns how long a round waits for its board from `now` on; after one that waited in vain
    /// the next ones do not wait as long again.
    pub(super) fn waits_until(&self, job: &RoundWork, now: Duration) -> Duration {
        let limit = job.limits.connect;
        now.saturating_add(match self.absent {
            true => limit.min(RETURN),
            false => limit,
        })
    }
}
