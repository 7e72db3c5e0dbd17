//! The board-agnostic federated client.
//!
//! Layers, lowest first:
//! - [`platform`]: the few things a board must offer, as traits.
//! - [`board`]: one board's implementation of them, chosen by a `board-…` feature.
#![cfg_attr(not(test), no_std)]

pub mod board;
pub mod platform;
#[cfg(feature = "_device")]
pub mod runner;
