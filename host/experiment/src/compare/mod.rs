//! Comparisons: the same deployment under several schedulers, over several seeds.

mod charts;
mod plan;
mod report;
mod statistics;

pub(super) use charts::{colour_of, over_seeds};
pub use plan::{Row, Variant, plan};
pub use report::{best, table, write};
pub use statistics::Statistic;
