//! Entry point of the emulated Cortex-M4.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::{client_memory, emulated};
use gleaner_firmware::runner;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    runner::run(emulated::start(spawner), client_memory()).await
}
