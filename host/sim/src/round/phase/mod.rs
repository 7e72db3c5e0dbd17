//! The phases of a round, in order: [`plan`], [`collect`], [`aggregate`], [`report`].

mod aggregate;
mod collect;
mod plan;
mod report;

pub(super) use aggregate::Aggregated;
pub(super) use collect::{Collected, Delivery, Timing};
pub(super) use plan::Planned;
