//! Consistent lies about a ledger, as a board with a key may send them.

use gleaner_shared::energy::{EnergyStore, Phase, Snapshot};

/// A false ledger that keeps the identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// The store is full, and began that much fuller.
    FilledStore,
    /// Nothing was spent in the round.
    NothingSpent,
    /// Half the range of a counter more was harvested and lost.
    Wrapped,
    /// The round has not happened.
    SetBack,
    /// More was harvested than granted.
    Harvested,
    /// What was spent is booked as charging loss.
    Conversion,
    /// What was spent is booked as leakage.
    Leaked,
    /// What was spent is booked as overflow.
    Overflow,
}

impl Lie {
    /// Every lie.
    pub const ALL: [Self; 8] = [
        Self::FilledStore,
        Self::NothingSpent,
        Self::Wrapped,
        Self::SetBack,
        Self::Harvested,
        Self::Conversion,
        Self::Leaked,
        Self::Overflow,
    ];

    /// Returns the amount that gives the lie away.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::FilledStore => "initial",
            Self::Wrapped | Self::Harvested => "harvested",
            Self::SetBack => "rounds",
            Self::Conversion => "conversion",
            Self::NothingSpent | Self::Leaked | Self::Overflow => "radio",
        }
    }

    /// Returns the false ledger in place of the true one, after a round that began with `before`.
    #[must_use]
    pub fn of(self, truth: Snapshot, before: &Snapshot, store: &EnergyStore) -> Snapshot {
        let mut lie = truth;
        let spent = truth.spent.saturating_sub(&before.spent).total().0;
        match self {
            Self::FilledStore => {
                let missing = store.capacity.saturating_sub(truth.stored).0;
                (lie.stored.0, lie.initial.0) = (lie.stored.0 + missing, lie.initial.0 + missing);
                return lie;
            }
            Self::Wrapped => {
                lie.harvested.0 += 1 << 63;
                lie.spent[Phase::Sleep].0 += 1 << 63;
                return lie;
            }
            Self::SetBack => return *before,
            Self::Harvested => {
                (lie.stored.0, lie.harvested.0) = (lie.stored.0 + 1, lie.harvested.0 + 1);
                return lie;
            }
            Self::NothingSpent => lie.stored.0 += spent,
            Self::Conversion => lie.conversion.0 += spent,
            Self::Leaked => lie.leaked.0 += spent,
            Self::Overflow => lie.overflow.0 += spent,
        }
        lie.spent = before.spent;
        lie
    }
}
