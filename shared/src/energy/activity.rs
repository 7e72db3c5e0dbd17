//! The work of a client in one round, and its expected cycles.

use serde::{Deserialize, Serialize};

use crate::units::{Cycles, Micros, NanoWatts};

/// The work of a client in one round, in modelled time.
///
/// A client listens, computes, transmits, and sleeps from the end of its upload until the next round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Time of listening to the broadcast, the guard before it included.
    pub listening: Micros,
    /// Cycles of opening the frames of a model and applying it.
    pub apply: Cycles,
    /// Cycles of all epochs.
    pub train: Cycles,
    /// Number of epochs trained.
    pub epochs: u32,
    /// Cycles of evaluating the trained model.
    pub evaluate: Cycles,
    /// Cycles of coding the update and sealing its frames.
    pub encode: Cycles,
    /// Power that the transmitter draws during the upload.
    pub drawn: NanoWatts,
    /// Length of the upload; zero if there is none.
    pub airtime: Micros,
    /// Whether the model is written to flash at the end of the round.
    pub saves: bool,
    /// Time from the start of the round to the start of the next.
    pub period: Micros,
}

impl Activity {
    /// Returns a round without an order: the client listens to the broadcast and sleeps.
    #[must_use]
    pub const fn resting(listening: Micros, period: Micros) -> Self {
        Self {
            listening,
            apply: Cycles::ZERO,
            train: Cycles::ZERO,
            epochs: 0,
            evaluate: Cycles::ZERO,
            encode: Cycles::ZERO,
            drawn: NanoWatts::ZERO,
            airtime: Micros::ZERO,
            saves: false,
            period,
        }
    }

    /// Returns this order with its expected cycles; those of receiving the model are `apply`.
    #[must_use]
    pub const fn at_pace(mut self, pace: &Pace, apply: Cycles) -> Self {
        self.apply = apply;
        self.train = Cycles(pace.epoch.0.saturating_mul(self.epochs as u64));
        self.evaluate = pace.evaluate;
        self.encode = pace.encode.saturating_add(pace.seal);
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

/// Expected cycles of a client's work, as counted in emulators: an order is reserved or declined by
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pace {
    /// One epoch over the client's samples.
    pub epoch: Cycles,
    /// One evaluation of the trained model.
    pub evaluate: Cycles,
    /// Applying a change of the model.
    pub apply_change: Cycles,
    /// Applying a whole model.
    pub apply_whole: Cycles,
    /// Coding an update.
    pub encode: Cycles,
    /// Opening the frames of a change.
    pub open_change: Cycles,
    /// Opening the frames of a whole model.
    pub open_whole: Cycles,
    /// Sealing the frames of an update.
    pub seal: Cycles,
}

impl Pace {
    /// Returns the cycles of opening the frames of a model or of a change. A client books them as
    /// they stand here, because its link works byte by byte between other work.
    pub const fn opening(&self, whole: bool) -> Cycles {
        if whole {
            self.open_whole
        } else {
            self.open_change
        }
    }

    /// Returns the cycles of receiving a model or a change: opening its frames and applying it.
    pub const fn applying(&self, whole: bool) -> Cycles {
        let apply = if whole {
            self.apply_whole
        } else {
            self.apply_change
        };
        apply.saturating_add(self.opening(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_expected_to_take_its_epochs_and_one_of_everything_else() {
        let order = Activity {
            epochs: 3,
            airtime: Micros(5),
            ..Activity::resting(Micros(7), Micros(100))
        };
        let pace = Pace {
            epoch: Cycles(100),
            evaluate: Cycles(50),
            apply_change: Cycles(1),
            apply_whole: Cycles(2),
            encode: Cycles(4),
            open_change: Cycles(8),
            open_whole: Cycles(16),
            seal: Cycles(32),
        };
        let change = order.at_pace(&pace, pace.applying(false));
        assert_eq!(change.cycles(), Cycles(350 + 1 + 8 + 4 + 32));
        let whole = order.at_pace(&pace, pace.applying(true));
        assert_eq!(whole.cycles(), Cycles(350 + 2 + 16 + 4 + 32));
        assert_eq!((whole.airtime, whole.epochs), (Micros(5), 3));
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
        assert_eq!(order.at_pace(&pace, Cycles(1)).cycles(), Cycles::MAX);
    }
}
