//! What a server remembers from round to round.

use serde::{Deserialize, Serialize};

/// The memory of a [`Server`](super::Server); a plain one has none. With the settings it determines
/// every later step, so it belongs in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Steps taken, k.
    pub(super) steps: u32,
    /// The momentum m, one value a parameter.
    pub(super) momentum: Vec<f64>,
    /// The mean square v of the gradients' lengths.
    pub(super) mean_square: f64,
    /// The length of every layer's first weights, ||W_0||.
    pub(super) sizes: Vec<f64>,
    /// The last length of every client's gradient before any cut; 0 for one that was never heard.
    pub(super) lengths: Vec<f64>,
}

impl State {
    /// Returns the numbers of parameters, layers and clients it remembers.
    pub(super) fn extent(&self) -> [usize; 3] {
        [self.momentum.len(), self.sizes.len(), self.lengths.len()]
    }

    /// Says whether every number in it is one.
    pub(super) fn is_finite(&self) -> bool {
        let all = |values: &[f64]| values.iter().all(|value| value.is_finite());
        all(&self.momentum)
            && all(&self.sizes)
            && all(&self.lengths)
            && self.mean_square.is_finite()
    }
}

/// A memory that is not this server's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// It was made for another network, another rule or other clients.
    #[error(
        "the server's state remembers {found:?} parameters, layers and clients, {expected:?} are \
         expected: it belongs to another network, server.rule or number of clients"
    )]
    Foreign {
        /// What it remembers.
        found: [usize; 3],
        /// What this server would.
        expected: [usize; 3],
    },
    /// It holds something that is no number.
    #[error("the server's state is not finite")]
    NotFinite,
}
