//! Handling of incoming frames in an open session.

use super::{Channel, KEEP_ALIVE_TOKEN};
use crate::units::Micros;
use crate::wire::frame::{Frame, Kind};
use crate::wire::link::reliable::Verdict;
use crate::wire::link::session::{Opened, Rejected};
use crate::wire::link::timing::Retry;
use crate::wire::link::{End, Event};
use crate::wire::message::{self, LinkMessage, RejectReason};
use crate::wire::transfer::{Chunk, ChunkOutcome, Heard};

impl<E: End> Channel<E> {
    /// Counts a discarded frame; reported to the peer from time to time.
    pub(in crate::wire::link) fn damaged(&mut self, now: Micros) {
        if self.session.is_some() && self.nack_due.is_none() {
            let next = self.nacked_at.saturating_add(self.timing.retry_max);
            self.nack_due = Some(next.max(now));
        }
    }

    /// Handles a frame that carries this session's number.
    pub(in crate::wire::link) fn take(
        &mut self,
        now: Micros,
        frame: Frame<'_>,
        store: &mut [u8],
    ) -> Option<Event<E>> {
        match self.session.as_mut()?.admit(frame) {
            Ok(opened) => self.take_opened(now, opened, store),
            Err(rejected) => {
                self.count(rejected);
                None
            }
        }
    }

    /// Counts a frame that is not accepted.
    pub(in crate::wire::link) fn count(&mut self, rejected: Rejected) {
        let counter = match rejected {
            Rejected::Forged => &mut self.counters.forged,
            Rejected::Replayed => &mut self.counters.replayed,
        };
        *counter = counter.saturating_add(1);
    }

    /// Handles a frame that the session accepted.
    pub(in crate::wire::link) fn take_opened(
        &mut self,
        now: Micros,
        Opened { kind, payload }: Opened<'_>,
        store: &mut [u8],
    ) -> Option<Event<E>> {
        self.heard_at = now;
        self.counters.received = self.counters.received.saturating_add(1);
        match kind {
            Kind::Message => {
                let message = self.decode(payload)?;
                self.deliver(now, message)
            }
            Kind::Reliable => self.take_reliable(now, payload),
            Kind::Chunk => self.take_chunk(payload, store),
            Kind::Open | Kind::Greeting => {
                self.counters.stray = self.counters.stray.saturating_add(1);
                None
            }
        }
    }

    fn decode(&mut self, payload: &[u8]) -> Option<E::Incoming> {
        let decoded = message::decode(payload).ok();
        if decoded.is_none() {
            self.counters.malformed = self.counters.malformed.saturating_add(1);
        }
        decoded
    }

    fn take_reliable(&mut self, now: Micros, payload: &[u8]) -> Option<Event<E>> {
        let Some((number, rest)) = payload.split_first_chunk() else {
            self.counters.malformed = self.counters.malformed.saturating_add(1);
            return None;
        };
        let number = u16::from_le_bytes(*number);
        match self.inbox.judge(number) {
            Verdict::Deliver => {
                // Not acknowledged if it cannot be decoded: the peer's message then times out.
                let message = self.decode(rest)?;
                self.inbox.delivered();
                self.ack_due = Some(number);
                self.deliver(now, message)
            }
            Verdict::Repeat => {
                self.ack_due = Some(number);
                None
            }
            Verdict::Ignore => None,
        }
    }

    fn take_chunk(&mut self, payload: &[u8], store: &mut [u8]) -> Option<Event<E>> {
        let chunk = Chunk::parse(payload).filter(|_| self.receiving)?;
        let outcome = self.receiver.chunk(&chunk, store);
        let offer = *self.receiver.offer()?;
        let ended = matches!(outcome, ChunkOutcome::Complete | ChunkOutcome::HashMismatch);
        let ours = outcome != ChunkOutcome::Refused;
        self.status_due |= ours && (chunk.status_wanted || ended);
        match outcome {
            ChunkOutcome::Written => {
                let (have, of) = self.receiver.progress();
                Some(Event::ChunkReceived { have, of })
            }
            ChunkOutcome::Complete => Some(Event::Received(offer)),
            ChunkOutcome::HashMismatch => {
                if self.receiver.is_hopeless() {
                    self.receiving = false;
                    self.status_due = false;
                    // With a full queue the sender waits for its timeout.
                    let _ = self.say_reject(&offer, RejectReason::HashMismatch);
                }
                Some(Event::Corrupt(offer))
            }
            ChunkOutcome::Duplicate | ChunkOutcome::Refused => None,
        }
    }

    fn deliver(&mut self, now: Micros, message: E::Incoming) -> Option<Event<E>> {
        let message = match E::link_part(message) {
            Ok(message) => message,
            Err(message) => return Some(Event::Message(message)),
        };
        match message {
            LinkMessage::Ack { number } => self.outbox.acknowledged(number, &self.timing),
            LinkMessage::Nack(nack) => return Some(Event::Nacked(nack)),
            LinkMessage::Ping { token } => self.pong_due = Some(token),
            LinkMessage::Pong { token } if token != KEEP_ALIVE_TOKEN => {
                return Some(Event::Pong { token });
            }
            LinkMessage::Pong { .. } => {}
            LinkMessage::Offer(offer) => {
                self.offered = Some(offer);
                self.receiving = false;
                return Some(Event::Offered(offer));
            }
            LinkMessage::Poll { transfer } => {
                let current = self
                    .receiver
                    .offer()
                    .is_some_and(|o| o.transfer == transfer);
                self.status_due |= self.receiving && current;
            }
            LinkMessage::Status(status) => {
                let sender = self.sender.as_mut()?;
                let offer = *sender.offer();
                let heard = sender.heard(&status);
                let lost = sender.take_lost();
                self.counters.repeated = self.counters.repeated.saturating_add(lost);
                if heard == Heard::Ignored {
                    return None;
                }
                self.progress_at = now;
                self.poll = Retry::after(now, self.timing.answer_after(sender.in_flight()));
                if heard == Heard::Delivered {
                    self.withdraw();
                    return Some(Event::Delivered(offer));
                }
            }
            LinkMessage::Reject { transfer, reason } => {
                let offer = *self.sender.as_ref()?.offer();
                if offer.transfer == transfer {
                    self.withdraw();
                    return Some(Event::Rejected(offer, reason));
                }
            }
        }
        None
    }
}
