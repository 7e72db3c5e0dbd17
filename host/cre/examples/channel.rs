//! Draws the channels of a few rounds and prints every client's gains and uplink rates.
//!
//! ```text
//! cargo run -p gleaner-cre --example channel
//! ```

use gleaner_cre::channel::{Emulation, Fading, FadingKind, RadioParams, shannon_rate};
use gleaner_cre::units::{Bits, Db, Dbm, Gain, Gigahertz, Hertz, Metres, Watts, WattsPerHertz};

fn main() {
    // The radio of the paper's perceptron.
    let radio = RadioParams {
        radius_m: Metres(500.0),
        carrier_ghz: Gigahertz(2.4),
        antenna_db: Db(65.0),
        fading: Fading {
            k: 4.0,
            sigma: 1.0,
            kind: FadingKind::Normalised,
        },
        downlink_power_w: Watts(1.0),
        downlink_bandwidth_hz: Hertz(20e6),
        uplink_power_max_w: Dbm(23.0).to_watts(),
        uplink_bandwidth_hz: Hertz(1e6),
        noise_w_per_hz: WattsPerHertz(Dbm(-174.0).to_watts().0),
    };
    let (seed, clients, channels) = (1, 4, 2);
    let emulation = Emulation::new(seed, clients, channels, radio);
    for round in 0..3 {
        let state = emulation.round(round);
        let downlink_s = radio.downlink_time(&state, Bits(318_080.0)).0;
        println!(
            "round {round}: the broadcast takes {:.3} ms",
            downlink_s * 1e3
        );
        for (client, gains) in state.uplink.iter().enumerate() {
            for (channel, &gain) in gains.iter().enumerate() {
                let rate = shannon_rate(
                    radio.uplink_power_max_w,
                    Gain(gain),
                    radio.uplink_bandwidth_hz,
                    radio.noise_w_per_hz,
                );
                println!(
                    "  client {client}, channel {channel}: {:6.1} dB, {:5.1} Mbit/s",
                    Gain(gain).to_db().0,
                    rate.0 / 1e6
                );
            }
        }
    }
}
