//! Writer of gains as a trace, and the grid of gains that decibels represent exactly.
//!
//! A recorded run is read back bit for bit: decibels are written with all digits of a double, and
//! drawn gains lie on the grid of such decibels.

use std::io::{self, Write};

use super::draw::RoundState;
use super::trace::COLUMNS;
use crate::units::{Db, Gain};

/// Writes the gains of a run as a trace, see [`Trace`](super::Trace).
#[derive(Debug)]
pub struct Recorder<W: Write> {
    out: csv::Writer<W>,
}

impl<W: Write> Recorder<W> {
    /// Starts a trace and writes its header.
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn new(out: W) -> io::Result<Self> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(COLUMNS)?;
        Ok(Self { out })
    }

    /// Appends the gains of a round.
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn record(&mut self, round: u32, state: &RoundState) -> io::Result<()> {
        for (client, (&down, up)) in state.downlink.iter().zip(&state.uplink).enumerate() {
            for (channel, &gain) in std::iter::once(&down).chain(up).enumerate() {
                self.out.write_record([
                    round.to_string(),
                    client.to_string(),
                    channel.to_string(),
                    faithful_db(gain).to_string(),
                ])?;
            }
        }
        Ok(())
    }

    /// Ends the trace and returns the writer.
    ///
    /// # Errors
    /// Returns the error of the writer.
    pub fn finish(self) -> io::Result<W> {
        self.out
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)
    }
}

/// Returns the decibels that [`Db::to_linear`] turns into `gain`.
///
/// The logarithm may be a few units in the last place off, so the neighbours are tried too. For
/// a gain that is not [`on_decibel_grid`] the nearest decibels are returned.
fn faithful_db(gain: f64) -> f64 {
    let start = Gain(gain).to_db().0;
    let (mut below, mut above) = (start, start);
    for _ in 0..8 {
        for candidate in [below, above] {
            if Db(candidate).to_linear().0 == gain {
                return candidate;
            }
        }
        (below, above) = (below.next_down(), above.next_up());
    }
    start
}

/// Rounds a gain to one that decibels in double precision express, within 1e-15 of it.
///
/// Doubles are denser on the linear scale than on the logarithmic one (near -60 dB by a factor of
/// about ten), so only gains on this grid are read back from decibels bit for bit. The emulation
/// draws no others.
#[must_use]
pub(super) fn on_decibel_grid(gain: Gain) -> Gain {
    gain.to_db().to_linear()
}
