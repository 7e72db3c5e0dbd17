//! The paper, made again: every table and figure from one plan of runs, and a verdict on every claim.
//!
//! An exhibit says which [`Setting`]s it needs ([`Exhibit::settings`]) and how their runs are read
//! ([`Exhibit::show`]); claims are judged by stated rules from the same runs ([`claims`]). Runs are named
//! by the hash of their scenario, so exhibits share them, and a reproduction that was stopped goes on.

pub mod claims;
mod edition;
mod error;
mod exhibit;
mod exhibits;
mod field;
mod least_power;
mod made;
mod make;
mod page;
mod paper;
mod results;
mod scale;
mod section;
mod setting;
mod write;

pub use edition::{Edition, Network};
pub use error::ReproduceError;
pub use exhibit::Exhibit;
pub use field::{Field, Order};
pub use made::Made;
pub use make::{make, plan, read};
pub use paper::{Paper, paper};
pub use results::{Group, Results};
pub use scale::{CIFAR_QUICK_ROUNDS, Cell, Extent, Scale};
pub use section::{Drawing, Section, Titled};
pub use setting::{Setting, Study};
pub use write::{Publication, write};
