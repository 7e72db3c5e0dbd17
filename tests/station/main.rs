//! The base station with boards on lines: the firmware's client over TCP, clients of the test rig and
//! hostile peers.

mod attacks;
mod board;
mod doctor;
mod door;
mod fleet;
mod infer;
mod ledgers;
mod measure;
mod peers;
mod rekey;
mod third_party;
