//! The phases of a device: the categories of ledger, marks and measurement pins.

use core::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

use crate::units::PicoJoules;

/// A phase of a device's round.
///
/// Its [code](Self::code) is what the pins of a measured board show: sleep is zero, so that a
/// sleeping board drives no pin.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize
)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub enum Phase {
    /// Waiting in the deepest sleep that the link allows.
    Sleep,
    Idle,
    Receive,
    /// Applying the received update to the model.
    Apply,
    Train,
    /// Evaluating the trained model.
    Evaluate,
    Encode,
    Transmit,
}

impl Phase {
    /// Number of phases.
    pub const COUNT: usize = 8;

    /// All phases, in the order of their codes.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Sleep,
        Self::Idle,
        Self::Receive,
        Self::Apply,
        Self::Train,
        Self::Evaluate,
        Self::Encode,
        Self::Transmit,
    ];

    /// All phases, in the order in which a round pays for them: waiting is last.
    pub const IN_TIME: [Self; Self::COUNT] = [
        Self::Receive,
        Self::Apply,
        Self::Train,
        Self::Evaluate,
        Self::Encode,
        Self::Transmit,
        Self::Idle,
        Self::Sleep,
    ];

    /// Returns the three bits of the phase.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the phase of a code, or `None` above three bits.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if (code as usize) < Self::COUNT {
            Some(Self::ALL[code as usize])
        } else {
            None
        }
    }

    /// Returns the name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Idle => "idle",
            Self::Receive => "receive",
            Self::Apply => "apply",
            Self::Train => "train",
            Self::Evaluate => "evaluate",
            Self::Encode => "encode",
            Self::Transmit => "transmit",
        }
    }
}

/// Energy by the phase it was spent in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Spent(pub [PicoJoules; Phase::COUNT]);

impl Spent {
    /// No energy in any phase.
    pub const ZERO: Self = Self([PicoJoules::ZERO; Phase::COUNT]);

    /// Returns the energy of one phase.
    pub const fn of(&self, phase: Phase) -> PicoJoules {
        self.0[phase as usize]
    }

    /// Returns the energy of computing: applying, training, evaluating, coding.
    pub const fn compute(&self) -> PicoJoules {
        self.sum(&[Phase::Apply, Phase::Train, Phase::Evaluate, Phase::Encode])
    }

    /// Returns the energy of the radio, in both directions.
    pub const fn radio(&self) -> PicoJoules {
        self.sum(&[Phase::Receive, Phase::Transmit])
    }

    /// Returns the energy of waiting, awake and asleep.
    pub const fn waiting(&self) -> PicoJoules {
        self.sum(&[Phase::Idle, Phase::Sleep])
    }

    /// Splits a round's costs into those of the work, paid from what is stored, and those of sleep,
    /// netted with the income.
    #[must_use]
    pub const fn split(mut self) -> (Self, Self) {
        let mut asleep = Self::ZERO;
        let sleep = Phase::Sleep as usize;
        (asleep.0[sleep], self.0[sleep]) = (self.0[sleep], PicoJoules::ZERO);
        (self, asleep)
    }

    /// Returns the sum, at most [`PicoJoules::MAX`].
    pub const fn total(&self) -> PicoJoules {
        self.sum(&Phase::ALL)
    }

    /// Returns the sum, or `None` if it does not fit.
    pub const fn checked_total(&self) -> Option<PicoJoules> {
        let mut total = PicoJoules::ZERO;
        let mut at = 0;
        while at < Phase::COUNT {
            total = match total.checked_add(self.0[at]) {
                Some(total) => total,
                None => return None,
            };
            at += 1;
        }
        Some(total)
    }

    /// Adds phase by phase, stopping at [`PicoJoules::MAX`].
    #[must_use]
    pub const fn saturating_add(mut self, other: &Self) -> Self {
        let mut at = 0;
        while at < Phase::COUNT {
            self.0[at] = self.0[at].saturating_add(other.0[at]);
            at += 1;
        }
        self
    }

    /// Subtracts phase by phase, stopping at zero.
    #[must_use]
    pub const fn saturating_sub(mut self, other: &Self) -> Self {
        let mut at = 0;
        while at < Phase::COUNT {
            self.0[at] = self.0[at].saturating_sub(other.0[at]);
            at += 1;
        }
        self
    }

    const fn sum(&self, phases: &[Phase]) -> PicoJoules {
        let mut total = PicoJoules::ZERO;
        let mut at = 0;
        while at < phases.len() {
            total = total.saturating_add(self.of(phases[at]));
            at += 1;
        }
        total
    }
}

impl Index<Phase> for Spent {
    type Output = PicoJoules;

    fn index(&self, phase: Phase) -> &PicoJoules {
        &self.0[phase as usize]
    }
}

impl IndexMut<Phase> for Spent {
    fn index_mut(&mut self, phase: Phase) -> &mut PicoJoules {
        &mut self.0[phase as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bits_name_every_phase() {
        for (at, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(phase.code()), at);
            assert_eq!(Phase::from_code(phase.code()), Some(phase));
        }
        assert_eq!(Phase::from_code(8), None);
    }

    #[test]
    fn a_round_pays_for_every_phase_once() {
        let mut paid = Phase::IN_TIME;
        paid.sort();
        assert_eq!(paid, Phase::ALL);
    }

    #[test]
    fn every_phase_is_computing_radio_or_waiting() {
        let mut spent = Spent::ZERO;
        for phase in Phase::ALL {
            spent[phase] = PicoJoules(1 << phase.code());
        }
        let parts = [spent.compute(), spent.radio(), spent.waiting()];
        assert_eq!(parts.iter().map(|part| part.0).sum::<u64>(), 255);
        assert_eq!(spent.total(), PicoJoules(255));
        assert_eq!(spent.checked_total(), Some(PicoJoules(255)));
        spent[Phase::Sleep] = PicoJoules::MAX;
        assert_eq!(spent.total(), PicoJoules::MAX);
        assert_eq!(spent.checked_total(), None);
    }
}
