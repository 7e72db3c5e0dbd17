//! The energy ledger of a device with an energy harvester.
//!
//! - [`Phase`] is the activity of a device at a moment, and [`Spent`] energy by phase.
//! - [`CostModel`] converts the work of a round, its [`Activity`], to picojoules, with the paper's
//!   model or a measured profile; [`Pace`] is the expected work.
//! - [`Ledger`] books the energy of an [`EnergyStore`] that charges, leaks and overflows: an order
//!   is reserved before any of it is spent, and the identity of [`Snapshot`] accounts for every
//!   picojoule.
//! - [`RoundRecord`] is the change of the store in one round, and [`EnergyQueue`] the base
//!   station's queue Z computed from such records.
//!
//! All amounts are integers, so device and host agree to the picojoule.

mod activity;
mod ledger;
mod model;
mod phase;
mod queue;
mod store;

pub use activity::{Activity, Pace};
pub use ledger::{Flows, Ledger, Payment, RoundRecord, Shortfall, Snapshot};
pub use model::{ComputeModel, CostModel, RadioModel};
pub use phase::{Phase, Spent};
pub use queue::EnergyQueue;
pub use store::{Capacitor, EnergyStore};
