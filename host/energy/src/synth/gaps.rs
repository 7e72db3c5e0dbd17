//! Where samples are lost: one gap in each of as many equal parts of the trace as there are gaps.

use gleaner_shared::rng::{Purpose, Rng};

/// Most samples of a gap: one fewer than a PPK2's counter counts.
const LONGEST: u32 = 63;

/// Samples of a part at the least, so that gaps keep apart.
const PART: u64 = 4 * LONGEST as u64;

/// Some samples that are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// The first of them.
    pub(super) at: u64,
    /// How many.
    pub(super) samples: u64,
}

/// Draws gaps of 1 to 63 samples.
///
/// # Errors
/// How many there is room for.
pub(super) fn draw(gaps: u32, samples: u64, seed: u64) -> Result<Vec<Gap>, String> {
    if gaps == 0 {
        return Ok(Vec::new());
    }
    let most = samples / PART;
    if u64::from(gaps) > most {
        return Err(format!(
            "gaps = {gaps}: {samples} samples have room for {most}"
        ));
    }
    let part = samples / u64::from(gaps);
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 2, 0);
    let room = u32::try_from(part - 2 * u64::from(LONGEST)).unwrap_or(u32::MAX);
    Ok((0..u64::from(gaps))
        .map(|at| Gap {
            at: at * part + u64::from(LONGEST + rng.below(room - LONGEST)),
            samples: u64::from(1 + rng.below(LONGEST)),
        })
        .collect())
}
