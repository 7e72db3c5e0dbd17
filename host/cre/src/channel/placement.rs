//! Positions of clients: uniform in a disc around the base station, fixed for a run or drawn again
//! in every round.

use gleaner_shared::rng::{Purpose, Rng};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::units::Metres;

/// Nobody stands closer than this; the path-loss formula has a pole at zero.
pub const MIN_DISTANCE_M: f64 = 1.0;

/// How long a client keeps its position.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Placement {
    /// for the whole run
    #[default]
    Fixed,
    /// for one round; every round draws the positions of all clients again
    EveryRound,
}

/// Draws a client's distance, r = R sqrt(u) with u uniform, at least [`MIN_DISTANCE_M`].
///
/// It depends on the seed, the client and `draw` alone; positions that last for the run are draw 0.
#[must_use]
pub fn distance_in_disc(seed: u64, client: u32, draw: u32, radius: Metres) -> Metres {
    let uniform = Rng::stream(seed, Purpose::Placement, client, draw).uniform();
    Metres((radius.0 * uniform.sqrt()).max(MIN_DISTANCE_M))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_clients_stand_within_the_inner_half_of_the_area() {
        let inner = (0..20_000)
            .filter(|&client| distance_in_disc(3, client, 0, Metres(500.0)).0 < 500.0 / 2f64.sqrt())
            .count();
        assert!((9_700..10_300).contains(&inner), "{inner}");
    }
}
