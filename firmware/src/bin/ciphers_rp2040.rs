//! Counts what frames cost on a Raspberry Pi Pico with this cipher and with others.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::rp;
use gleaner_firmware::selftest;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    selftest::compare(rp::start(spawner)).await
}
