//! What a base station believes a client will harvest.

use gleaner_shared::units::PicoJoules;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::Harvest;

/// What the base station expects of a round before it begins.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Forecast {
    /// the mean of the client's rounds so far, in round 1 that of its source
    #[default]
    Mean,
    /// what the round before brought, in round 1 the mean of the source
    Last,
    /// what the round will bring
    Oracle,
}

impl Forecast {
    /// Returns what a client is believed to harvest in a round, counted from 1.
    #[must_use]
    pub fn expect(self, harvest: &Harvest, client: usize, round: usize) -> PicoJoules {
        let known = round.saturating_sub(1);
        match self {
            Self::Oracle => harvest.income(client, round),
            _ if known == 0 => harvest.mean(client),
            Self::Last => harvest.income(client, known),
            Self::Mean => harvest.mean_of(client, known),
        }
    }
}
