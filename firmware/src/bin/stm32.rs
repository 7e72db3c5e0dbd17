//! Entry point of the stm32 board.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::stm32;
use gleaner_firmware::runner;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    runner::run(stm32::start(spawner)).await
}
