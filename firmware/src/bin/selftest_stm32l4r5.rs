//! Trains a thousand epochs of small random networks on a Nucleo-L4R5ZI and says over the
//! link what came out; the host must find the same number.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::stm32;
use gleaner_firmware::selftest;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    selftest::run(stm32::start(spawner)).await
}
