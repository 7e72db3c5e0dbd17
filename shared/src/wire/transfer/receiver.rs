//! The receiving end: writes chunks into the caller's memory and checks the hash.

use serde::{Deserialize, Serialize};

use super::{Bitmap, Chunk, chunks_of, range_of};
use crate::wire::message::{ModelHash, Offer, RejectReason, Status};

/// Number of hash mismatches after which the receiver rejects the transfer.
const MISMATCHES: u8 = 4;

/// The outcome of accepting an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub enum Accepted {
    /// No chunk has arrived yet.
    Fresh,
    /// Some chunks have already arrived.
    Resumed { chunks: u16 },
    /// All bytes have arrived and their hash fits; no chunk will be sent.
    Complete,
}

/// The outcome of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub enum ChunkOutcome {
    Written,
    /// Already written; acknowledged and ignored.
    Duplicate,
    /// The last missing chunk, and the hash fits.
    Complete,
    /// The last missing chunk, but the hash does not fit: all are requested again.
    HashMismatch,
    /// Of another transfer, or of the wrong length.
    Refused,
}

/// The received part of a transfer. It outlives sessions: an offer of the same bytes continues
/// where the last one stopped. Memory that survives a reset can preserve it with the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiver {
    offer: Option<Offer>,
    have: Bitmap,
    complete: bool,
    mismatches: u8,
}

impl Receiver {
    /// Returns a receiver without a transfer.
    pub const fn new() -> Self {
        Self {
            offer: None,
            have: Bitmap::EMPTY,
            complete: false,
            mismatches: 0,
        }
    }

    /// Returns the transfer being received.
    pub const fn offer(&self) -> Option<&Offer> {
        self.offer.as_ref()
    }

    /// Returns (chunks that arrived, all chunks).
    pub fn progress(&self) -> (u16, u16) {
        let chunks = self
            .offer
            .and_then(|offer| chunks_of(offer.len))
            .unwrap_or(0);
        (self.have.count(chunks), chunks)
    }

    /// Clears the receiver, for instance because its memory was used for something else.
    pub fn forget(&mut self) {
        *self = Self::new();
    }

    /// Starts or continues receiving into `store`.
    ///
    /// # Errors
    /// [`RejectReason::TooLarge`] if it does not fit, [`RejectReason::Unexpected`] if it is empty.
    pub fn accept(&mut self, offer: &Offer, store: &[u8]) -> Result<Accepted, RejectReason> {
        if offer.len == 0 {
            return Err(RejectReason::Unexpected);
        }
        let chunks = chunks_of(offer.len).ok_or(RejectReason::TooLarge)?;
        let room = usize::try_from(offer.len)
            .ok()
            .and_then(|len| store.get(..len))
            .ok_or(RejectReason::TooLarge)?;
        let same = self
            .offer
            .is_some_and(|held| held.hash == offer.hash && held.len == offer.len);
        let held_whole = same && self.have.is_full(chunks);
        self.offer = Some(*offer);
        self.mismatches = 0;
        // The memory may have changed since: the hash tells whether all bytes are still there.
        if held_whole && ModelHash::of(room) == offer.hash {
            self.complete = true;
            return Ok(Accepted::Complete);
        }
        self.complete = false;
        if !same || held_whole {
            self.have.clear();
        }
        Ok(match self.have.count(chunks) {
            0 => Accepted::Fresh,
            chunks => Accepted::Resumed { chunks },
        })
    }

    /// Writes one chunk into `store`.
    pub fn chunk(&mut self, chunk: &Chunk<'_>, store: &mut [u8]) -> ChunkOutcome {
        let Some(offer) = self.offer.filter(|offer| offer.transfer == chunk.transfer) else {
            return ChunkOutcome::Refused;
        };
        let (Some(chunks), Some(range)) = (chunks_of(offer.len), range_of(chunk.index, offer.len))
        else {
            return ChunkOutcome::Refused;
        };
        let end = range.end;
        let Some(room) = store
            .get_mut(range)
            .filter(|room| room.len() == chunk.data.len())
        else {
            return ChunkOutcome::Refused;
        };
        if self.complete || self.have.contains(chunk.index) {
            return ChunkOutcome::Duplicate;
        }
        room.copy_from_slice(chunk.data);
        self.have.insert(chunk.index);
        debug_assert!(end <= store.len());
        if !self.have.is_full(chunks) {
            return ChunkOutcome::Written;
        }
        let whole = usize::try_from(offer.len)
            .ok()
            .and_then(|len| store.get(..len));
        if whole.map(ModelHash::of) == Some(offer.hash) {
            self.complete = true;
            ChunkOutcome::Complete
        } else {
            self.have.clear();
            self.mismatches = self.mismatches.saturating_add(1);
            ChunkOutcome::HashMismatch
        }
    }

    /// Returns whether the hash failed too often: the bytes are not the offered ones.
    pub const fn is_hopeless(&self) -> bool {
        self.mismatches >= MISMATCHES
    }

    /// Returns the status to send, with the newest frame received.
    pub fn status(&self, seen: u32) -> Option<Status> {
        self.offer.map(|offer| Status {
            transfer: offer.transfer,
            seen,
            have: self.have.clone(),
        })
    }
}
