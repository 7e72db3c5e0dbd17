//! Common part of both ends once a session is open: reliable messages, notices, transfers, timers.

mod incoming;
mod outgoing;

use heapless::Deque;

use super::reliable::{Inbox, Outbox};
use super::session::Session;
use super::timing::{Retry, Timing};
use super::{End, Event, LostReason, SendError};
use crate::units::Micros;
use crate::wire::decoder::DamageCounters;
use crate::wire::message::{
    Counters, LinkMessage, ModelHash, Offer, Payload, RejectReason, WorkMark,
};
use crate::wire::transfer::{Accepted, Receiver, Sender};

/// Most queued notices; the oldest is dropped.
const NOTICES: usize = 4;
/// Token of pings that only keep the link alive.
const KEEP_ALIVE_TOKEN: u32 = 0;

/// All state of one end but the handshake.
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
    /// When the next damage report may be sent, if there is damage.
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

    /// Opens a session with empty queues; only the received part of a transfer is kept.
    pub(super) fn open(&mut self, now: Micros, session: Session) {
        self.close();
        self.session = Some(session);
        self.opened_at = now;
        self.heard_at = now;
        self.spoken_at = now;
        self.counters.sessions = self.counters.sessions.saturating_add(1);
    }

    /// Returns whether the session was opened less than one retry ago.
    pub(super) fn is_new(&self, now: Micros) -> bool {
        self.session.is_some() && now < self.opened_at.saturating_add(self.timing.retry)
    }

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

    pub(super) fn is_said(&self) -> bool {
        self.outbox.is_said()
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
        work: Option<WorkMark>,
        source: &[u8],
    ) -> Result<Offer, SendError> {
        if self.sender.is_some() {
            return Err(SendError::TransferInProgress);
        }
        let offer = Offer {
            transfer: self.transfers.wrapping_add(1),
            payload,
            work,
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

    /// Returns the event of an expired timer.
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

    /// Returns when `expire` or `transmit` are next needed; a time in the past means now.
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
