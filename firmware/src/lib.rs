//! The board-agnostic federated client.
//!
//! Layers, lowest first:
//! - [`platform`]: the few things a board must offer, as traits.
//! - [`entropy`]: whether a board's noise is worth its name.
//! - [`board`]: one board's implementation of them, chosen by a `board-…` feature.
//! - [`sender`]: a board's serial driver, made to send whatever it is given.
//! - [`model`]: the network's sizes and all memory it needs.
//! - [`data`], [`retained`], [`store`]: samples in flash, the record that survives a reset, and
//!   the energy ledger on top of it.
//! - [`keys`]: the keys that came after the shard's, in flash.
//! - [`client`]: the state machine, no waiting inside.
//! - [`runner`] and `training`: the loop around it, the same on a board and in a test.
#![cfg_attr(not(test), no_std)]

pub mod board;
pub mod client;
pub mod cost;
pub mod data;
pub mod entropy;
mod fmt;
pub mod hash;
pub mod identity;
pub mod keys;
mod local;
pub mod model;
pub mod platform;
pub mod report;
pub mod retained;
pub mod runner;
pub mod selftest;
pub mod sender;
pub mod store;
mod training;
