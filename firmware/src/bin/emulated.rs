//! Entry point of the emulated board.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::emulated;
use gleaner_firmware::runner;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    runner::run(emulated::start(spawner)).await
}
