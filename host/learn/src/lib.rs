//! Learning on the host: data sets, their partition, training and aggregation; and what is said of
//! files wherever they are read or written.
#![deny(unsafe_code)]

pub mod aggregate;
pub mod data;
pub mod digest;
pub mod file;
pub mod partition;
pub mod reference;
pub mod train;
