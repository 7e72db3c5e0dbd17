//! The upper bound on the loss (Section III of the paper): one function per equation.
//!
//! [`Heterogeneity`] describes the participants and [`LossBound`] the model; together they give
//! Theorem 1, Theorem 2 and Corollary 1.

mod heterogeneity;
mod individual;
mod loss;

pub use heterogeneity::{Heterogeneity, a1, a2, participation_weights, weights};
pub(crate) use heterogeneity::{Sums, a1_of_sums, a2_of_sums};
pub use individual::IndividualDrift;
pub(crate) use loss::drift_factor;
pub use loss::{BoundParts, LossBound};
