//! The contract both ends of Gleaner compile: numbers and bytes, nothing of hardware or
//! operating systems.
//!
//! Layers, lowest first:
//! - [`board`]: the table of boards, one row each.
//! - [`units`]: integer physical quantities and their scales.
//! - [`rng`]: seeded random streams, the same on host and device.
//! - [`energy`]: the ledger of a device that lives on harvested energy.
//! - [`lists`]: what training would search samples for, as it lies behind them in flash.
//! - [`mlp`]: the fixed-point network, its training and its compressed updates.
//! - [`shard`]: a client's samples as they lie in flash.
//! - [`wire`]: frames, messages, model transfer and the link's state machines.
//!
//! A device pays an order from its store, or says what is missing:
//!
//! ```
//! use gleaner_shared::energy::{CostModel, Ledger, Phase, EnergyStore};
//! use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
//!
//! let costs = CostModel::paper(1e-26, 5e8);
//! let compute = costs.compute.energy(Cycles(300_000), 3);
//! let radio = costs.radio.energy(NanoWatts(200_000_000), Micros(8_000));
//!
//! let store = EnergyStore::lossless(PicoJoules::from_joules(0.1));
//! let mut ledger = Ledger::new(PicoJoules::from_joules(3e-3), store);
//! ledger.begin_round(PicoJoules::from_joules(4e-4), Micros(10_000));
//! ledger.reserve(compute.saturating_add(radio)).expect("2.35 mJ of 3.4 mJ");
//! ledger.spend(Phase::Train, compute);
//! ledger.spend(Phase::Transmit, radio);
//! ledger.settle();
//! assert!(ledger.snapshot().is_consistent());
//! assert_eq!(ledger.available(), PicoJoules::from_joules(1.05e-3));
//! let missing = ledger.reserve(radio).expect_err("1.6 mJ of 1.05 mJ").missing();
//! assert_eq!(missing, PicoJoules::from_joules(0.55e-3));
//! ```
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

pub mod board;
pub mod energy;
pub mod lists;
pub mod mlp;
pub mod rng;
pub mod shard;
pub mod units;
pub mod wire;
