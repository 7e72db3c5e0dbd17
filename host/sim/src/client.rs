//! The number of a client, as orders, logs, events and the fleet file carry it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A client's number, from 0; it decides which share of the data the client owns.
///
/// ```
/// use gleaner_sim::ClientId;
///
/// let joules = [0.5, 2.0];
/// assert_eq!(joules[ClientId(1).index()], 2.0);
/// assert_eq!(serde_json::to_string(&ClientId(7)).unwrap(), "7");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientId(pub u32);

impl ClientId {
    /// Returns the client at an index of a slice with one element per client.
    #[must_use]
    pub fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Returns the client's index in slices with one element per client.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
