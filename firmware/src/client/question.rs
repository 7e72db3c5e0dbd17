//! Questions about single samples: one open at a time, answered by the runner, which has the cycle
//! counter and the application.

use gleaner_shared::wire::message::{
    DeviceToHost, HostToDevice, InferRefusal, ModelHash, Offer, SamplePlace,
};

use super::{Client, Phase};
use crate::model::INPUTS;
use crate::platform::Platform;

/// A question about a sample, or its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Question {
    /// Asks for the class of the sample that was received.
    Received(ModelHash),
    /// Asks for the class of a stored sample.
    Stored { place: SamplePlace, number: u32 },
    /// Sets the label of a gathered sample.
    Label { number: u32, label: u8 },
}

impl<P: Platform> Client<'_, P> {
    /// Returns the hash of the model the board holds, if any.
    pub const fn model(&self) -> Option<ModelHash> {
        self.model
    }

    /// Answers and ends the open question.
    pub fn conclude(&mut self, answer: DeviceToHost) {
        self.question = None;
        self.answer(answer);
    }

    /// Accepts a question that came as a message.
    pub(super) fn ask(&mut self, message: &HostToDevice) {
        let question = match *message {
            HostToDevice::Infer { place, number } => Question::Stored { place, number },
            HostToDevice::Label { number, label } => Question::Label { number, label },
            _ => return,
        };
        let busy = self.question.is_some() || matches!(self.phase, Phase::Training(_));
        let needs_model = matches!(question, Question::Stored { .. });
        if busy {
            self.refuse(InferRefusal::Busy);
        } else if needs_model && self.model.is_none() {
            self.refuse(InferRefusal::NoModel);
        } else {
            self.question = Some(question);
        }
    }

    /// Accepts a sample that was received completely.
    pub(super) fn take_sample(&mut self, offer: &Offer) {
        if offer.len as usize != INPUTS {
            let expected = INPUTS as u32;
            self.refuse(InferRefusal::Size { expected });
        } else if self.model.is_none() {
            self.refuse(InferRefusal::NoModel);
        } else {
            self.question = Some(Question::Received(offer.hash));
        }
    }

    fn refuse(&mut self, reason: InferRefusal) {
        self.answer(DeviceToHost::InferRefused(reason));
    }
}
