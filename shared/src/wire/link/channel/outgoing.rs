//! Choice of the next frame of an open session, most urgent first.

use super::{Channel, KEEP_ALIVE_TOKEN};
use crate::units::Micros;
use crate::wire::decoder::DamageCounters;
use crate::wire::frame::{FrameBuffer, Kind, MAX_PAYLOAD};
use crate::wire::link::End;
use crate::wire::link::timing::Retry;
use crate::wire::message::{self, LinkMessage, Nack};

impl<E: End> Channel<E> {
    /// Returns the next frame for the line.
    pub(in crate::wire::link) fn transmit<'f>(
        &mut self,
        now: Micros,
        source: &[u8],
        frame: &'f mut FrameBuffer,
        damage: &DamageCounters,
    ) -> Option<&'f [u8]> {
        let sequence = self.session.as_ref()?.next_sequence()?;
        let (kind, len) = self
            .next_message(now, frame.payload(), damage)
            .or_else(|| self.next_chunk(now, sequence, source, frame.payload()))
            .or_else(|| self.next_keep_alive(now, frame.payload()))?;
        let session = self.session.as_mut()?;
        let header = session.next_header(E::SENDS, kind)?;
        self.spoken_at = now;
        self.counters.sent = self.counters.sent.saturating_add(1);
        Some(frame.seal(&header, len, session.key()))
    }

    fn next_message(
        &mut self,
        now: Micros,
        payload: &mut [u8; MAX_PAYLOAD],
        damage: &DamageCounters,
    ) -> Option<(Kind, usize)> {
        let link = if let Some(number) = self.ack_due.take() {
            LinkMessage::Ack { number }
        } else if let Some(token) = self.pong_due.take() {
            LinkMessage::Pong { token }
        } else if core::mem::take(&mut self.status_due) {
            let seen = self.session.as_ref()?.seen();
            LinkMessage::Status(self.receiver.status(seen)?)
        } else if let Some((number, repeated, message)) = self.outbox.take_due(now, &self.timing) {
            let (head, body) = payload.split_first_chunk_mut()?;
            *head = number.to_le_bytes();
            let len = head.len() + message::encode(message, body).ok()?;
            self.counters.repeated = self.counters.repeated.saturating_add(u32::from(repeated));
            return Some((Kind::Reliable, len));
        } else if let Some(notice) = self.notices.pop_front() {
            return Some((Kind::Message, message::encode(&notice, payload).ok()?));
        } else if self.sender.is_some() && self.poll.is_due(now) {
            self.poll.back_off(now, self.timing.retry_max);
            self.counters.timeouts = self.counters.timeouts.saturating_add(1);
            let transfer = self.sender.as_ref()?.offer().transfer;
            LinkMessage::Poll { transfer }
        } else if self.nack_due.is_some_and(|due| due <= now) {
            self.nack_due = None;
            self.nacked_at = now;
            LinkMessage::Nack(Nack {
                damaged: damage.total(),
                refused: self.counters.forged.saturating_add(self.counters.replayed),
            })
        } else {
            return None;
        };
        let message = E::Outgoing::from(link);
        Some((Kind::Message, message::encode(&message, payload).ok()?))
    }

    fn next_chunk(
        &mut self,
        now: Micros,
        sequence: u32,
        source: &[u8],
        payload: &mut [u8; MAX_PAYLOAD],
    ) -> Option<(Kind, usize)> {
        let sender = self.sender.as_mut()?;
        let chunk = sender.next_chunk(sequence, source)?;
        self.poll = Retry::after(now, self.timing.answer_after(sender.in_flight()));
        Some((Kind::Chunk, chunk.write(payload)?))
    }

    fn next_keep_alive(
        &mut self,
        now: Micros,
        payload: &mut [u8; MAX_PAYLOAD],
    ) -> Option<(Kind, usize)> {
        if !E::KEEPS_ALIVE || now < self.keep_alive_at() {
            return None;
        }
        let ping = LinkMessage::Ping {
            token: KEEP_ALIVE_TOKEN,
        };
        let message = E::Outgoing::from(ping);
        Some((Kind::Message, message::encode(&message, payload).ok()?))
    }

    pub(super) fn keep_alive_at(&self) -> Micros {
        self.heard_at
            .max(self.spoken_at)
            .saturating_add(self.timing.keep_alive)
    }
}
