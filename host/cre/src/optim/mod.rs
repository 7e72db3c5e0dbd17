//! The optimiser of one round: problem P2 of the paper (Section IV).
//!
//! [`Instance`] states the problem, [`Solver`] names a way to solve it, [`Plan`] is the decision
//! and [`Solution`] the decision with its proof. The layers, bottom up: [`power`] and [`epochs`]
//! hold the closed forms of one variable, [`inner`] solves an assignment, and the files named
//! after solvers choose the assignment. [`check`] verifies plans and shares no code with them.

mod anneal;
mod assignment;
pub mod check;
mod choices;
#[cfg(test)]
mod cost_tests;
pub mod epochs;
mod exact;
pub mod individual;
pub mod inner;
mod instance;
mod large;
mod objective;
mod paper;
mod plan;
pub mod power;
mod random;
#[cfg(test)]
mod rate_tests;
mod record;
mod snr;
mod solver;
mod table;
mod validate;

pub use assignment::heaviest_assignment;
pub use exact::best_by_participants;
pub use instance::{Instance, InstanceError};
pub use objective::{Evaluation, evaluate, nobody_objective, slope_by_epochs};
pub use plan::{Plan, Solution, Upload};
pub use random::{draw_cap, draw_costs, draw_modem, random_instance};
pub use solver::{SolveError, Solver};
