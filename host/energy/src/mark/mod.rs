//! What a measured board says it did: one mark per phase, in order.

mod log;

pub use log::{Header, Log, MarkError, Trouble};

use gleaner_shared::energy::Phase;
use serde::{Deserialize, Serialize};

/// One phase of a measured board, told when it is over.
///
/// A phase lasts from its own `t_us` to that of the next mark, so marks leave no gap. While it
/// lasts the board's pins show the phase's code; two marks of one phase in a row share one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Number of the mark, from 0; a gap means that one was lost.
    pub seq: u32,
    /// What the board did.
    #[serde(with = "by_name")]
    pub phase: Phase,
    /// When it began, in microseconds of the board's own clock.
    pub t_us: u64,
    /// Processor cycles it took, as the board counted them; 0 while it waits.
    pub cycles: u64,
    /// Samples worked on.
    pub samples: u32,
    /// Bytes received or sent.
    pub bytes: u32,
    /// The processor's clock meanwhile.
    pub clk_hz: u32,
}

/// Phases by the names that the rest of the system gives them.
mod by_name {
    use gleaner_shared::energy::Phase;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(phase: &Phase, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(phase.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Phase, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Phase::ALL.into_iter().find(|phase| phase.name() == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = Phase::ALL.iter().map(|phase| phase.name()).collect();
            D::Error::custom(format!(
                "no phase is called {name:?}; phases are {}",
                names.join(", ")
            ))
        })
    }
}
