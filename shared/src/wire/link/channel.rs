//! What both ends do once a session is open: reliable messages, notices, transfers, timers.

use heapless::Deque;

use super::reliable::{Inbox, Outbox, Verdict};
use super::session::{Rejected, Session};
use super::timing::{Retry, Timing};
use super::{End, Event, LostReason, SendError};
use crate::units::Micros;
use crate::wire::decoder::DamageCounters;
use crate::wire::frame::{Frame, FrameBuffer, Kind, MAX_PAYLOAD};
use crate::wire::message::{
    self, Counters, LinkMessage, ModelHash, Nack, Offer, Payload, RejectReason,
};
use crate::wire::transfer::{Accepted, Chunk, ChunkOutcome, Heard, Receiver, Sender};

/// Notices waiting at most; the oldest gives way.
const NOTICES: usize = 4;
/// Token of pings that only keep the link alive.
const KEEP_ALIVE_TOKEN: u32 = 0;

/// Everything of one end but the handshake.
#[derive(Debug)]
pub(super) struct Channel<E: End> {
    timing: Timing,
    session: Option<Session>,
    outbox: Outbox<E::Outgoing>,
    inbox: Inbox,
    notices: Deque<E::Outgoing, NOTICES>,
    ack_due: Option<u16>,
    pong_due: Option<u32>,
    status_due: bool,
    /// When damage may be complained about again, if there is any.
    nack_due: Option<Micros>,
    nacked_at: Micros,
    opened_at: Micros,
    heard_at: Micros,
    spoken_at: Micros,
    offered: Option<Offer>,
    receiver: Receiver,
    /// Whether the peer's transfer was accepted in this session.
    receiving: bool,
    sender: Option<Sender>,
    poll: Retry,
    progress_at: Micros,
    transfers: u16,
    counters: Counters,
}

impl<E: End> Channel<E> {
    pub(super) fn new(timing: Timing) -> Self {
        Self {
            timing,
            session: None,
            outbox: Outbox::new(),
            inbox: Inbox::default(),
            notices: Deque::new(),
            ack_due: None,
            pong_due: None,
            status_due: false,
            nack_due: None,
            nacked_at: Micros::ZERO,
            opened_at: Micros::ZERO,
            heard_at: Micros::ZERO,
            spoken_at: Micros::ZERO,
            offered: None,
            receiver: Receiver::new(),
            receiving: false,
            sender: None,
            poll: Retry::STOPPED,
            progress_at: Micros::ZERO,
            transfers: 0,
            counters: Counters::default(),
        }
    }

    pub(super) const fn timing(&self) -> &Timing {
        &self.timing
    }

    pub(super) const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    pub(super) const fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Returns the counters with those of the decoder.
    pub(super) const fn counters(&self, damage: &DamageCounters) -> Counters {
        let mut counters = self.counters;
        counters.oversized = damage.oversized;
        counters.damaged = damage.total().saturating_sub(damage.oversized);
        counters
    }

    /// Starts a session with empty queues; only what was received of a transfer is kept.
    pub(super) fn open(&mut self, now: Micros, session: Session) {
        self.close();
        self.session = Some(session);
        self.opened_at = now;
        self.heard_at = now;
        self.spoken_at = now;
        self.counters.sessions = self.counters.sessions.saturating_add(1);
    }

    /// Tells whether the session was opened less than one retry ago.
    pub(super) fn is_new(&self, now: Micros) -> bool {
        self.session.is_some() && now < self.opened_at.saturating_add(self.timing.retry)
    }

    /// Ends the session.
    pub(super) fn close(&mut self) {
        self.session = None;
        self.outbox = Outbox::new();
        self.inbox = Inbox::default();
        self.notices.clear();
        self.ack_due = None;
        self.pong_due = None;
        self.status_due = false;
        self.nack_due = None;
        self.offered = None;
        self.receiving = false;
        self.sender = None;
        self.poll = Retry::STOPPED;
    }

    pub(super) fn send(&mut self, message: E::Outgoing) -> Result<(), SendError> {
        if self.session.is_none() {
            return Err(SendError::NotConnected);
        }
        self.outbox
            .push(message, &self.timing)
            .map_err(|_| SendError::QueueFull)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.outbox.is_empty()
    }

    pub(super) fn notify(&mut self, message: E::Outgoing) {
        if self.session.is_none() {
            return;
        }
        if self.notices.is_full() {
            self.notices.pop_front();
        }
        // Cannot be full: the line above made room.
        let _ = self.notices.push_back(message);
    }

    pub(super) fn offer(
        &mut self,
        now: Micros,
        payload: Payload,
        round: u32,
        source: &[u8],
    ) -> Result<Offer, SendError> {
        if self.sender.is_some() {
            return Err(SendError::TransferInProgress);
        }
        let offer = Offer {
            transfer: self.transfers.wrapping_add(1),
            payload,
            round,
            len: u32::try_from(source.len()).map_err(|_| SendError::Length)?,
            hash: ModelHash::of(source),
        };
        let sender = Sender::new(offer, self.timing.window).ok_or(SendError::Length)?;
        self.send(LinkMessage::Offer(offer).into())?;
        self.transfers = offer.transfer;
        self.sender = Some(sender);
        self.progress_at = now;
        self.poll = Retry::after(now, self.timing.retry_max);
        Ok(offer)
    }

