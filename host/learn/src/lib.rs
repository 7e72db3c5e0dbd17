//! Learning without a radio: data sets, their split over clients, training and aggregation.
//!
//! # Layers, lowest first
//!
//! 1. [`data`]: images with labels, from the program, the cache or a folder.
//! 2. [`partition`]: which client holds which samples.
//! 3. [`train`]: the networks, their losses and gradients, and the engine that trains many
//!    clients at once, with the same bits on any number of threads.
//! 4. [`aggregate`]: from the clients' models to where a round leads.
//! 5. [`server`]: the step the base station takes there, with what it remembers of rounds before.
//!
//! A module uses those before it. What does not belong here: channels, energy and the choice of
//! participants (crate `gleaner-cre`), and rounds, runs, boards and reports (crate
//! `gleaner-host`).
//!
//! # Example
//!
//! ```
//! use gleaner_learn::data::embedded;
//! use gleaner_learn::train::{Kernel, Mlp, Model};
//!
//! let set = embedded::mnist_subset()?;
//! let model = Mlp::paper(Kernel::chosen()?);
//! let client = model.objective(&set.train, &(0..200).collect::<Vec<_>>());
//! let mut parameters = model.initialise(0);
//! let losses = client.descend(&mut parameters, 5, 0.5);
//! assert!(client.evaluate(&parameters).loss < losses[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

pub mod aggregate;
pub mod data;
pub mod partition;
pub mod server;
pub mod train;
