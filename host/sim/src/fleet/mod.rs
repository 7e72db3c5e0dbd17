//! The simulated clients of a run: set-up from a scenario, float and fixed-point clients, what they remember
//! of their uploads, hostile ones, and lost updates.

mod altered;
mod build;
mod fixed;
mod float;
mod memories;

pub use build::{
    BuildError, Deployment, build, build_around, data_facts, deal, load_data, network, scheme,
    set_aside, shape, smaller_shares,
};
pub use fixed::FixedFleet;
pub use float::FloatFleet;
