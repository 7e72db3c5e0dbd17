//! Draws the channels of a few rounds and prints every client's gains and uplink rates.
//!
//! ```text
//! cargo run -p gleaner-cre --example channel
//! ```

use gleaner_cre::channel::{Emulation, shannon_rate};
use gleaner_cre::system::System;
use gleaner_cre::units::Gain;

fn main() {
    let system = System::paper_mlp();
    let radio = system.radio;
    let (seed, clients, channels) = (1, 4, 2);
    let emulation = Emulation::new(seed, clients, channels, radio);
    for round in 0..3 {
        let state = emulation.round(round);
        let downlink_s = radio.downlink_time(&state, system.round.model_bits).0;
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
