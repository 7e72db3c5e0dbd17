//! The ledger of a device that lives on harvested energy.
//!
//! - [`CostModel`] turns cycles and airtime into picojoules, with the paper's model or a
//!   measured profile.
//! - [`Ledger`] holds the store: an order is reserved before any of it is spent, and every
//!   picojoule is accounted for in the identity of [`Snapshot`].
//! - [`RoundRecord`] is what one round did to the store, and [`EnergyQueue`] the base station's
//!   queue Z computed from such records.
//!
//! Everything is an integer, so device and host agree to the picojoule.

mod ledger;
mod model;
mod phase;
mod queue;

pub use ledger::{Ledger, Payment, RoundRecord, Shortfall, Snapshot, Use};
pub use model::{ComputeModel, CostModel, RadioModel};
pub use phase::Phase;
pub use queue::EnergyQueue;
