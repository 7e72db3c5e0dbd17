//! Gleaner's base station: rounds, schedulers, boards and their runs.
//!
//! # Layers, lowest first
//!
//! 1. [`device`]: boards as hardware: what is known of each, images, shards, flash, emulators.
//! 2. [`policy`]: the schedulers; a view of the round in, orders out.
//! 3. [`scenario`]: the TOML file that says everything a run depends on.
//! 4. [`round`]: the engine, and the trait [`round::Fleet`] that hides where clients live.
//! 5. [`fleet`]: clients in this process, and the list of those elsewhere.
//! 6. [`run`]: a run's directory: logs, checkpoints, resuming.
//! 7. [`station`]: boards over real lines, as one more fleet for the same engine.
//! 8. [`report`]: tables, plots and pages of what a run wrote.
//! 9. [`study`]: many runs: comparisons and sweeps.
//!
//! A module uses itself and those before it. The mathematics is in the crate `gleaner-cre`, the
//! learning in `gleaner-learn`, and what a board compiles, too, in `gleaner-shared`; the command
//! `gleaner` stands on top and is no part of the library. `docs/architecture.md` leads from a
//! change to its file.
//!
//! # Example
//!
//! Two rounds of CRE on the embedded images:
//!
//! ```
//! use gleaner_host::round::{Engine, world};
//! use gleaner_host::{fleet, scenario};
//!
//! let fewer = ["run.rounds=2", "partition.mean_samples=50", "data.test_samples=100"];
//! let fewer = fewer.map(|set| set.parse().expect("key=value"));
//! let scenario = scenario::resolve("paper-mlp", &fewer)?;
//! let data = fleet::load_data(&scenario)?;
//! let mut clients = fleet::build(&scenario, &data, 1)?;
//! let (members, examiner) = (&mut *clients.fleet, &*clients.examiner);
//! let world = world::of(&scenario)?;
//! let mut engine = Engine::new(&scenario, members, examiner, world, clients.model);
//! while !engine.is_finished() {
//!     for log in engine.step()? {
//!         let (round, who) = (log.round.round, &log.round.participants);
//!         println!("round {round}: clients {who:?}, {} J", log.round.spent_j);
//!     }
//! }
//! assert_eq!(engine.state().round(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod device;
pub mod fleet;
pub mod policy;
pub mod report;
pub mod round;
pub mod run;
pub mod scenario;
pub mod station;
pub mod study;
