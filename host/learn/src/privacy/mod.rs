//! Differential privacy at the base station: a mean of bounded sensitivity, Gaussian noise on it, and the
//! accountant of epsilon.
//!
//! The unit is one client, and adjacency is replace-one: two runs are neighbours if they differ in the
//! data of one client, whatever that client sends. The number of clients is public.

mod accountant;
mod mean;
mod noise;

pub use accountant::Mechanism;
pub use mean::BoundedMean;
pub use noise::add_noise;
