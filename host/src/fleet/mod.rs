//! The clients of a run: how they are set up from a scenario, the two kinds that live in this
//! process, those among them that lie, updates that are lost, and the file that lists those that do not.

mod build;
mod counted;
pub mod demo;
pub mod file;
mod fixed;
mod float;
mod hostile;
mod lost;
mod way;

pub use build::{
    BuildError, Deployment, build, build_around, data_facts, deal, load_data, network, scheme,
    set_aside, shape,
};
pub use counted::counted_with_another;
pub use fixed::FixedFleet;
pub use float::FloatFleet;
