//! Has a board classify samples: one question after another, over as many sessions as it takes.
//!
//! An answer counts only if it belongs to the question that is open: it comes after the question was
//! sent and once. Answers carry no number, so the board is asked to [`HostToDevice::Inspect`] itself
//! after each answer; messages of a session keep their order, and anything before the reply that
//! nobody asked for ends the command.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::board::Shape;
use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{
    Classified, DeviceToHost, HostToDevice, InferRefusal, ModelHash, Payload, RejectReason,
    SamplePlace,
};
use tokio::time::Instant;

use super::{PAUSE, Service, ServiceError, Session, unasked};
use crate::event::EventKind;
use crate::fleet_file::Entry;
use crate::link::Endpoint;

/// A question to a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Classify a sample with these pixels.
    Pixels(Arc<[u8]>),
    /// Classify a sample that the board stores.
    Stored(SamplePlace, u32),
    /// Set the label of a gathered sample.
    Label(u32, u8),
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The class of a sample.
    Classified(Classified),
    /// The label is set.
    Labelled,
    /// The board refuses the question.
    Refused(InferRefusal),
}

/// The most cycles that a processor of a board runs in a microsecond: 1 GHz, more than any
/// microcontroller reaches.
const MOST_CYCLES_PER_US: u128 = 1_000;

/// The certain confidence, in units of 2^-16.
const CERTAIN_Q16: u32 = 1 << 16;

/// Asks the board at `endpoint`, after it has received `model` if there is one; `watch` is called
/// with a crash that the board reports.
///
/// # Errors
/// Returns an error unless every question has exactly one answer that fits it.
pub async fn infer(
    entry: &Entry,
    endpoint: &Endpoint,
    model: Option<Arc<[u8]>>,
    questions: Vec<Question>,
    patience: Duration,
    watch: &mut (dyn FnMut(EventKind) + Send),
) -> Result<Vec<Answer>, ServiceError> {
    let most_cycles = patience.as_micros().saturating_mul(MOST_CYCLES_PER_US);
    let mut inference = Inference {
        model,
        delivered: None,
        classes: 0,
        most_cycles: u64::try_from(most_cycles).unwrap_or(u64::MAX),
        questions: questions.into(),
        answers: Vec::new(),
        turn: Turn::Unasked,
        ask_at: None,
        watch,
    };
    let mut session = Session::try_new(entry)?;
    session.run(endpoint, patience, &mut inference).await
}

/// Progress of the first question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The question is to be asked.
    Unasked,
    /// The question was asked.
    Asked,
    /// The last question was answered; the board confirms that it says nothing more.
    Confirming,
}

struct Inference<'a> {
    /// The model to send first, until it has arrived.
    model: Option<Arc<[u8]>>,
    /// Hash of the model that was sent.
    delivered: Option<ModelHash>,
    /// Classes of the board's network.
    classes: u16,
    /// The most cycles that a classification can have taken.
    most_cycles: u64,
    questions: VecDeque<Question>,
    answers: Vec<Answer>,
    turn: Turn,
    /// When to send what found no room, or to ask a busy board again.
    ask_at: Option<Instant>,
    watch: &'a mut (dyn FnMut(EventKind) + Send),
}

impl Service for Inference<'_> {
    type Output = Vec<Answer>;

    fn handle(
        &mut self,
        session: &mut Session<'_>,
        event: Event<HostEnd>,
    ) -> Result<Option<Vec<Answer>>, ServiceError> {
        match event {
            Event::Connected(greeting) => {
                self.check_sizes(greeting.about.shape.sizes())?;
                self.classes = greeting.about.shape.outputs;
                // A board drops the question of an earlier session.
                self.turn = Turn::Unasked;
                self.retry(session);
            }
            Event::Message(DeviceToHost::Crash(crash)) => (self.watch)(crash.into()),
            Event::Message(DeviceToHost::Counters(_)) if self.turn == Turn::Confirming => {
                self.turn = Turn::Unasked;
                self.retry(session);
            }
            Event::Message(message) => self.answered(session, &message)?,
            Event::Delivered(offer) if offer.payload == Payload::Model => {
                self.model = None;
                self.delivered = Some(offer.hash);
                session.last = "the model arrived".to_owned();
                self.retry(session);
            }
            Event::Delivered(_) if self.turn == Turn::Confirming => self.retry(session),
            Event::Rejected(_, RejectReason::Busy) => self.ask_later(session),
            Event::Rejected(_, reason) => return Err(ServiceError::Rejected(reason)),
            // The board may have received it all the same: a new session has no open question.
            Event::TransferTimedOut(_) => session.peer.reconnect(),
            _ => {}
        }
        let asked = self.questions.is_empty() && self.turn == Turn::Unasked;
        let done = self.model.is_none() && asked;
        Ok(done.then(|| std::mem::take(&mut self.answers)))
    }

    fn lost(&mut self, _session: &Session<'_>) -> Result<(), ServiceError> {
        // The session may go on over a new line, until another one is open.
        self.ask_at = None;
        Ok(())
    }

    fn retry_at(&self) -> Option<Instant> {
        self.ask_at
    }

    /// Sends the model if it has not arrived, or else the first question; without room in the queue
    /// it is tried again.
    fn retry(&mut self, session: &mut Session<'_>) {
        let peer = &mut session.peer;
        let sent = match (&self.model, self.questions.front()) {
            // An answer to a sample that has not arrived as a whole came too early: another follows.
            _ if self.turn == Turn::Confirming => match peer.sending() {
                Some(_) => Ok(()),
                None => peer.send(HostToDevice::Inspect),
            },
            (Some(model), _) => peer.offer(Payload::Model, Arc::clone(model)),
            (None, Some(question)) => {
                self.turn = Turn::Asked;
                match question {
                    Question::Pixels(pixels) => peer.offer(Payload::Sample, Arc::clone(pixels)),
                    &Question::Stored(place, number) => {
                        peer.send(HostToDevice::Infer { place, number })
                    }
                    &Question::Label(number, label) => {
                        peer.send(HostToDevice::Label { number, label })
                    }
                }
            }
            (None, None) => Ok(()),
        };
        self.ask_at = sent.is_err().then(|| Instant::now() + PAUSE);
    }
}

