//! The contract both ends of Gleaner compile: numbers and bytes, nothing of hardware or
//! operating systems.
//!
//! Layers, lowest first:
//! - [`units`]: integer physical quantities and their scales.
//! - [`rng`]: seeded random streams, the same on host and device.
//! - [`energy`]: the ledger of a device that lives on harvested energy.
//! - [`mlp`]: the fixed-point network, its training and its compressed updates.
//! - [`shard`]: a client's samples as they lie in flash.
//! - [`wire`]: frames, messages, model transfer and the link's state machines.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

pub mod energy;
pub mod mlp;
pub mod rng;
pub mod shard;
pub mod units;
pub mod wire;
