//! The parts of a track: what is held equal, and what is not.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// One part of a track.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize
)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
pub enum Part {
    /// the paper's rules: every scheduler with the server it was described with
    #[serde(rename = "a")]
    #[strum(serialize = "a")]
    Paper,
    /// the same server step for everyone: `spectral`, baselines at the least power
    #[serde(rename = "b")]
    #[strum(serialize = "b")]
    Server,
    /// learning rate or step tuned per scheduler on validation images, baselines at the least power
    #[serde(rename = "c")]
    #[strum(serialize = "c")]
    Tuned,
}

impl Part {
    /// Returns what stands above its tables.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Paper => "(a) as each scheduler was described",
            Self::Server => "(b) the same server step for everyone",
            Self::Tuned => "(c) rate or step tuned on validation images",
        }
    }
}
