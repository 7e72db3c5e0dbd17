//! The board-agnostic federated client.
//!
//! Layers, lowest first:
//! - [`platform`]: the few things a board must offer, as traits.
//! - [`entropy`]: whether a board's noise is worth its name.
//! - [`board`]: one board's implementation of them, chosen by a `board-…` feature.
//! - [`sender`]: a board's serial driver, made to send whatever it is given.
//! - [`model`]: the network's sizes and all memory it needs.
//! - [`data`], [`books`], [`retained`], [`store`]: samples in flash, what a round costs, the record
//!   that survives a reset, and the energy ledger on top of both.
//! - [`crash`]: how the board came to start, for whoever asks why.
//! - [`keys`]: the keys that came after the shard's, in flash.
//! - [`saved`]: what survives a power cut, in flash: closed rounds and the global model.
//! - [`client`]: the state machine, no waiting inside.
//! - [`gather`] and [`app`]: samples the board gathers itself, and the application that does.
//! - [`marks`] and `measure`: what a measured board did, and the steps it is told to take.
//! - [`runner`], `training` and `inference`: the loop around it, the same on a board and in a test.
#![cfg_attr(not(test), no_std)]

pub mod app;
pub mod board;
pub mod client;
pub mod client_ledger;
pub mod cost;
pub mod crash;
pub mod data;
pub mod entropy;
pub mod exact;
pub mod fault;
mod fmt;
pub mod gather;
pub mod hash;
pub mod identity;
mod inference;
pub mod keys;
mod local;
pub mod marks;
mod measure;
pub mod model;
pub mod platform;
pub mod report;
pub mod retained;
pub mod round_energy;
pub mod runner;
pub mod saved;
pub mod selftest;
pub mod sender;
mod training;
