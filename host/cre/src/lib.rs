//! The paper's mathematics: costs of a round of federated learning over fading channels, and the
//! choice of participants, channels, transmit powers and epochs.
//!
//! # Layers, lowest first
//!
//! 1. [`units`]: physical quantities, one type per unit.
//! 2. [`channel`]: positions of clients, channel gains, rates, latencies and energies
//!    (Sections II-B and II-C).
//! 3. [`costs`]: energy costs beside the paper's.
//! 4. [`bound`]: the upper bound on the loss (Section III).
//! 5. [`estimate`]: delta, rho and beta from the results of a round (Eqs. (17a) to (17c)).
//! 6. [`system`]: radio, devices and targets of a system, as far as a round's problem needs them.
//! 7. [`optim`]: one round's problem P2 and its solvers (Section IV).
//!
//! A module uses those before it. Other crates have samples, models and training (`gleaner-learn`),
//! the integers in which devices count energy (`gleaner-shared`), and files, scenarios, threads and
//! the command line (`gleaner-host`).
//!
//! # The paper's symbols
//!
//! | Symbol | Meaning | Item |
//! |---|---|---|
//! | U, C | clients, uplink channels | [`Instance::clients`](optim::Instance::clients), [`Instance::channels`](optim::Instance) |
//! | D_i, w_i, w~_i | samples, weights among all and among participants | [`bound::weights`], [`bound::participation_weights`] |
//! | h_i | power gain of a channel | [`units::Gain`], drawn by [`channel::Emulation`] |
//! | v_up, t_up, e_up | rate, time and energy of an upload | [`channel::shannon_rate`], [`Instance::upload_s`](optim::Instance::upload_s), [`RadioCost`](costs::RadioCost) |
//! | t_down | time of the broadcast | [`RadioParams::downlink_time`](channel::RadioParams::downlink_time) |
//! | T_i, E_i | time and energy of an epoch | [`channel::epoch_latency`], [`channel::epoch_energy`] |
//! | delta_i | data divergence | [`estimate::Divergence`] |
//! | rho, beta | Lipschitz and smoothness constants | [`estimate::lipschitz`], [`estimate::smoothness`] |
//! | A_1, A_2 | heterogeneity of a set of participants | [`bound::Heterogeneity`] |
//! | A_3, eta, B_1, F gap | the rest of the bound | [`bound::LossBound`] |
//! | Z_i, q_i | energy queue and balance | `queue_j` of [`optim::Instance`], `balance_j` of [`optim::Evaluation`] |
//! | a_i, p_i, tau | participation, powers, epochs | [`optim::Plan`] |
//! | J, V | objective of P2 and its penalty factor | [`optim::evaluate`], `v` of [`optim::Instance`] |
//!
//! # Example
//!
//! ```
//! use gleaner_cre::channel::Emulation;
//! use gleaner_cre::optim::{Instance, Solver};
//! use gleaner_cre::system::System;
//!
//! // Draw the channels of ten clients on three uplink channels in round 1.
//! let system = System::paper_mlp();
//! let gains = Emulation::new(7, 10, 3, system.radio).round(1);
//! // State the round's problem. Client 0 is far behind with its energy.
//! let mut instance = Instance::paper(&system, gains, vec![1000; 10]);
//! instance.queue_j[0] = 1.0;
//! // Solve it, and print the order of each participant.
//! let solution = Solver::Exact.solve(&instance, 0)?;
//! for upload in &solution.plan.uploads {
//!     println!(
//!         "client {} trains {} epochs and uploads on channel {} at {:.2} mW",
//!         upload.client, solution.plan.epochs, upload.channel, upload.power_w * 1e3
//!     );
//!     assert_ne!(upload.client, 0);
//! }
//! assert_eq!(solution.gap(&instance), Some(0.0)); // proven optimal
//! # Ok::<(), gleaner_cre::optim::SolveError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bound;
pub mod channel;
pub mod costs;
pub mod estimate;
pub mod optim;
pub mod system;
pub mod units;
