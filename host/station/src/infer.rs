//! Samples classified by a board, outside of runs: one question after another, over as many sessions
//! as it takes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::board::Shape;
use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{
    Classified, DeviceToHost, HostToDevice, InferRefusal, ModelHash, Payload, Refusal,
    RejectReason, SamplePlace, ShardStatus,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::event::EventKind;
use super::link::Endpoint;
use super::peer::Peer;
use crate::fleet_file::Entry;

/// Between two attempts to open a line, or to ask a board that is busy.
const PAUSE: Duration = Duration::from_millis(500);

/// How often a session may be refused: strangers may refuse in a board's name.
const REFUSALS: u32 = 4;

/// Why a board was not asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InferError {
    /// Another client's board is on its line.
    #[error("the board on this line is client {found}: correct its place, or flash its shard")]
    OtherClient {
        /// The client of the board's shard.
        found: u32,
    },
    /// No session, and the board or this end said why.
    #[error("no session: {0}")]
    Refused(Refusal),
    /// The board was built for another network than the bytes it is to be sent.
    #[error(
        "the board was built for a network {network}, which takes {fits} bytes of {what}, not {found}: give the \
         board's scenario (--preset, --scenario, --set), or `gleaner flash` the image of this one"
    )]
    OtherNetwork {
        /// The board's network.
        network: Shape,
        /// What does not fit.
        what: &'static str,
        /// Bytes it takes.
        fits: usize,
        /// Bytes there are.
        found: usize,
    },
    /// The board does not take a transfer.
    #[error("the board does not take the bytes: {0:?}; flash the firmware of this revision")]
    Rejected(RejectReason),
    /// The board was not there, or busy, for long enough.
    #[error("no answer within {} s ({last})", patience.as_secs())]
    Silent {
        /// How long it was waited for.
        patience: Duration,
        /// What was seen last.
        last: String,
    },
    /// The system has no randomness for a session.
    #[error("no session: {0}")]
    System(#[from] io::Error),
}

/// What a board is asked or told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// The class of these pixels.
    Pixels(Arc<[u8]>),
    /// The class of a sample it has.
    Stored(SamplePlace, u32),
    /// What one of its gathered samples is.
    Label(u32, u8),
}

/// What it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A class.
    Classified(Classified),
    /// The label was taken.
    Labelled,
    /// Neither, and why.
    Refused(InferRefusal),
}

/// Asks a board at `endpoint`, after a model was delivered if there is one to deliver; `watch` is told
/// what the board says of its last death.
///
/// # Errors
/// Says why there are not as many answers as questions.
pub async fn infer(
    entry: &Entry,
    endpoint: &Endpoint,
    model: Option<Arc<[u8]>>,
    questions: Vec<Question>,
    patience: Duration,
    watch: &mut (dyn FnMut(EventKind) + Send),
) -> Result<Vec<Answer>, InferError> {
    let mut interview = Interview {
        entry,
        peer: Peer::try_new(entry.wire_keys(), entry.timing())?,
        model,
        questions: questions.into(),
        answers: Vec::new(),
        ask_at: None,
        refusals: 0,
        watch,
        last: "the line was not opened".to_owned(),
    };
    let held = timeout(patience, interview.hold(endpoint)).await;
    match held {
        Ok(Ok(())) => Ok(interview.answers),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(InferError::Silent {
            patience,
            last: interview.last,
        }),
    }
}

/// The questions on their way.
struct Interview<'a> {
    entry: &'a Entry,
    peer: Peer,
    /// The model that goes first.
    model: Option<Arc<[u8]>>,
    questions: VecDeque<Question>,
    answers: Vec<Answer>,
    /// When to ask again a board that was busy.
    ask_at: Option<Instant>,
    refusals: u32,
    watch: &'a mut (dyn FnMut(EventKind) + Send),
    /// What was seen last, for whoever waits in vain.
    last: String,
}

