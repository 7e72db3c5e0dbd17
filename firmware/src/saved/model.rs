//! The global model in flash: two areas, written alternately, so that one is complete at any
//! moment.
//!
//! An area is 20 sectors: the model's exact form, and in its last page a header that is written
//! last. The area without the newest model is erased and programmed in small steps; the link is
//! served between them.

use embedded_storage::nor_flash::NorFlash;
use gleaner_shared::wire::message::{ModelHash, RoundMark};
use serde::{Deserialize, Serialize};

use super::journal::JOURNAL_SECTORS;
use super::record::{decode, encode};
use super::region::{PAGE, PAGES, Region, Unwritable, WORD, is_marked};
use crate::exact;
use crate::exact::hash_of;
use crate::model::{Memory, Params, STORE_BYTES};

pub const AREA_SECTORS: usize = (STORE_BYTES + PAGE).div_ceil(super::region::SECTOR);

const MAGIC: [u8; 4] = *b"GLM1";
const MODEL_PAGES: usize = STORE_BYTES.div_ceil(PAGE);
const HEADER: usize = AREA_SECTORS * PAGES - 1;

/// The header of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    hash: ModelHash,
    /// The round after which it was written.
    closed: Option<RoundMark>,
    /// Length of the exact form: a model of another network is ignored.
    bytes: u32,
}

/// The state of both areas.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Areas {
    /// The area with the newest model, its number and the model's hash.
    newest: Option<(usize, u32, ModelHash)>,
}

/// A model that is being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saving {
    header: Header,
    area: usize,
    number: u32,
    step: usize,
}

const fn first_page(area: usize) -> usize {
    (JOURNAL_SECTORS + area * AREA_SECTORS) * PAGES
}

impl Areas {
    /// Reads the newest complete model, if there is one.
    pub(super) fn recall<F: NorFlash>(&mut self, region: &mut Region<F>, memory: &mut Memory) {
        let mut found = [0, 1].map(|area| {
            let page = region.page(first_page(area) + HEADER);
            let header = decode::<Header>(MAGIC, &page).filter(|_| is_marked(&page));
            header.map(|(number, header)| (number, area, header))
        });
        found.sort_unstable_by_key(|it| it.map(|(number, ..)| number));
        self.newest = found.into_iter().rev().flatten().find_map(|it| {
            let (number, area, header) = it;
            let bytes = memory.local.bytes();
            let fits = header.bytes as usize == bytes.len();
            let read = fits && region.read(first_page(area), bytes).is_ok();
            let good = read && memory.global.read_exact(bytes);
            let good = good && hash_of(&memory.global) == header.hash;
            good.then_some((area, number, header.hash))
        });
    }

    /// Returns the hash of the newest model.
    pub(super) fn holds(&self) -> Option<ModelHash> {
        self.newest.map(|(.., hash)| hash)
    }

    /// Begins to write a model into the area without the newest one.
    pub(super) fn save(&self, hash: ModelHash, closed: Option<RoundMark>) -> Saving {
        let (area, number) = match self.newest {
            Some((area, number, _)) => (1 - area, number.saturating_add(1)),
            None => (0, 1),
        };
        Saving {
            header: Header {
                hash,
                closed,
                bytes: STORE_BYTES as u32,
            },
            area,
            number,
            step: 0,
        }
    }

    /// Erases a sector or programs a page; returns the remaining work.
    pub(super) fn go_on<F: NorFlash>(
        &mut self,
        region: &mut Region<F>,
        mut saving: Saving,
        model: &Params,
    ) -> Result<Option<Saving>, Unwritable> {
        let first = first_page(saving.area);
        match saving.step {
            // A torn mark of the other area may have read as set: it is written again before that
            // area is the only one.
            0 => {
                if let Some((area, ..)) = self.newest {
                    region.mark(first_page(area) + HEADER)?;
                }
            }
            // Erases the header's sector first: with its header the area would count as complete.
            step @ 1..=AREA_SECTORS => region.erase(first / PAGES + AREA_SECTORS - step)?,
            step => match step - AREA_SECTORS - 1 {
                page if page < MODEL_PAGES => {
                    let mut bytes = [0xFF; PAGE];
                    let count = exact::piece(model, page * PAGE, &mut bytes);
                    let words = count.next_multiple_of(WORD);
                    region.program(first + page, &bytes[..words])?;
                }
                _ => {
                    let header = encode(MAGIC, saving.number, &saving.header);
                    region.program(first + HEADER, &header.ok_or(Unwritable)?)?;
                    region.mark(first + HEADER)?;
                    self.newest = Some((saving.area, saving.number, saving.header.hash));
                    return Ok(None);
                }
            },
        }
        saving.step += 1;
        Ok(Some(saving))
    }
}
