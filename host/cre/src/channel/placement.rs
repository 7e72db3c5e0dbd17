//! Positions of clients: uniform in a disc around the base station, fixed for a run.

use gleaner_shared::rng::{Purpose, Rng};

use crate::units::Metres;

/// Nobody stands closer than this; the path-loss formula has a pole at zero.
pub const MIN_DISTANCE_M: f64 = 1.0;

/// Draws a client's distance, r = R sqrt(u) with u uniform, at least [`MIN_DISTANCE_M`].
///
/// It depends on the seed and the client alone.
#[must_use]
pub fn distance_in_disc(seed: u64, client: u32, radius: Metres) -> Metres {
    let uniform = Rng::stream(seed, Purpose::Placement, client, 0).uniform();
    Metres((radius.0 * uniform.sqrt()).max(MIN_DISTANCE_M))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_clients_stand_within_the_inner_half_of_the_area() {
        let inner = (0..20_000)
            .filter(|&client| distance_in_disc(3, client, Metres(500.0)).0 < 500.0 / 2f64.sqrt())
            .count();
        assert!((9_700..10_300).contains(&inner), "{inner}");
    }
}
