//! Time that every client listens in every round, whether the round concerns it or not.

use crate::scenario::Scenario;

/// Bits of the beacon that begins a round: who participates, with what order.
const BEACON_BITS: f64 = 1_024.0;

/// Listening before the model's broadcast: the guard of two crystals, and the beacon. Participants
/// then receive the broadcast, all others sleep.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    guard_s: f64,
    /// Length of the beacon over that of the broadcast.
    beacon: f64,
}

impl Listening {
    /// Returns the listening of a scenario whose transfers have so many bits.
    #[must_use]
    pub fn new(scenario: &Scenario, model_bits: f64) -> Self {
        Self {
            guard_s: scenario.guard_s(),
            beacon: BEACON_BITS / model_bits.max(BEACON_BITS),
        }
    }

    /// Returns the time of listening in a round whose broadcast takes `downlink_s`.
    #[must_use]
    pub fn resting_s(&self, downlink_s: f64) -> f64 {
        self.guard_s + self.beacon * downlink_s
    }
}
