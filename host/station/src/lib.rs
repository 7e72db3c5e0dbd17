//! The base station over real links: boards and simulated clients as one fleet for the round engine.
//!
//! # Example
//!
//! A fleet file lists the clients of a run; [`fleet_file::link`] explains the kinds of links.
//!
//! ```
//! use gleaner_station::fleet_file::{Access, FleetFile, Link};
//!
//! let text = r#"
//!     [[client]]
//!     name = "pico"
//!     id = 0
//!     link = "serial"
//!     usb_serial = "E6614103E7174B2C"
//!     key = "0909090909090909090909090909090909090909090909090909090909090909"
//!
//!     [[client]]
//!     name = "m4"
//!     id = 1
//!     link = "emulated"
//!     chip = "m4"
//!
//!     [[client]]
//!     name = "other"
//!     id = 2
//!     link = "simulated"
//! "#;
//! let fleet = FleetFile::parse(text, "fleet.toml")?;
//! assert!(matches!(fleet.clients[0].access(), Access::Connect(_)));
//! assert!(matches!(fleet.clients[1].access(), Access::Emulate(_)));
//! assert_eq!(fleet.clients[2].link, Link::Simulated);
//! // The emulated board has no key.
//! assert!(fleet.key_warning().unwrap().starts_with("1 board"));
//! # Ok::<(), gleaner_station::fleet_file::FleetFileError>(())
//! ```
//!
//! # Layers
//!
//! From the lowest to the highest:
//! - [`device`]: boards as hardware: table, images, shards, flash, debug probes, emulators.
//! - [`fleet_file`]: the clients of a run, `fleet.toml`.
//! - [`event`], [`bus`], [`log`]: events of boards, their way to log and live view within a
//!   quota per board, and `events.jsonl`.
//! - [`link`], [`peer`], [`listener`]: lines to boards, the wire protocol on a line, and the listener
//!   for boards that connect by themselves.
//! - [`board`]: the task of one board; its session is a state machine without I/O.
//! - [`service`]: sessions outside of runs: key rotation, inference, measurement, boot mode.
//! - [`fleet`], [`stored_updates`], [`replay`]: all clients as a fleet for the engine, and the replay
//!   of a run from its log. `deadline`, `standing` and `collect` say how long a round waits for whom.
//! - [`setup`], [`execute`], [`stop`]: from a scenario and a fleet file to a run.
//! - [`doctor`], [`ledgers`], [`books`], [`demo`]: checks of a fleet, comparison of ledgers with the
//!   orders and of their energy with the model's, the preset `demo`.
#![forbid(unsafe_code)]

pub mod board;
mod boards_report;
pub mod books;
pub mod bus;
mod collect;
mod cycles;
mod deadline;
mod decisions;
pub mod demo;
pub mod device;
pub mod doctor;
pub mod event;
pub mod execute;
pub mod fleet;
pub mod fleet_file;
pub mod ledgers;
pub mod link;
pub mod listener;
pub mod log;
pub mod peer;
mod rate_limit;
pub mod replay;
pub mod service;
pub mod setup;
mod standing;
pub mod stop;
pub mod stored_updates;

pub use board::Handle;
pub use boards_report::{BoardsReport, LEDGERS_DIFFER, mismatched_boards};
pub use cycles::cycles_warning;
