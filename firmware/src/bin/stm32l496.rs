//! Entry point of a Nucleo-L496ZG.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::{client_memory, stm32};
use gleaner_firmware::runner;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    runner::run(stm32::start(spawner), client_memory()).await
}
