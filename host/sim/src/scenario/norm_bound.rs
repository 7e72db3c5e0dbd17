//! The value of `aggregation.norm_bound`: one of two words, or a factor.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::value::Value;

/// The longest update that counts in full, over the median of the clients' lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum NormBound {
    /// Updates of any length count in full.
    #[default]
    Off,
    /// [`NormBound::AUTO`] times the median.
    Auto,
    /// So many times the median.
    Factor(f64),
}

impl NormBound {
    /// The factor of `auto`, above what changes an honest run: `cargo figures poisoning` prints the
    /// smallest factor that changes none (`docs/results/poisoning.md`).
    pub const AUTO: f64 = 8.0;

    /// Returns the factor; `None` without a bound.
    #[must_use]
    pub const fn factor(self) -> Option<f64> {
        match self {
            Self::Off => None,
            Self::Auto => Some(Self::AUTO),
            Self::Factor(factor) => Some(factor),
        }
    }
}

impl Value for NormBound {
    const KIND: &'static str = "choice or number";

    fn choices() -> Vec<(&'static str, &'static str)> {
        vec![
            ("off", "updates of any length count in full"),
            (
                "auto",
                "8, the default of a fleet with boards; none where privacy.clip bounds updates",
            ),
        ]
    }
}

impl Serialize for NormBound {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => to.serialize_str("off"),
            Self::Auto => to.serialize_str("auto"),
            Self::Factor(factor) => to.serialize_f64(*factor),
        }
    }
}

impl<'de> Deserialize<'de> for NormBound {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::Float(factor) => Ok(Self::Factor(factor)),
            toml::Value::String(word) if word == "off" => Ok(Self::Off),
            toml::Value::String(word) if word == "auto" => Ok(Self::Auto),
            other => Err(D::Error::custom(format!(
                "aggregation.norm_bound = {other}: \"off\", \"auto\" or a number is expected"
            ))),
        }
    }
}
