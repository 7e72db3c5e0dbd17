//! The paper's mathematics: what a round of federated learning over a fading channel costs, and
//! who should take part in it, on which channel, at what power and for how many epochs.
//!
//! # Layers, lowest first
//!
//! 1. [`units`]: physical quantities, one type per unit.
//! 2. [`channel`]: where clients stand, what their channels do, rates, latencies and energies
//!    (Sections II-B and II-C).
//! 3. [`costs`]: what the paper's energy books leave out.
//! 4. [`bound`]: the upper bound on the loss (Section III).
//! 5. [`estimate`]: delta, rho and beta from what a round showed (Eqs. (17a) to (17c)).
//! 6. [`system`]: radio, devices and targets of a system, as far as a round's problem needs them.
//! 7. [`optim`]: one round's problem P2 and its solvers (Section IV).
//!
//! A module uses those before it. What does not belong here: samples, models and training (crate
//! `gleaner-learn`), the integers devices count energy in (crate `gleaner-shared`), files,
//! scenarios, threads and the command line (crate `gleaner-host`).
//!
//! # The paper's symbols
//!
//! | Symbol | What | Here |
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
//! | a_i, p_i, tau | who takes part, powers, epochs | [`optim::Plan`] |
//! | J, V | objective of P2 and its penalty factor | [`optim::evaluate`], `v` of [`optim::Instance`] |
//!
//! # Example
//!
//! ```
//! use gleaner_cre::bound::LossBound;
//! use gleaner_cre::costs::Costs;
//! use gleaner_cre::optim::{Instance, Solver};
//!
//! // Two clients, one channel: the second is near, but far behind with its energy.
//! let instance = Instance {
//!     channels: 1,
//!     samples: vec![1000, 1000],
//!     gain: vec![vec![1e-9], vec![1e-8]],
//!     downlink_s: 1e-3,
//!     queue_j: vec![0.0, 0.1],
//!     delta: vec![0.3, 0.3],
//!     epoch_s: vec![2e-4; 2],
//!     epoch_j: vec![2.5e-4; 2],
//!     bound: LossBound { rho: 1.0, beta: 10.0, eta: 0.01, b1: 0.3, gap: 1.0 },
//!     v: 1e-3,
//!     energy_unit_j: 1.0,
//!     deadline_s: 0.05,
//!     model_bits: 318_080.0,
//!     bandwidth_hz: 1e6,
//!     noise_w_per_hz: 4e-21,
//!     power_max_w: 0.2,
//!     income_j: vec![4e-4; 2],
//!     reserve_s: vec![0.0; 2],
//!     costs: vec![Costs::PAPER; 2],
//! };
//! let solution = Solver::Exact.solve(&instance, 0)?;
//! assert_eq!(solution.plan.uploads[0].client, 0);
//! assert_eq!(solution.gap(&instance), Some(0.0));
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
