//! Counts what frames cost on a Nucleo-L4R5ZI with this cipher and with others.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::stm32;
use gleaner_firmware::selftest;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    selftest::compare(stm32::start(spawner)).await
}
