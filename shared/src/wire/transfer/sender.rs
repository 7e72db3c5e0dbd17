//! The sending end: a window of chunks in flight, repeated only when known to be lost.

use super::{Bitmap, Chunk, MAX_CHUNKS, chunks_of, range_of};
use crate::wire::message::{Offer, Status};

/// A chunk that is not in flight.
const NOT_SENT: u32 = 0;

/// The meaning of a status for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub enum Heard {
    Ignored,
    Progress,
    /// All bytes arrived and their hash fits.
    Delivered,
}

/// A transfer that is being sent.
#[derive(Clone, Debug)]
pub struct Sender {
    offer: Offer,
    chunks: u16,
    window: u16,
    /// Set by the first status: the receiver accepted the transfer.
    accepted: bool,
    have: Bitmap,
    /// Sequence number of the frame that last carried each chunk.
    sent: [u32; MAX_CHUNKS],
    in_flight: u16,
    /// Chunks since the last request for a status.
    unasked: u16,
    lost: u32,
}

impl Sender {
    /// Prepares a transfer with at most `window` chunks in flight; `None` if its length is zero
    /// or too long.
    pub fn new(offer: Offer, window: u16) -> Option<Self> {
        Some(Self {
            offer,
            chunks: chunks_of(offer.len)?,
            window: window.max(1),
            accepted: false,
            have: Bitmap::EMPTY,
            sent: [NOT_SENT; MAX_CHUNKS],
            in_flight: 0,
            unasked: 0,
            lost: 0,
        })
    }

    /// Returns the offer that is being sent.
    pub const fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Returns (chunks known to have arrived, all chunks).
    pub fn progress(&self) -> (u16, u16) {
        (self.have.count(self.chunks), self.chunks)
    }

    /// Returns how many chunks were found lost since the last call.
    pub fn take_lost(&mut self) -> u32 {
        core::mem::take(&mut self.lost)
    }

    /// Returns the number of chunks in flight.
    pub const fn in_flight(&self) -> u16 {
        self.in_flight
    }

    /// Returns whether a chunk may be sent now.
    pub fn is_ready(&self) -> bool {
        self.accepted && self.in_flight < self.window && self.next_index().is_some()
    }

    fn next_index(&self) -> Option<u16> {
        (0..self.chunks).find(|&index| {
            !self.have.contains(index) && self.sent.get(usize::from(index)) == Some(&NOT_SENT)
        })
    }

    /// Returns the next chunk of `source`, for the frame with this sequence number.
    pub fn next_chunk<'a>(&mut self, sequence: u32, source: &'a [u8]) -> Option<Chunk<'a>> {
        if !self.is_ready() {
            return None;
        }
        let index = self.next_index()?;
        let data = source.get(range_of(index, self.offer.len)?)?;
        *self.sent.get_mut(usize::from(index))? = sequence;
        self.in_flight += 1;
        self.unasked += 1;
        // The last quarter of the window keeps the line busy until the answer arrives.
        let status_wanted = self.unasked > self.window / 4 * 3 || !self.is_ready();
        if status_wanted {
            self.unasked = 0;
        }
        Some(Chunk {
            transfer: self.offer.transfer,
            index,
            status_wanted,
            data,
        })
    }

    /// Handles a status: marks chunks as arrived or, by the order of frames, as lost.
    pub fn heard(&mut self, status: &Status) -> Heard {
        if status.transfer != self.offer.transfer {
            return Heard::Ignored;
        }
        let arrived = status.have.count(self.chunks);
        self.have = status.have.clone();
        if arrived == self.chunks {
            return Heard::Delivered;
        }
        self.accepted = true;
        self.in_flight = 0;
        for (index, sent) in (0..self.chunks).zip(&mut self.sent) {
            if *sent <= status.seen {
                let lost = *sent != NOT_SENT && !self.have.contains(index);
                self.lost = self.lost.saturating_add(u32::from(lost));
                *sent = NOT_SENT;
            } else if !self.have.contains(index) {
                self.in_flight += 1;
            }
        }
        Heard::Progress
    }
}
