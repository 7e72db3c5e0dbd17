//! The ledger of a device that lives on harvested energy.
//!
//! - [`Phase`] is what a device does at a moment, and [`Spent`] energy by phase.
//! - [`CostModel`] turns what a device does in a round, its [`Activity`], into picojoules, with the
//!   paper's model or a measured profile; [`Pace`] is what it expects of itself beforehand.
//! - [`Ledger`] holds the store, a [`EnergyStore`] that fills, leaks and overflows: an order is
//!   reserved before any of it is spent, and every picojoule is accounted for in the identity of
//!   [`Snapshot`].
//! - [`RoundRecord`] is what one round did to the store, and [`EnergyQueue`] the base station's
//!   queue Z computed from such records.
//!
//! Everything is an integer, so device and host agree to the picojoule.

mod activity;
mod ledger;
mod model;
mod phase;
mod queue;
mod store;

pub use activity::{Activity, Pace};
pub use ledger::{Ledger, Payment, RoundRecord, Shortfall, Snapshot};
pub use model::{ComputeModel, CostModel, RadioModel};
pub use phase::{Phase, Spent};
pub use queue::EnergyQueue;
pub use store::{Capacitor, EnergyStore};
