//! Transfers from the base station: models, updates, echoes and samples.

use gleaner_shared::mlp::Width;
use gleaner_shared::mlp::code::Code;
use gleaner_shared::wire::link::DeviceLink;
use gleaner_shared::wire::message::{Offer, Payload, RejectReason};
use gleaner_shared::wire::transfer::Accepted;

use super::{Client, Phase};
use crate::exact::hash_of;
use crate::model::{HIDDEN, INPUTS, Memory, OUTPUTS, Params};
use crate::platform::Platform;
use crate::saved::Saved;

impl<P: Platform> Client<'_, P> {
    pub(super) fn answer_offer(
        &mut self,
        link: &mut DeviceLink,
        offer: &Offer,
        memory: Option<&mut Memory>,
    ) {
        let answer = match memory {
            None => link.reject(RejectReason::Busy),
            // A sample is classified in the memory it was received into.
            Some(_) if self.question.is_some() => link.reject(RejectReason::Busy),
            // The model must not change before it is written to flash.
            Some(_) if self.puts_off() => link.reject(RejectReason::Busy),
            // An echo is sent from the memory it was received into.
            Some(_) if matches!(self.phase, Phase::Echoing { .. }) => {
                link.reject(RejectReason::Busy)
            }
            Some(_) if offer.payload == Payload::Echo && self.phase != Phase::Idle => {
                link.reject(RejectReason::Busy)
            }
            Some(memory) => {
                let accepted = link.accept(memory.local.bytes());
                self.receiving = accepted.is_ok();
                // Complete data from an earlier transfer is not sent again; a change must be
                // applied only once.
                if accepted == Ok(Accepted::Complete) && offer.payload != Payload::Update {
                    self.receiving = false;
                    self.receive(offer, memory);
                }
                accepted.map(drop)
            }
        };
        // A full queue drops the answer; the sender asks again.
        let _ = answer;
    }

    /// Returns whether a transfer has to wait until the model is written to flash.
    fn puts_off(&mut self) -> bool {
        self.is_saving() && self.saved.as_mut().is_some_and(Saved::puts_off)
    }

    pub(super) fn receive(&mut self, offer: &Offer, memory: &mut Memory) {
        let bytes = match memory.local.bytes().get(..offer.len as usize) {
            Some(bytes) => bytes,
            None => return,
        };
        if let Some(saved) = &mut self.saved
            && offer.payload != Payload::Echo
        {
            saved.abandon();
        }
        match offer.payload {
            Payload::Model => {
                let taken = memory.global.read_exact(bytes);
                self.model = taken.then_some(offer.hash);
            }
            Payload::Update => {
                let width = [Width::Byte, Width::Wide]
                    .into_iter()
                    .find(|width| width.coded_bytes(Params::COUNT) == bytes.len());
                let code = width.and_then(|width| {
                    Code::<'_, INPUTS, HIDDEN, OUTPUTS>::parse(bytes, width).ok()
                });
                if let Some(code) = code
                    && self.model.is_some()
                {
                    code.apply(&mut memory.global);
                    self.model = Some(hash_of(&memory.global));
                }
            }
            Payload::Echo => {
                self.phase = Phase::Echoing {
                    length: bytes.len(),
                    offered: false,
                };
            }
            Payload::Sample => self.take_sample(offer),
        }
    }
}
