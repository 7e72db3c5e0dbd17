//! Attacks on a base station and its boards, each as a test of a few seconds and as a figure:
//! frames nobody may take, peers nobody may suffer from, runs that are broken off at any moment.

pub mod aborts;
pub mod frames;
pub mod hostile;
pub mod marks;
pub mod siege;
mod talk;
