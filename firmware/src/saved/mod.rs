//! What survives a power cut: the ledger and the last closed round in a journal, the global model
//! beside it, in flash of their own.
//!
//! A record is written when a round is closed, the model every [`MODEL_ROUNDS`] of them, and
//! nothing while energy is reserved for an order. A power cut at any moment leaves the record
//! before and the model before as they were; what the record does not know, the base station does.

mod journal;
mod model;
mod record;
mod region;
mod ring;
mod slots;

pub use region::{Region, SECTOR};
pub use ring::{SavedRing, sectors as ring_sectors, sectors_for as ring_sectors_for};

use embedded_storage::nor_flash::NorFlash;
use gleaner_shared::wire::message::{ModelHash, RoundMark};
use serde::{Deserialize, Serialize};

use crate::model::{Memory, Params};
use crate::retained::SavedLedger;
use journal::{JOURNAL_SECTORS, Journal};
use model::{AREA_SECTORS, Areas, Saving};

/// Sectors of 4 KB it all takes.
pub const SECTORS: usize = JOURNAL_SECTORS + 2 * AREA_SECTORS;

/// Closed rounds between two models. A model costs 20 erasures, about a second of a Pico's time
/// and as much energy as an epoch; a base station sends a board that lost one what it needs.
pub const MODEL_ROUNDS: u32 = 8;

/// Transfers put off for one model: four seconds' worth of a base station's pauses. One that insists
/// gets its way, and the line its quiet some other time.
const PUT_OFFS: u8 = 8;

/// What a record holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedState {
    /// The store, if the board was ever provisioned.
    pub ledger: Option<SavedLedger>,
    /// The last round the base station closed.
    pub last_round: Option<RoundMark>,
    /// Closed rounds recorded since the flash was new.
    pub closed: u32,
    /// How many were when a model was last begun; one that a power cut broke off is not begun
    /// again at once, or a supply that fails every time would wear the flash out.
    begun: Option<u32>,
    /// Sectors erased up to here. What was done after the last record before a power cut is not
    /// counted.
    pub erases: u32,
    /// Pages programmed up to here.
    pub programs: u32,
}

/// The state in flash.
#[derive(Debug)]
pub struct Saved<F> {
    region: Region<F>,
    journal: Journal,
    kept: SavedState,
    areas: Areas,
    saving: Option<Saving>,
    /// Transfers put off for it.
    put_offs: u8,
}

impl<F: NorFlash> Saved<F> {
    /// Finds the newest record.
    #[cold]
    #[inline(never)]
    pub fn open(mut region: Region<F>) -> Self {
        let (journal, kept) = Journal::open(&mut region);
        Self {
            region,
            journal,
            kept,
            areas: Areas::default(),
            saving: None,
            put_offs: 0,
        }
    }

    /// Returns the newest record.
    pub const fn kept(&self) -> &SavedState {
        &self.kept
    }

    /// Returns how many sectors were erased and pages programmed.
    pub const fn operations(&self) -> (u32, u32) {
        (self.region.erases, self.region.programs)
    }

    /// Reads the newest whole model into the global parameters; returns its hash.
    #[cold]
    #[inline(never)]
    pub fn recall(&mut self, memory: &mut Memory) -> Option<ModelHash> {
        self.areas.recall(&mut self.region, memory);
        self.areas.holds()
    }

    /// Writes down a closed round, and begins to write `model` when one is due. What is written
    /// already is not written again.
    #[cold]
    #[inline(never)]
    pub fn close(
        &mut self,
        ledger: Option<SavedLedger>,
        last_round: Option<RoundMark>,
        model: Option<ModelHash>,
    ) {
        if (self.kept.ledger, self.kept.last_round) == (ledger, last_round) {
            return;
        }
        let mut next = SavedState {
            ledger,
            last_round,
            closed: self.kept.closed.saturating_add(1),
            ..self.kept
        };
        let due = |begun: u32| next.closed.saturating_sub(begun) >= MODEL_ROUNDS;
        let news = model.filter(|model| self.areas.holds() != Some(*model));
        if self.saving.is_none()
            && next.begun.is_none_or(due)
            && let Some(model) = news
        {
            next.begun = Some(next.closed);
            self.saving = Some(self.areas.save(model, last_round));
            self.put_offs = 0;
        }
        match self.journal.append(&mut self.region, &mut next) {
            Ok(()) => self.kept = next,
            // Flash that takes no record takes no model; the board goes on without.
            Err(_) => self.saving = None,
        }
    }

    /// Tells whether a model is being written.
    pub const fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Takes one small step of writing `model`.
    #[cold]
    #[inline(never)]
    pub fn go_on(&mut self, model: &Params) {
        if let Some(saving) = self.saving.take() {
            let next = self.areas.go_on(&mut self.region, saving, model);
            self.saving = next.unwrap_or(None);
        }
    }

    /// Tells whether a transfer has to wait for the model that is being written.
    pub const fn puts_off(&mut self) -> bool {
        self.put_offs = self.put_offs.saturating_add(1);
        if self.put_offs > PUT_OFFS {
            self.saving = None;
        }
        self.saving.is_some()
    }

    /// Leaves off writing a model that is no more.
    pub const fn abandon(&mut self) {
        self.saving = None;
    }
}
