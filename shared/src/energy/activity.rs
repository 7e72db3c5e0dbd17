//! The work of a client in one round, and its estimate beforehand.

use crate::units::{Cycles, Micros, NanoWatts};

/// The work of a client in one round, in modelled time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Length of the broadcast.
    pub listening: Micros,
    /// Cycles of applying the update of the model.
    pub apply: Cycles,
    /// Cycles of all epochs.
    pub train: Cycles,
    /// Number of epochs trained.
    pub epochs: u32,
    /// Cycles of evaluating the trained model.
    pub evaluate: Cycles,
    /// Cycles of coding the update.
    pub encode: Cycles,
    /// Radiated power of the upload.
    pub power: NanoWatts,
    /// Length of the upload; zero if there is none.
    pub airtime: Micros,
    /// Time the client stays awake, from the start of the round.
    pub window: Micros,
    /// Time from the start of the round to the start of the next.
    pub period: Micros,
}

impl Activity {
    /// Returns a round without an order: the client receives the broadcast and sleeps.
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

    /// Returns this order with its expected cycles.
    ///
    /// Includes one forward pass after the epochs, because the loss of the trained model is
    /// reported.
    #[must_use]
    pub const fn at_pace(mut self, pace: &Pace) -> Self {
        self.apply = pace.apply;
        self.train = Cycles(pace.epoch.0.saturating_mul(self.epochs as u64));
        self.evaluate = pace.evaluation();
        self.encode = pace.encode;
        self
    }

    /// Returns the sum of all cycles.
    pub const fn cycles(&self) -> Cycles {
        self.apply
            .saturating_add(self.train)
            .saturating_add(self.evaluate)
            .saturating_add(self.encode)
    }
}

/// Expected cycles of a client's work: an order is reserved or declined by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Pace {
    pub epoch: Cycles,
    pub apply: Cycles,
    pub encode: Cycles,
}

impl Pace {
    /// Returns the cycles of an evaluation: half an epoch, because it has no backward pass.
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
    fn an_excessive_order_saturates() {
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
