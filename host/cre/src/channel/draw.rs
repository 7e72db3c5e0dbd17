//! Random channel gains of a round, downlink and uplink.

use gleaner_shared::rng::{Purpose, Rng};
use serde::{Deserialize, Serialize};

use super::fading::Fading;
use super::gain::{channel_gain, large_scale_gain};
use super::placement::{Placement, distance_in_disc};
use super::rate::{broadcast_rate, downlink_latency};
use super::record::on_decibel_grid;
use crate::units::{Bits, Db, Gain, Gigahertz, Hertz, Metres, Seconds, Watts, WattsPerHertz};

/// Parameters of the radio. Start from [`System::paper_mlp`](crate::system::System::paper_mlp) and
/// change fields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RadioParams {
    /// Radius of the disc of clients.
    pub radius_m: Metres,
    /// Carrier frequency in gigahertz.
    pub carrier_ghz: Gigahertz,
    /// Gain of both antennas together.
    pub antenna_db: Db,
    /// Distribution of the small-scale fading.
    pub fading: Fading,
    /// Transmit power of the broadcast.
    pub downlink_power_w: Watts,
    /// Bandwidth of the broadcast.
    pub downlink_bandwidth_hz: Hertz,
    /// Largest transmit power of a client.
    pub uplink_power_max_w: Watts,
    /// Bandwidth of each uplink channel.
    pub uplink_bandwidth_hz: Hertz,
    /// Noise density at both ends.
    pub noise_w_per_hz: WattsPerHertz,
}

impl RadioParams {
    /// Returns the duration of a model's broadcast in a round: Eqs. (5) and (6).
    #[must_use]
    pub fn downlink_time(&self, state: &RoundState, model: Bits) -> Seconds {
        let rate = broadcast_rate(
            self.downlink_power_w,
            &state.downlink,
            self.downlink_bandwidth_hz,
            self.noise_w_per_hz,
        );
        downlink_latency(model, rate)
    }
}

/// The linear gains of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundState {
    /// Gain from the base station to each client.
    pub downlink: Vec<f64>,
    /// Gain of each client on each uplink channel, `[client][channel]`.
    pub uplink: Vec<Vec<f64>>,
}

/// Draws the channel gains of a run.
///
/// ```
/// use gleaner_cre::channel::Emulation;
/// use gleaner_cre::system::System;
///
/// let system = System::paper_mlp();
/// let emulation = Emulation::new(1, 10, 3, system.radio);
/// let gains = emulation.round(5);
/// assert_eq!((gains.uplink.len(), gains.uplink[0].len()), (10, 3));
/// let broadcast_s = system.radio.downlink_time(&gains, system.round.model_bits).0;
/// assert!(broadcast_s < 1e-3);
/// ```
#[derive(Clone, Debug)]
pub struct Emulation {
    seed: u64,
    channels: usize,
    radio: RadioParams,
    placement: Placement,
    /// Large-scale gains at the positions of draw 0.
    large: Vec<Gain>,
}

impl Emulation {
    /// Places the clients at random in the disc.
    #[must_use]
    pub fn new(seed: u64, clients: u32, channels: usize, radio: RadioParams) -> Self {
        let large = (0..clients).map(|client| gain_at(seed, client, 0, &radio));
        Self {
            seed,
            channels,
            radio,
            placement: Placement::Fixed,
            large: large.collect(),
        }
    }

    /// Says how long clients keep their positions; without this, for the whole run.
    #[must_use]
    pub const fn with_placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Draws the gains of a round.
    ///
    /// A client's stream is keyed by seed, client and round, and yields the downlink first and
    /// then the channels in order: its gains depend neither on how many clients or channels there
    /// are nor on the order rounds are drawn in.
    #[must_use]
    pub fn round(&self, round: u32) -> RoundState {
        let mut state = RoundState {
            downlink: Vec::new(),
            uplink: Vec::new(),
        };
        for (client, &large) in (0u32..).zip(&self.large) {
            let large = match self.placement {
                Placement::Fixed => large,
                Placement::EveryRound => gain_at(self.seed, client, round, &self.radio),
            };
            let mut rng = Rng::stream(self.seed, Purpose::Fading, client, round);
            let mut draw = || {
                let small = self.radio.fading.draw(&mut rng);
                on_decibel_grid(channel_gain(large, small, self.radio.antenna_db)).0
            };
            state.downlink.push(draw());
            state
                .uplink
                .push((0..self.channels).map(|_| draw()).collect());
        }
        state
    }
}

/// Returns the large-scale gain of a client at its position of a draw.
fn gain_at(seed: u64, client: u32, draw: u32, radio: &RadioParams) -> Gain {
    let distance = distance_in_disc(seed, client, draw, radio.radius_m);
    large_scale_gain(distance, radio.carrier_ghz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    #[test]
    fn a_clients_gains_do_not_depend_on_the_other_clients_or_channels() {
        let radio = System::paper_mlp().radio;
        let small = Emulation::new(11, 4, 2, radio).round(7);
        let large = Emulation::new(11, 9, 5, radio).round(7);
        for client in 0..4 {
            assert_eq!(small.downlink[client], large.downlink[client]);
            assert_eq!(small.uplink[client][..], large.uplink[client][..2]);
        }
    }

    #[test]
    fn rounds_may_be_drawn_in_any_order() {
        let emulation = Emulation::new(5, 3, 2, System::paper_cnn().radio);
        let forward: Vec<_> = (0..4).map(|round| emulation.round(round)).collect();
        let backward: Vec<_> = (0..4).rev().map(|round| emulation.round(round)).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        assert_ne!(forward[0], forward[1]);
    }

    #[test]
    fn positions_are_drawn_once_or_in_every_round() {
        let radio = RadioParams {
            fading: Fading {
                k: 1e12,
                ..System::paper_mlp().radio.fading
            },
            ..System::paper_mlp().radio
        };
        // With so strong a direct path only the position moves a gain by a decibel.
        let moves = |emulation: &Emulation| {
            let gain = |round| emulation.round(round).downlink[0];
            (1..50)
                .filter(|&round| (gain(round) / gain(0)).log10().abs() > 0.1)
                .count()
        };
        let fixed = Emulation::new(3, 2, 1, radio);
        assert_eq!(moves(&fixed), 0);
        let redrawn = fixed.clone().with_placement(Placement::EveryRound);
        assert!(moves(&redrawn) > 30);
        assert_eq!(redrawn.round(0), fixed.round(0));
        assert_eq!(redrawn.round(7), redrawn.round(7));
    }

    #[test]
    fn the_paper_preset_broadcasts_in_under_half_a_millisecond() {
        let radio = System::paper_mlp().radio;
        let state = Emulation::new(0, 10, 3, radio).round(0);
        let time_s = radio.downlink_time(&state, Bits(318_080.0)).0;
        assert!((3e-4..6e-4).contains(&time_s), "{time_s}");
    }
}
