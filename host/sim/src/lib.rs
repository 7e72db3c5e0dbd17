//! One run of federated learning on one machine: schedulers, the scenario, rounds, simulated clients,
//! the run directory and its report.
//!
//! # Layers, lowest first
//!
//! 1. [`policy`]: the schedulers, which turn a view of the round into orders.
//! 2. [`scenario`]: the TOML file with every setting of a run.
//! 3. [`round`]: the engine, and the trait [`round::Fleet`] that hides where clients live.
//! 4. [`fleet`]: clients in this process.
//! 5. [`run`]: the run directory: logs, checkpoints, resuming.
//! 6. [`report`]: tables, plots and pages of a run's files.
//!
//! A module imports itself and those before it. The paper's mathematics is in the crate `gleaner-cre`,
//! the learning in `gleaner-learn`; boards over real links are in `gleaner-station`, many runs in
//! `gleaner-experiment`. `docs/architecture.md` says which file a change belongs to.
//!
//! # Example
//!
//! Two rounds of CRE on the embedded images:
//!
//! ```
//! use gleaner_sim::round::{Engine, environment};
//! use gleaner_sim::{fleet, scenario};
//!
//! let fewer = ["run.rounds=2", "partition.mean_samples=50", "data.test_samples=100"];
//! let fewer = fewer.map(|set| set.parse().expect("key=value"));
//! let scenario = scenario::resolve("paper-mlp", &fewer)?;
//! let data = fleet::load_data(&scenario)?;
//! let mut clients = fleet::build(&scenario, &data, 1)?;
//! let (members, examiner) = (&mut *clients.fleet, &*clients.examiner);
//! let environment = environment::of(&scenario)?;
//! let mut engine = Engine::new(&scenario, members, examiner, environment, clients.model);
//! while !engine.is_finished() {
//!     for log in engine.step()? {
//!         let (round, who) = (log.round.round, &log.round.participants);
//!         println!("round {round}: clients {who:?}, {} J", log.round.cumulative_spent_j);
//!     }
//! }
//! assert_eq!(engine.state().round(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod client;
pub mod fleet;
pub mod policy;
pub mod report;
pub mod round;
pub mod run;
pub mod scenario;

pub use client::ClientId;
