//! What else the energy of a run might have been: its booked activity under profiles that the
//! measurement allows just as well.

use gleaner_shared::rng::{Purpose, Rng};

use crate::report::data::RunData;
use crate::round::RoundRow;

/// Profiles that are drawn.
const DRAWS: usize = 200;

/// The factors within which 95 % of the drawn costs of computing lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factors {
    low: f64,
    high: f64,
}

impl Factors {
    /// Draws them for a run whose costs are a measured profile's; `None` of any other.
    ///
    /// Orders stay those of the profile itself: who trains how long was decided by it.
    pub(super) fn of(run: &RunData) -> Option<Self> {
        let profile = run.profile.as_ref()?;
        let clock_hz = run.scenario.device.frequency_hz;
        let booked = profile.costs(clock_hz).ok()?.cycle_j;
        let mut rng = Rng::stream(run.scenario.run.seed, Purpose::Bootstrap, 0, 0);
        let mut factors: Vec<f64> = (0..DRAWS)
            .filter_map(|_| Some(profile.draw(&mut rng).costs(clock_hz).ok()?.cycle_j / booked))
            .filter(|factor| factor.is_finite())
            .collect();
        factors.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * factors.len().saturating_sub(1) as f64;
            factors.get(place.round() as usize).copied()
        };
        Some(Self {
            low: at(0.025)?,
            high: at(0.975)?,
        })
    }

    /// Returns the band around the running sum of what was spent, in millijoules.
    pub(super) fn band(&self, rounds: &[RoundRow]) -> Vec<(f64, f64, f64)> {
        let (mut low_j, mut high_j) = (0.0, 0.0);
        let mut band = Vec::new();
        for row in rounds {
            let rest_j = row.radio_j;
            low_j += rest_j + self.low * row.compute_j;
            high_j += rest_j + self.high * row.compute_j;
            if row.round > 0 {
                band.push((f64::from(row.round), 1e3 * low_j, 1e3 * high_j));
            }
        }
        band
    }
}
