//! Learning without a radio: data sets, partitions, training, aggregation and the server's step.
//!
//! # Layers, lowest first
//!
//! 1. [`data`]: images with labels, from the program, the cache or a folder.
//! 2. [`partition`]: the samples of each client.
//! 3. [`train`]: the networks, their losses and gradients, and the engine that trains many
//!    clients at once, with the same bits on any number of threads.
//! 4. [`aggregate`]: the rules that turn the clients' models into one.
//! 5. [`server`]: the base station's step towards that model, with momentum of earlier rounds.
//!
//! A module uses those before it. Channels, energy and the choice of participants are in
//! `gleaner-cre`; rounds, runs, boards and reports in `gleaner-host`.
//!
//! # Example
//!
//! Three rounds of federated learning on the images inside the program:
//!
//! ```
//! use gleaner_learn::aggregate::{Contribution, Rule};
//! use gleaner_learn::data::embedded;
//! use gleaner_learn::partition::{self, Plan, Scheme};
//! use gleaner_learn::server::{Momentum, Server, Step};
//! use gleaner_learn::train::{Engine, Job, Kernel, Mlp, Model};
//!
//! let set = embedded::mnist_subset()?;
//! let plan = Plan {
//!     scheme: Scheme::Degree { degree: 0.4 },
//!     clients: 5,
//!     mean_samples: 200.0,
//!     deviation_samples: 20.0,
//! };
//! let owned = partition::deal(&plan, &set, 1)?.clients;
//!
//! let kernel = Kernel::chosen()?;
//! let network = Mlp::paper(kernel);
//! let clients: Vec<_> = owned.iter().map(|own| network.objective(&set.train, own)).collect();
//! let test = network.objective(&set.test, &(0..2000).collect::<Vec<_>>());
//!
//! let momentum = Momentum { momentum: 0.5, rate: 1.0, nesterov: false };
//! let step = Step::Momentum(momentum);
//! let server = Server::new(step, kernel, &network.tensors(), network.parameters());
//! let engine = Engine::new(0)?;
//! let mut model = network.initialise(1);
//! let mut state = server.start(&model, clients.len());
//! for _round in 0..3 {
//!     let jobs: Vec<_> = clients
//!         .iter()
//!         .map(|client| Job {
//!             objective: client.as_ref(),
//!             start: &model,
//!             epochs: 10,
//!             learning_rate: 0.3,
//!         })
//!         .collect();
//!     let trained = engine.train(&jobs);
//!     let updates: Vec<_> = trained
//!         .iter()
//!         .enumerate()
//!         .map(|(client, trained)| {
//!             let update = Contribution {
//!                 samples: owned[client].len() as u32,
//!                 epochs: 10,
//!                 model: &trained.parameters,
//!                 scale: 1.0,
//!                 trust: 1.0,
//!             };
//!             (client, update)
//!         })
//!         .collect();
//!     model = server.advance(&mut state, Rule::Mean, &model, &updates);
//! }
//! assert!(engine.evaluate(test.as_ref(), &model).accuracy() > 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

pub mod aggregate;
pub mod data;
pub mod partition;
pub mod privacy;
pub mod server;
pub mod train;
mod upload;

pub use upload::Uploads;

/// The page on training, whose example is tested with those of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/training.md")]
struct Page;
