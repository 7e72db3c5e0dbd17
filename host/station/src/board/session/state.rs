//! The states of a board's session.
//!
//! A value that only makes sense in one state is a field of that state: no session without a
//! greeting, no step of a round without a provisioned session, no step without its job.

use std::time::Duration;

use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{ModelHash, Payload, Progress, WorkMark};

use super::check::{self, Expected};
use super::echo::{Echo, EchoStep};
use super::round::Step;
use crate::board::RoundWork;

/// The state of a board's session.
#[derive(Debug)]
pub(super) enum State {
    /// The board cannot work yet.
    Connecting {
        stage: Stage,
        pending: Option<PendingRequest>,
    },
    /// The board is connected and provisioned.
    Provisioned {
        session: Session,
        activity: Activity,
    },
}

/// The stages before a provisioned session.
#[derive(Debug)]
pub(super) enum Stage {
    /// There is no line; the next attempt to open it is at `reopen_at`.
    Unplugged { reopen_at: Duration },
    /// The line is open, without a greeting.
    Calling,
    /// The board greeted, and the provision was sent.
    Greeted(Session),
}

/// What is known of the board in this session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) greeting: Box<Greeting>,
    /// The model that the board holds, if it is known.
    pub(super) holds: Option<ModelHash>,
    /// The furthest progress that was published: its work and epoch.
    published: Option<(WorkMark, u16)>,
    /// Transfers with a wrong hash in the current request.
    pub(super) corrupt: u32,
}

impl Session {
    pub(super) const fn new(greeting: Box<Greeting>) -> Self {
        Self {
            greeting,
            holds: None,
            published: None,
            corrupt: 0,
        }
    }
}

/// A round's work, over all its sessions.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) job: Box<RoundWork>,
    pub(super) mark: WorkMark,
    /// The deadline, whatever the board does until then.
    pub(super) give_up_at: Duration,
}

/// A request that waits for a provisioned session.
#[derive(Debug)]
pub(super) enum PendingRequest {
    Work(Work),
    Greet { until: Duration },
    Echo(Echo),
}

impl PendingRequest {
    /// Returns the deadline of the wait.
    pub(super) fn wakes_at(&self) -> Duration {
        match self {
            Self::Work(work) => work.give_up_at,
            Self::Greet { until } => *until,
            Self::Echo(echo) => echo.until,
        }
    }
}

/// The current request of a provisioned session.
#[derive(Debug)]
pub(super) enum Activity {
    Idle,
    Work { work: Work, step: Step },
    Echo { echo: Echo, step: EchoStep },
}

impl Activity {
    /// Returns when the activity continues if nothing happens before.
    pub(super) fn wakes_at(&self) -> Option<Duration> {
        match self {
            Self::Idle => None,
            Self::Work { work, step } => {
                let step = step.wakes_at();
                Some(step.map_or(work.give_up_at, |at| at.min(work.give_up_at)))
            }
            Self::Echo { echo, step } => {
                Some(step.wakes_at().map_or(echo.until, |at| at.min(echo.until)))
            }
        }
    }

    /// Returns the transfer that is expected from the board.
    pub(super) fn expects(&self) -> Option<Expected> {
        match self {
            Self::Idle => None,
            // No update is expected before the report.
            Self::Work { work, step } if step.is_uploading() => Some(Expected {
                payload: Payload::Update,
                work: Some(work.mark),
                len: work.job.upload_bytes,
            }),
            Self::Work { .. } => None,
            Self::Echo { echo, .. } => Some(Expected {
                payload: Payload::Echo,
                work: None,
                len: echo.bytes.len(),
            }),
        }
    }
}

impl State {
    /// Returns the round of the current or pending work.
    pub(super) fn round(&self) -> Option<u32> {
        self.work().map(|work| work.mark.round)
    }

    /// Tells whether progress exceeds what was published.
    pub(super) fn has_grown(&mut self, progress: &Progress) -> bool {
        let wanted = self.work().is_some_and(|it| check::is_of(progress, it));
        let Some(session) = self.session_mut().filter(|_| wanted) else {
            return false;
        };
        let published = session.published.replace((progress.work, progress.epoch));
        match published {
            Some((work, epoch)) if work == progress.work && epoch >= progress.epoch => {
                session.published = published;
                false
            }
            _ => true,
        }
    }

    /// Counts a transfer with a wrong hash, and returns their number in the current request.
    pub(super) fn count_corrupt(&mut self) -> u32 {
        self.session_mut().map_or(0, |session| {
            session.corrupt = session.corrupt.saturating_add(1);
            session.corrupt
        })
    }

    /// Returns the current or pending work.
    pub(super) fn work(&self) -> Option<&Work> {
        match self {
            Self::Connecting {
                pending: Some(PendingRequest::Work(work)),
                ..
            }
            | Self::Provisioned {
                activity: Activity::Work { work, .. },
                ..
            } => Some(work),
            _ => None,
        }
    }

    /// Returns the session, if there is one.
    pub(super) const fn session_mut(&mut self) -> Option<&mut Session> {
        match self {
            Self::Connecting {
                stage: Stage::Greeted(session),
                ..
            }
            | Self::Provisioned { session, .. } => Some(session),
            Self::Connecting { .. } => None,
        }
    }
}
