//! Entry point of a Raspberry Pi Pico.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::{client_memory, rp};
use gleaner_firmware::runner;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    runner::run(rp::start(spawner), client_memory()).await
}
