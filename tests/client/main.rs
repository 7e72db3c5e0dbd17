//! The firmware's client in this process, its flash and its link, on virtual time.

mod key_store;
mod link;
mod orders;
mod power_cuts;
mod ring;
mod sender;