    pub(super) fn withdraw(&mut self) {
        self.sender = None;
        self.poll = Retry::STOPPED;
    }

    pub(super) fn accept(&mut self, store: &[u8]) -> Result<Accepted, SendError> {
        let offer = self.offered.take().ok_or(SendError::NoOffer)?;
        match self.receiver.accept(&offer, store) {
            Ok(accepted) => {
                self.receiving = true;
                self.status_due = true;
                Ok(accepted)
            }
            Err(reason) => {
                self.say_reject(&offer, reason)?;
                Err(SendError::Length)
            }
        }
    }

    pub(super) fn reject(&mut self, reason: RejectReason) -> Result<(), SendError> {
        let offer = self.offered.take().ok_or(SendError::NoOffer)?;
        self.say_reject(&offer, reason)
    }

    fn say_reject(&mut self, offer: &Offer, reason: RejectReason) -> Result<(), SendError> {
        let transfer = offer.transfer;
        self.send(LinkMessage::Reject { transfer, reason }.into())
    }

    pub(super) const fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    pub(super) const fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    pub(super) fn sending(&self) -> Option<(u16, u16)> {
        self.sender.as_ref().map(Sender::progress)
    }

    /// Takes note of a frame that was thrown away; told to the peer now and then.
    pub(super) fn damaged(&mut self, now: Micros) {
        if self.session.is_some() && self.nack_due.is_none() {
            let next = self.nacked_at.saturating_add(self.timing.retry_max);
            self.nack_due = Some(next.max(now));
        }
    }

    /// Takes a frame that carries this session's number.
    pub(super) fn take(
        &mut self,
        now: Micros,
        frame: &Frame<'_>,
        store: &mut [u8],
    ) -> Option<Event<E>> {
        let rejected = match self.session.as_mut()?.admit(frame) {
            Ok(()) => None,
            Err(Rejected::Forged) => Some(&mut self.counters.forged),
            Err(Rejected::Replayed) => Some(&mut self.counters.replayed),
        };
        if let Some(counter) = rejected {
            *counter = counter.saturating_add(1);
            return None;
        }
        self.heard_at = now;
        self.counters.received = self.counters.received.saturating_add(1);
        match frame.header.kind {
            Kind::Message => {
                let message = self.decode(frame.payload)?;
                self.deliver(now, message)
            }
            Kind::Reliable => self.take_reliable(now, frame.payload),
            Kind::Chunk => self.take_chunk(frame.payload, store),
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
                // Not acknowledged unless understood: the peer then sees its message stall.
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
                    // With a full queue the sender is left to its stall time.
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

    /// Returns what time brought.
    pub(super) fn expire(&mut self, now: Micros) -> Option<Event<E>> {
        let session = self.session.as_ref()?;
        let lost = if now >= self.heard_at.saturating_add(self.timing.silence) {
            Some(LostReason::Silence)
        } else if self
            .outbox
            .stalls_at(&self.timing)
            .is_some_and(|at| at <= now)
        {
            Some(LostReason::Unacknowledged)
        } else if session.next_sequence().is_none() {
            Some(LostReason::Exhausted)
        } else {
            None
        };
        if let Some(reason) = lost {
            self.counters.timeouts = self.counters.timeouts.saturating_add(1);
            self.close();
            return Some(Event::Lost(reason));
        }
        let sender = self.sender.as_ref()?;
        if now < self.progress_at.saturating_add(self.timing.stall) {
            return None;
        }
        let offer = *sender.offer();
        self.counters.timeouts = self.counters.timeouts.saturating_add(1);
        self.withdraw();
        Some(Event::TransferTimedOut(offer))
    }

    /// Returns the next frame to put on the line.
    pub(super) fn transmit<'f>(
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

    fn keep_alive_at(&self) -> Micros {
        self.heard_at
            .max(self.spoken_at)
            .saturating_add(self.timing.keep_alive)
    }

    /// Returns when `expire` or `transmit` next have something to do; a time that has passed
    /// means now.
    pub(super) fn next_wake(&self) -> Option<Micros> {
        self.session.as_ref()?;
        let ready = self.ack_due.is_some()
            || self.pong_due.is_some()
            || self.status_due
            || !self.notices.is_empty()
            || self.sender.as_ref().is_some_and(Sender::is_ready);
        if ready {
            return Some(Micros::ZERO);
        }
        let transfer = self.sender.as_ref().and_then(|_| {
            let stalls = self.progress_at.saturating_add(self.timing.stall);
            Some(self.poll.due()?.min(stalls))
        });
        [
            Some(self.heard_at.saturating_add(self.timing.silence)),
            E::KEEPS_ALIVE.then(|| self.keep_alive_at()),
            self.outbox.due(),
            self.outbox.stalls_at(&self.timing),
            self.nack_due,
            transfer,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
