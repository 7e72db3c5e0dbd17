//! State that survives a power cut: the ledger and the last closed round in a journal, and the
//! global model beside it, in flash of their own.
//!
//! A record is written when a round is closed, the model every [`MODEL_ROUNDS`] of them, and
//! nothing while energy is reserved for an order. A power cut at any moment leaves the previous
//! record and the previous model intact; the base station has what the record lacks.

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

/// Number of 4 KB sectors for journal and models.
pub const SECTORS: usize = JOURNAL_SECTORS + 2 * AREA_SECTORS;

/// Closed rounds between two saved models. Saving a model costs 20 erasures, about a second of a
/// Pico's time and as much energy as an epoch; the base station sends the model to a board that
/// lost it.
pub const MODEL_ROUNDS: u32 = 8;

/// Number of transfers that are put off while one model is written: about four seconds. After that
/// the transfer is accepted and the model is written later.
const PUT_OFFS: u8 = 8;

/// The content of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedState {
    /// The ledger, if the board was ever provisioned.
    pub ledger: Option<SavedLedger>,
    /// The last round that the base station closed.
    pub last_round: Option<RoundMark>,
    /// Closed rounds recorded since the flash was new.
    pub closed: u32,
    /// Number of closed rounds when a model was last begun. A model that a power cut interrupted is
    /// not begun again at once, or a failing supply would wear out the flash.
    begun: Option<u32>,
    /// Sectors erased so far. Operations between the last record and a power cut are not counted.
    pub erases: u32,
    /// Pages programmed so far.
    pub programs: u32,
}

/// The saved state and its flash.
#[derive(Debug)]
pub struct Saved<F> {
    region: Region<F>,
    journal: Journal,
    state: SavedState,
    areas: Areas,
    saving: Option<Saving>,
    /// Transfers put off for the model being written.
    put_offs: u8,
}

impl<F: NorFlash> Saved<F> {
    /// Finds the newest record.
    #[cold]
    #[inline(never)]
    pub fn open(mut region: Region<F>) -> Self {
        let (journal, state) = Journal::open(&mut region);
        Self {
            region,
            journal,
            state,
            areas: Areas::default(),
            saving: None,
            put_offs: 0,
        }
    }

    /// Returns the newest record.
    pub const fn state(&self) -> &SavedState {
        &self.state
    }

    /// Returns the number of sectors erased and pages programmed.
    pub const fn operations(&self) -> (u32, u32) {
        (self.region.erases, self.region.programs)
    }

    /// Reads the newest complete model into the global parameters; returns its hash.
    #[cold]
    #[inline(never)]
    pub fn recall(&mut self, memory: &mut Memory) -> Option<ModelHash> {
        self.areas.recall(&mut self.region, memory);
        self.areas.holds()
    }

    /// Records a closed round, and begins to write `model` when one is due. An unchanged state is
    /// not written again.
    #[cold]
    #[inline(never)]
    pub fn close(
        &mut self,
        ledger: Option<SavedLedger>,
        last_round: Option<RoundMark>,
        model: Option<ModelHash>,
    ) {
        if (self.state.ledger, self.state.last_round) == (ledger, last_round) {
            return;
        }
        let mut next = SavedState {
            ledger,
            last_round,
            closed: self.state.closed.saturating_add(1),
            ..self.state
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
            Ok(()) => self.state = next,
            // Flash that takes no record takes no model; the board continues without.
            Err(_) => self.saving = None,
        }
    }

    /// Returns whether a model is being written.
    pub const fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    /// Carries out one step of writing `model`.
    #[cold]
    #[inline(never)]
    pub fn go_on(&mut self, model: &Params) {
        if let Some(saving) = self.saving.take() {
            let next = self.areas.go_on(&mut self.region, saving, model);
            self.saving = next.unwrap_or(None);
        }
    }

    /// Returns whether a transfer has to wait for the model that is being written.
    pub const fn puts_off(&mut self) -> bool {
        self.put_offs = self.put_offs.saturating_add(1);
        if self.put_offs > PUT_OFFS {
            self.saving = None;
        }
        self.saving.is_some()
    }

    /// Stops writing a model that has changed.
    pub const fn abandon(&mut self) {
        self.saving = None;
    }
}
