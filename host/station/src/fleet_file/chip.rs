//! The number a chip has of its own, as `fleet.toml` writes it.

use std::fmt;

use gleaner_shared::wire::message::DeviceId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::entry::bytes_of;

/// A chip's number, written as 24 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipNumber(pub DeviceId);

impl fmt::Display for ChipNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for ChipNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChipNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("a chip's number has 24 hexadecimal digits");
        bytes_of(&text)
            .map(|number| Self(DeviceId(number)))
            .ok_or_else(wrong)
    }
}
