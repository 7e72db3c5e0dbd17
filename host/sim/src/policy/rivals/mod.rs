//! Schedulers of the energy-harvesting literature, one file each, with the citation and our reading
//! of the rule on top.
//!
//! A rival decides which clients participate. What its paper leaves open is the same for all of them, so that
//! their choice of clients is what is compared: one local epoch, as `glean` has it; the power of
//! `baselines.power`; and those chosen are put on the channels so that their bills add up to least.

mod bids;
mod eafl;
mod fedbacys;
mod greedy;
mod ocean;
mod sustainable;
mod uniform;
mod version_age;

pub use eafl::Eafl;
pub use fedbacys::FedBacys;
pub use greedy::Greedy;
pub use ocean::Ocean;
pub use sustainable::Sustainable;
pub use uniform::UniformEhfl;
pub use version_age::VersionAge;

use gleaner_shared::rng::{Purpose, Rng};

use super::View;

/// Returns the generator of a round's draws.
fn lots(view: &View<'_>) -> Rng {
    Rng::stream(view.seed, Purpose::Schedule, 0, view.round)
}

/// Puts clients in a random order, the same for the same seed and round.
fn shuffled(view: &View<'_>, mut clients: Vec<usize>) -> Vec<usize> {
    lots(view).shuffle(&mut clients);
    clients
}

#[cfg(test)]
mod tests;
