//! The federated client, independent of the board.
//!
//! Layers, lowest first:
//! - [`platform`]: the parts that a board must supply, as traits.
//! - [`entropy`]: tests of a board's noise source.
//! - [`board`]: the implementation for one board, chosen by a `board-…` feature.
//! - [`sender`]: a wrapper for serial drivers that lose wake-ups.
//! - [`model`]: the network's sizes and all memory it needs.
//! - [`data`], [`round_energy`], [`retained`], [`client_ledger`]: samples in flash, the energy of a
//!   round, the record that survives a reset, and the client's ledger.
//! - [`crash`]: cause of the last reset and crash reports.
//! - [`keys`]: keys received after the shard's, in flash.
//! - [`saved`]: state that survives a power cut: closed rounds and the global model.
//! - [`client`]: the state machine, which never waits.
//! - [`gather`] and [`app`]: samples that the board gathers, and the application that does.
//! - [`marks`] and `measure`: phase marks and steps of a measurement.
//! - [`runner`], `training` and `inference`: the loop around the client, the same on a board and in
//!   a test.
//!
//! The library also runs on the host. A round costs the same however often it is charged:
//!
//! ```
//! use gleaner_firmware::round_energy::RoundEnergy;
//! use gleaner_shared::energy::{Activity, CostModel};
//! use gleaner_shared::units::{Cycles, Micros, PicoJoules};
//!
//! let cost = CostModel::paper(1e-26, 5e8);
//! let mut round = RoundEnergy::open(Micros(10), Micros(1_000_000), PicoJoules(5));
//! round.count(|done| done.train = Cycles(60_000));
//! let first = round.charge(&cost);
//! round.count(|done| done.train = Cycles(100_000));
//! let second = round.charge(&cost);
//!
//! let whole = Activity { train: Cycles(100_000), ..Activity::default() };
//! assert_eq!(first.saturating_add(&second), cost.round(&whole));
//! ```
#![cfg_attr(not(test), no_std)]
#![allow(clippy::new_without_default, reason = "`new` is const, for statics")]

pub mod app;
pub mod board;
pub mod client;
pub mod client_ledger;
pub mod crash;
pub mod data;
pub mod entropy;
pub mod exact;
mod fmt;
pub mod gather;
pub mod identity;
mod inference;
pub mod keys;
mod local;
pub mod marks;
mod measure;
pub mod model;
pub mod platform;
pub mod retained;
pub mod round_energy;
pub mod runner;
pub mod saved;
pub mod selftest;
pub mod sender;
mod training;
