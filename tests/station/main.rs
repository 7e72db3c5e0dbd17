//! The base station with boards on lines: the firmware's client over TCP, clients of the test rig and
//! hostile peers.

mod answers;
mod attacks;
mod board;
mod doctor;
mod door;
mod fleet;
mod infer;
mod ledgers;
mod measure;
mod peers;
mod privacy;
mod rekey;
mod stall;
mod third_party;
