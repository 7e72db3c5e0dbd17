//! Entry point of a Raspberry Pi Pico.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::{rp2040, client_memory};
use gleaner_firmware::runner;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    runner::run(rp2040::start(spawner), client_memory()).await
}