impl Inference<'_> {
    /// Checks that model and samples have the sizes of the board's network.
    fn check_sizes(&self, network: Shape) -> Result<(), ServiceError> {
        let (whole, sample) = (network.exact_bytes(), network.inputs);
        let models = (self.model.iter()).map(|model| ("a model", whole, model.len()));
        let samples = self.questions.iter().filter_map(|question| match question {
            Question::Pixels(pixels) => Some(("a sample", sample, pixels.len())),
            Question::Stored(..) | Question::Label(..) => None,
        });
        let mut sent = models.chain(samples);
        match sent.find(|(_, fits, found)| fits != found) {
            None => Ok(()),
            Some((what, fits, found)) => Err(ServiceError::OtherNetwork {
                network,
                what,
                fits,
                found,
            }),
        }
    }

    /// Takes the answer to the first question; messages that are no answers are ignored.
    fn answered(
        &mut self,
        session: &mut Session<'_>,
        message: &DeviceToHost,
    ) -> Result<(), ServiceError> {
        let answer = match *message {
            DeviceToHost::Classified(found) => Answer::Classified(found),
            DeviceToHost::Labelled { .. } => Answer::Labelled,
            DeviceToHost::InferRefused(reason) => Answer::Refused(reason),
            _ => return Ok(()),
        };
        // A question that found no room, or is not on the line yet, has no answer.
        let is_asked = self.ask_at.is_none() && session.peer.is_said();
        let question = match self.questions.front() {
            Some(question) if self.turn == Turn::Asked && is_asked => question,
            _ => return Err(unasked(message)),
        };
        if let Some(problem) = self.problem(question, message) {
            let number = self.answers.len();
            return Err(ServiceError::WrongAnswer { number, problem });
        }
        if answer == Answer::Refused(InferRefusal::Busy) {
            self.ask_later(session);
            return Ok(());
        }
        self.questions.pop_front();
        self.answers.push(answer);
        self.turn = Turn::Confirming;
        session.last = format!("{} questions are answered", self.answers.len());
        self.retry(session);
        Ok(())
    }

    /// Returns why an answer cannot be one to `question`, if it cannot.
    fn problem(&self, question: &Question, answer: &DeviceToHost) -> Option<String> {
        match (question, answer) {
            (Question::Pixels(pixels), DeviceToHost::Classified(found))
                if found.sample != ModelHash::of(pixels) =>
            {
                Some(format!("it is about another sample, {}", found.sample))
            }
            (Question::Pixels(_) | Question::Stored(..), DeviceToHost::Classified(found)) => {
                self.impossible(found)
            }
            (&Question::Label(wanted, class), &DeviceToHost::Labelled { number, label }) => {
                let differs = (wanted, class) != (number, label);
                differs.then(|| format!("sample {number} is labelled {label}"))
            }
            (_, DeviceToHost::InferRefused(reason)) => {
                let fits = match (reason, question) {
                    (InferRefusal::Busy, _)
                    | (InferRefusal::NoModel, Question::Pixels(_) | Question::Stored(..))
                    | (InferRefusal::Size { .. }, Question::Pixels(_))
                    | (InferRefusal::Label { .. }, Question::Label(..)) => true,
                    (InferRefusal::NoSample { place, .. }, Question::Stored(asked, _)) => {
                        place == asked
                    }
                    (InferRefusal::NoSample { place, .. }, Question::Label(..)) => {
                        *place == SamplePlace::Gathered
                    }
                    _ => false,
                };
                (!fits).then(|| format!("it refuses something else: {reason}"))
            }
            _ => Some("it is the answer to another kind of question".to_owned()),
        }
    }

    /// Returns the first impossible value of a classification.
    fn impossible(&self, found: &Classified) -> Option<String> {
        let classes = self.classes;
        let is_class = |class: u8| u16::from(class) < classes;
        let share = f64::from(found.confidence_q16) / f64::from(CERTAIN_Q16);
        if !is_class(found.class) {
            Some(format!("class {} of {classes}", found.class))
        } else if let Some(label) = found.label.filter(|label| !is_class(*label)) {
            Some(format!("label {label} of {classes} classes"))
        } else if found.confidence_q16 > CERTAIN_Q16 {
            Some(format!("a confidence of {share:.1}, at most 1"))
        } else if found.cycles.0 > self.most_cycles {
            Some(format!("{} cycles", found.cycles.0))
        } else if self.delivered.is_some_and(|model| model != found.model) {
            Some(format!("model {} is not the one it was sent", found.model))
        } else {
            None
        }
    }

    /// Asks a busy board again after a pause.
    fn ask_later(&mut self, session: &mut Session<'_>) {
        session.last = InferRefusal::Busy.to_string();
        self.turn = Turn::Unasked;
        self.ask_at = Some(Instant::now() + PAUSE);
    }
}
