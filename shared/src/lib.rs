//! The code that both ends of Gleaner compile: numbers and bytes, without hardware or operating
//! system.
//!
//! Layers, lowest first:
//! - [`board`]: the table of boards, one row each.
//! - [`units`]: integer physical quantities and their scales.
//! - [`rng`]: seeded random streams, the same on host and device.
//! - [`energy`]: the energy ledger of a device.
//! - [`lists`]: lists of non-zero pixels, stored after the samples in flash.
//! - [`mlp`]: the fixed-point network, its training and its compressed updates.
//! - [`shard`]: the format of a client's samples in flash.
//! - [`wire`]: frames, messages, model transfer and the link's state machines.
//!
//! Two ends of a link open a session and exchange messages:
//!
//! ```
//! use gleaner_shared::units::Micros;
//! use gleaner_shared::wire::link::{DeviceLink, Event, HostLink, Timing};
//! use gleaner_shared::wire::message::{
//!     About, DeviceId, DeviceToHost, HostToDevice, ModelShape, ShardStatus,
//! };
//! use gleaner_shared::wire::{FrameBuffer, Key};
//!
//! let about = About {
//!     build: "example".try_into().unwrap(),
//!     board: "m4".try_into().unwrap(),
//!     shape: ModelShape { inputs: 784, hidden: 50, outputs: 10 },
//!     largest_transfer: 79_640,
//!     shard: ShardStatus::Absent,
//!     codes: 0b10,
//!     exact: true,
//!     ledger: None,
//!     last_round: None,
//! };
//! // Both ends share a key; each has its own entropy.
//! let key = Key::new([7; 32]);
//! let mut host = HostLink::new(key, [1; 32], Timing::default());
//! let mut device = DeviceLink::new(key, Some([2; 32]), DeviceId([3; 12]), Timing::default());
//!
//! let (mut frame, mut reboots) = (FrameBuffer::new(), 0);
//! for step in 0..40 {
//!     let now = Micros(1_000 * step);
//!     while let Some(mut line) = host.transmit(now, &[], &mut frame) {
//!         while let Some(event) = device.receive(now, &mut line, &mut []) {
//!             match event {
//!                 Event::Connected(()) => device.send(DeviceToHost::About(about.clone())).unwrap(),
//!                 Event::Message(HostToDevice::Reboot) => reboots += 1,
//!                 other => panic!("{other:?}"),
//!             }
//!         }
//!     }
//!     while let Some(mut line) = device.transmit(now, &[], &mut frame) {
//!         while let Some(event) = host.receive(now, &mut line, &mut []) {
//!             if let Event::Connected(greeting) = event {
//!                 assert_eq!(greeting.about, about);
//!                 host.send(HostToDevice::Reboot).unwrap();
//!             }
//!         }
//!     }
//! }
//! assert_eq!(reboots, 1);
//! ```
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]
#![allow(clippy::new_without_default, reason = "`new` is const, for statics")]

pub mod board;
pub mod energy;
pub mod lists;
pub mod mlp;
pub mod rng;
pub mod shard;
pub mod units;
pub mod wire;
