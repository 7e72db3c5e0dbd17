//! Has a board classify samples: one question after another, over as many sessions as it takes.

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

use super::{PAUSE, Service, ServiceError, Session};
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

/// Asks the board at `endpoint`, after it has received `model` if there is one; `watch` is called
/// with a crash that the board reports.
///
/// # Errors
/// Returns an error unless every question is answered.
pub async fn infer(
    entry: &Entry,
    endpoint: &Endpoint,
    model: Option<Arc<[u8]>>,
    questions: Vec<Question>,
    patience: Duration,
    watch: &mut (dyn FnMut(EventKind) + Send),
) -> Result<Vec<Answer>, ServiceError> {
    let mut inference = Inference {
        model,
        questions: questions.into(),
        answers: Vec::new(),
        ask_at: None,
        watch,
    };
    let mut session = Session::try_new(entry)?;
    session.run(endpoint, patience, &mut inference).await
}

struct Inference<'a> {
    /// The model to send first, until it has arrived.
    model: Option<Arc<[u8]>>,
    questions: VecDeque<Question>,
    answers: Vec<Answer>,
    /// When to ask a busy board again.
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
                self.retry(session);
            }
            Event::Message(DeviceToHost::Crash(crash)) => (self.watch)(crash.into()),
            Event::Message(message) => self.answered(session, &message),
            Event::Delivered(offer) if offer.payload == Payload::Model => {
                self.model = None;
                session.last = "the model arrived".to_owned();
                self.retry(session);
            }
            Event::Rejected(_, RejectReason::Busy) => self.ask_later(session),
            Event::Rejected(_, reason) => return Err(ServiceError::Rejected(reason)),
            Event::TransferTimedOut(_) => self.retry(session),
            _ => {}
        }
        let done = self.model.is_none() && self.questions.is_empty();
        Ok(done.then(|| std::mem::take(&mut self.answers)))
    }

    fn lost(&mut self, _session: &Session<'_>) -> Result<(), ServiceError> {
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
            (Some(model), _) => peer.offer(Payload::Model, Arc::clone(model)),
            (None, Some(Question::Pixels(pixels))) => {
                peer.offer(Payload::Sample, Arc::clone(pixels))
            }
            (None, Some(&Question::Stored(place, number))) => {
                peer.send(HostToDevice::Infer { place, number })
            }
            (None, Some(&Question::Label(number, label))) => {
                peer.send(HostToDevice::Label { number, label })
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

    /// Takes the answer to the first question; other messages are ignored.
    fn answered(&mut self, session: &mut Session<'_>, message: &DeviceToHost) {
        let answer = match (self.questions.front(), message) {
            (_, DeviceToHost::InferRefused(InferRefusal::Busy)) => {
                return self.ask_later(session);
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
        self.retry(session);
    }

    fn ask_later(&mut self, session: &mut Session<'_>) {
        session.last = InferRefusal::Busy.to_string();
        self.ask_at = Some(Instant::now() + PAUSE);
    }
}
