//! Channel gain: path loss, small-scale fading and antennas (Section II-B).

use crate::units::{Db, Gain, Gigahertz, Metres};

/// Returns the large-scale gain of the urban macro scenario,
/// h_large = 10^(-(28 + 22 lg gamma + 20 lg nu)/10), with gamma in metres.
///
/// Deviation: the paper gives no unit for nu; the source of the formula (3GPP TR 38.901, UMa with
/// line of sight) uses gigahertz.
#[must_use]
pub fn large_scale_gain(distance: Metres, carrier: Gigahertz) -> Gain {
    let loss_db = 28.0 + 22.0 * libm::log10(distance.0) + 20.0 * libm::log10(carrier.0);
    Gain(libm::pow(10.0, -loss_db / 10.0))
}

/// Returns the whole gain, h = h_large h_small h_gain.
#[must_use]
pub fn channel_gain(large: Gain, small: Gain, antenna: Db) -> Gain {
    Gain(large.0 * small.0 * antenna.to_linear().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_loss_matches_a_hand_calculation() {
        // 100 m at 1 GHz: 28 + 44 + 0 = 72 dB.
        let gain = large_scale_gain(Metres(100.0), Gigahertz(1.0)).0;
        assert!((gain / 10f64.powf(-7.2) - 1.0).abs() < 1e-13);
    }
}
