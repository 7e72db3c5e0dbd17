//! Attacks on a base station and its boards, each as a test of a few seconds and as a figure: forged
//! frames, hostile peers, and runs interrupted at any moment.

pub mod aborts;
mod conversation;
pub mod defence;
pub mod frames;
pub mod hostile;
pub mod marks;
pub mod process;
