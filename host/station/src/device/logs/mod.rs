//! Boards' logs: defmt records, read from the chip's memory (RTT) while it runs.

mod decode;
mod rtt;

pub use decode::{Dictionary, Line, Lines, LogError};
pub use rtt::UpChannel;