impl Interview<'_> {
    async fn hold(&mut self, endpoint: &Endpoint) -> Result<(), InferError> {
        let mut attempt = 0;
        loop {
            match endpoint.open(attempt).await {
                Ok(line) => self.peer.plug(line),
                Err(error) => self.last = error.to_string(),
            }
            loop {
                let again = self.ask_at.unwrap_or_else(Instant::now);
                let heard = tokio::select! {
                    heard = self.peer.next() => heard,
                    () = sleep_until(again), if self.ask_at.is_some() => {
                        self.ask();
                        continue;
                    }
                };
                match heard {
                    Ok(event) => self.hear(event)?,
                    Err(error) => {
                        if error.kind() != io::ErrorKind::NotConnected {
                            self.last = error.to_string();
                        }
                        break;
                    }
                }
                if self.model.is_none() && self.questions.is_empty() {
                    return Ok(());
                }
            }
            attempt += 1;
            self.ask_at = None;
            sleep(PAUSE).await;
        }
    }

    fn hear(&mut self, event: Event<HostEnd>) -> Result<(), InferError> {
        match event {
            Event::Connected(greeting) => {
                match greeting.about.shard {
                    ShardStatus::Present { client, .. } if client != self.entry.id.0 => {
                        return Err(InferError::OtherClient { found: client });
                    }
                    _ => {}
                }
                self.last = "a session is open".to_owned();
                self.fits(greeting.about.shape.sizes())?;
                self.ask();
            }
            Event::Message(DeviceToHost::Crash(crash)) => (self.watch)(crash.into()),
            Event::Message(message) => self.answered(&message),
            Event::Delivered(offer) if offer.payload == Payload::Model => {
                self.model = None;
                self.last = "the model arrived".to_owned();
                self.ask();
            }
            Event::Rejected(_, RejectReason::Busy) => self.ask_later(InferRefusal::Busy),
            Event::Rejected(_, reason) => return Err(InferError::Rejected(reason)),
            Event::TransferTimedOut(_) => self.ask(),
            Event::Refused(refusal) => {
                self.refusals += 1;
                self.last = refusal.to_string();
                if self.refusals >= REFUSALS {
                    return Err(InferError::Refused(refusal));
                }
            }
            // The link connects again by itself.
            Event::Lost(reason) => {
                self.ask_at = None;
                self.last = reason.to_string();
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that all that is sent is for the board's network.
    fn fits(&self, network: Shape) -> Result<(), InferError> {
        let (whole, sample) = (network.exact_bytes(), network.inputs);
        let models = (self.model.iter()).map(|model| ("a model", whole, model.len()));
        let samples = self.questions.iter().filter_map(|question| match question {
            Question::Pixels(pixels) => Some(("a sample", sample, pixels.len())),
            Question::Stored(..) | Question::Label(..) => None,
        });
        let mut sent = models.chain(samples);
        match sent.find(|(_, fits, found)| fits != found) {
            None => Ok(()),
            Some((what, fits, found)) => Err(InferError::OtherNetwork {
                network,
                what,
                fits,
                found,
            }),
        }
    }

    /// Takes the answer to the question in front; whatever else the board says is of no concern.
    fn answered(&mut self, message: &DeviceToHost) {
        let answer = match (self.questions.front(), message) {
            (_, DeviceToHost::InferRefused(InferRefusal::Busy)) => {
                return self.ask_later(InferRefusal::Busy);
            }
            (Some(Question::Pixels(pixels)), DeviceToHost::Classified(found))
                if found.sample == ModelHash::of(pixels) =>
            {
                Answer::Classified(*found)
            }
            (Some(Question::Stored(..)), DeviceToHost::Classified(found)) => {
                Answer::Classified(*found)
            }
            (Some(&Question::Label(wanted, class)), &DeviceToHost::Labelled { number, label })
                if (wanted, class) == (number, label) =>
            {
                Answer::Labelled
            }
            (Some(_), DeviceToHost::InferRefused(reason)) => Answer::Refused(*reason),
            _ => return,
        };
        self.questions.pop_front();
        self.answers.push(answer);
        self.ask();
    }

    fn ask_later(&mut self, why: InferRefusal) {
        self.last = why.to_string();
        self.ask_at = Some(Instant::now() + PAUSE);
    }

    /// Sends the model if it is not there, or else the question in front. Without room for it in the
    /// queue it is tried again.
    fn ask(&mut self) {
        self.ask_at = None;
        let sent = match (&self.model, self.questions.front()) {
            (Some(model), _) => self.peer.offer(Payload::Model, Arc::clone(model)),
            (None, Some(Question::Pixels(pixels))) => {
                self.peer.offer(Payload::Sample, Arc::clone(pixels))
            }
            (None, Some(&Question::Stored(place, number))) => {
                self.peer.send(HostToDevice::Infer { place, number })
            }
            (None, Some(&Question::Label(number, label))) => {
                self.peer.send(HostToDevice::Label { number, label })
            }
            (None, None) => Ok(()),
        };
        if sent.is_err() {
            self.ask_at = Some(Instant::now() + PAUSE);
        }
    }
}
