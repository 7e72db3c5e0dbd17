//! What a client does in one round, and what it expects of itself.

use crate::units::{Cycles, Micros, NanoWatts};

/// What a client does in one round, in modelled time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Length of the broadcast.
    pub listening: Micros,
    /// Cycles of bringing the model up to date.
    pub apply: Cycles,
    /// Cycles of all epochs.
    pub train: Cycles,
    /// How many epochs.
    pub epochs: u32,
    /// Cycles of finding the loss of the trained model.
    pub evaluate: Cycles,
    /// Cycles of coding the update.
    pub encode: Cycles,
    /// Radiated power of the upload.
    pub power: NanoWatts,
    /// Length of the upload; zero if there is none.
    pub airtime: Micros,
    /// How long it stays awake, from the start of the round.
    pub window: Micros,
    /// When the next round begins, from the start of this one.
    pub period: Micros,
}

impl Activity {
    /// A round without an order: it hears the broadcast and sleeps.
    #[must_use]
    pub const fn resting(listening: Micros, period: Micros) -> Self {
        Self {
            listening,
            apply: Cycles::ZERO,
            train: Cycles::ZERO,
            epochs: 0,
            evaluate: Cycles::ZERO,
            encode: Cycles::ZERO,
            power: NanoWatts::ZERO,
            airtime: Micros::ZERO,
            window: listening,
            period,
        }
    }

    /// Returns this order with what its computing is expected to take.
    ///
    /// One forward pass more than the epochs: the loss of the trained model is reported.
    #[must_use]
    pub const fn at_pace(mut self, pace: &Pace) -> Self {
        self.apply = pace.apply;
        self.train = Cycles(pace.epoch.0.saturating_mul(self.epochs as u64));
        self.evaluate = pace.evaluation();
        self.encode = pace.encode;
        self
    }

    /// Returns all its cycles.
    #[must_use]
    pub const fn cycles(&self) -> Cycles {
        self.apply
            .saturating_add(self.train)
            .saturating_add(self.evaluate)
            .saturating_add(self.encode)
    }
}

/// How long a client's computing takes, before it was done: an order is reserved, or declined, by
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Cycles of one epoch.
    pub epoch: Cycles,
    /// Cycles of bringing the model up to date.
    pub apply: Cycles,
    /// Cycles of coding the update.
    pub encode: Cycles,
}

impl Pace {
    /// Returns the cycles of finding a loss: half of an epoch, which walks forward and back.
    #[must_use]
    pub const fn evaluation(&self) -> Cycles {
        Cycles(self.epoch.0 / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_expected_to_take_its_epochs_and_half_of_one() {
        let order = Activity {
            epochs: 3,
            airtime: Micros(5),
            ..Activity::resting(Micros(7), Micros(100))
        };
        let pace = Pace {
            epoch: Cycles(101),
            apply: Cycles(10),
            encode: Cycles(20),
        };
        let expected = order.at_pace(&pace);
        assert_eq!(expected.cycles(), Cycles(303 + 50 + 30));
        assert_eq!((expected.airtime, expected.epochs), (Micros(5), 3));
    }

    #[test]
    fn an_absurd_order_takes_for_ever() {
        let order = Activity {
            epochs: u32::MAX,
            ..Activity::default()
        };
        let pace = Pace {
            epoch: Cycles::MAX,
            ..Pace::default()
        };
        assert_eq!(order.at_pace(&pace).cycles(), Cycles::MAX);
    }
}
