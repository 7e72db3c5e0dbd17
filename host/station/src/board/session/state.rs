//! The states of a board's session, and what is known and under way in each.
//!
//! What only makes sense in one state is a field of that state alone: no session without a
//! greeting, no step of a round without a provisioned session, no step without its job.

use std::time::Duration;

use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{ModelHash, Payload, Progress, WorkMark};

use super::check::{self, Expected};
use super::echo::{Echo, EchoStep};
use super::round::Step;
use crate::board::RoundWork;

/// Where a board's session stands.
#[derive(Debug)]
pub(super) enum State {
    /// The board cannot work yet.
    Connecting {
        /// How far it has come.
        stage: Stage,
        /// What waits for it.
        pending: Option<PendingRequest>,
    },
    /// The board is there and knows who it is.
    Provisioned {
        /// What is known of it.
        session: Session,
        /// What it does.
        activity: Activity,
    },
}

/// The way to a provisioned session.
#[derive(Debug)]
pub(super) enum Stage {
    /// There is no line.
    Unplugged {
        /// When to try to open it.
        reopen_at: Duration,
    },
    /// There is a line, and nobody greeted on it.
    Calling,
    /// The board greeted and was told who it is.
    Greeted(Session),
}

/// What is known since the session opened.
#[derive(Debug)]
pub(super) struct Session {
    /// What the board is.
    pub(super) greeting: Box<Greeting>,
    /// The model the board holds, as far as this session knows.
    pub(super) holds: Option<ModelHash>,
    /// The furthest progress that was told: whose, and epochs.
    told: Option<(WorkMark, u16)>,
    /// How often the hash of a transfer did not fit, for what is under way.
    pub(super) corrupt: u32,
}

impl Session {
    /// Starts with the greeting alone.
    pub(super) const fn new(greeting: Box<Greeting>) -> Self {
        Self {
            greeting,
            holds: None,
            told: None,
            corrupt: 0,
        }
    }
}

/// A round's work, whatever session it is done in.
#[derive(Debug)]
pub(super) struct Work {
    /// What is to be done in the round.
    pub(super) job: Box<RoundWork>,
    /// What tells its order from any other.
    pub(super) mark: WorkMark,
    /// When it has taken too long as a whole: a board that is reset again and again gets through
    /// no phase and exceeds no limit.
    pub(super) give_up_at: Duration,
}

/// What waits for a provisioned session.
#[derive(Debug)]
pub(super) enum PendingRequest {
    /// A round's work.
    Work {
        /// What is to be done in the round.
        work: Work,
        /// How long it waits for the board.
        until: Duration,
    },
    /// Somebody who wants to hear the greeting.
    Greet {
        /// How long.
        until: Duration,
    },
    /// Bytes to be sent there and back.
    Echo(Echo),
}

impl PendingRequest {
    /// Returns when its wait is over.
    pub(super) fn wakes_at(&self) -> Duration {
        match self {
            Self::Work { work, until } => (*until).min(work.give_up_at),
            Self::Greet { until } => *until,
            Self::Echo(echo) => echo.until,
        }
    }
}

/// What is under way in a provisioned session.
#[derive(Debug)]
pub(super) enum Activity {
    /// Nothing.
    Idle,
    /// A round's work.
    Work {
        /// What is to be done in the round.
        work: Work,
        /// How far it has come in this session.
        step: Step,
    },
    /// Bytes are sent there and back.
    Echo {
        /// The bytes.
        echo: Echo,
        /// How far they have come in this session.
        step: EchoStep,
    },
}

impl Activity {
    /// Returns when it must be looked at without anything having happened.
    pub(super) fn wakes_at(&self) -> Option<Duration> {
        match self {
            Self::Idle => None,
            Self::Work { work, step } => Some(step.wakes_at().min(work.give_up_at)),
            Self::Echo { echo, step } => {
                Some(step.wakes_at().map_or(echo.until, |at| at.min(echo.until)))
            }
        }
    }

    /// Returns the transfer it takes from the board.
    pub(super) fn expects(&self) -> Option<Expected> {
        match self {
            Self::Idle => None,
            // Nothing is due before the board has accepted the order and reported on it.
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
    /// Returns the round that is worked on, or that waits for the board.
    pub(super) fn round(&self) -> Option<u32> {
        self.work().map(|work| work.mark.round)
    }

    /// Tells whether a board has come further with its order than was told before.
    pub(super) fn has_grown(&mut self, progress: &Progress) -> bool {
        let wanted = self.work().is_some_and(|it| check::is_of(progress, it));
        let Some(session) = self.session_mut().filter(|_| wanted) else {
            return false;
        };
        let told = session.told.replace((progress.work, progress.epoch));
        match told {
            Some((work, epoch)) if work == progress.work && epoch >= progress.epoch => {
                session.told = told;
                false
            }
            _ => true,
        }
    }

    /// Counts a transfer whose hash does not fit, and returns how many there were for what is
    /// under way.
    pub(super) fn count_corrupt(&mut self) -> u32 {
        self.session_mut().map_or(0, |session| {
            session.corrupt = session.corrupt.saturating_add(1);
            session.corrupt
        })
    }

    /// Returns the work that is under way, or that waits for the board.
    pub(super) fn work(&self) -> Option<&Work> {
        match self {
            Self::Connecting {
                pending: Some(PendingRequest::Work { work, .. }),
                ..
            }
            | Self::Provisioned {
                activity: Activity::Work { work, .. },
                ..
            } => Some(work),
            _ => None,
        }
    }

    /// Returns what is known of the board, while there is a session.
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
