//! Learning on the host.
#![deny(unsafe_code)]

pub mod aggregate;
pub mod data;
pub mod partition;
pub mod reference;
pub mod train;
