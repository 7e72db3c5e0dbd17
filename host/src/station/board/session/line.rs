//! The line and the session on it: how they come and go, and what that means for what was asked.

use std::time::Duration;

use gleaner_shared::wire::message::{Hello, HostToDevice, ShardStatus};

use super::action::Output;
use super::machine::Machine;
use super::state::{Activity, Errand, Session, Stage, State};
use crate::station::board::RoundWork;
use crate::station::event::EventKind;

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

impl Machine {
    /// Takes note of a line.
    pub(super) fn opened(&mut self, place: String, out: &mut Output) {
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
        // Said once: anyone on the line may repeat it without end.
        if self.complaint != reason {
            self.complaint.clone_from(&reason);
            out.publish(EventKind::Refused { reason });
        }
    }

    /// Takes note that the session ended; the link asks for another one by itself.
    pub(super) fn lost(&mut self, reason: String, out: &mut Output) {
        self.complaint.clone_from(&reason);
        out.publish(EventKind::Lost { reason });
        self.start_over(Stage::Calling, out.now);
    }

    /// Tells a board that greeted who it is.
    pub(super) fn greeted(&mut self, hello: Box<Hello>, out: &mut Output) {
        self.absent = false;
        // A gateway may answer for a board that is not there: only the board's own word counts.
        self.reopening = Reopening::default();
        let (samples, shard_crc) = match hello.shard {
            ShardStatus::Present { samples, crc, .. } => (Some(samples), Some(crc)),
            ShardStatus::Absent | ShardStatus::Damaged => (None, None),
        };
        out.publish(EventKind::Connected {
            board: hello.board.as_str().to_owned(),
            build: hello.build.as_str().to_owned(),
            samples,
            shard_crc,
        });
        let provision = self.profile.provision(&self.books.standing());
        // The queue of a new session has room.
        out.send(HostToDevice::Provision(provision));
        self.start_over(Stage::Greeted(Session::new(hello)), out.now);
    }

    /// Leaves whatever session there was; what was under way in it waits for the next one.
    fn start_over(&mut self, stage: Stage, now: Duration) {
        let errand = match self.take() {
            State::Connecting { errand, .. } => errand,
            State::Provisioned { activity, .. } => match activity {
                Activity::Idle => None,
                Activity::Work { work, .. } => {
                    let until = self.waits_until(&work.job, now);
                    Some(Errand::Work { work, until })
                }
                Activity::Echo { echo, .. } => Some(Errand::Echo(echo)),
            },
        };
        self.state = State::Connecting { stage, errand };
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
