//! Entry point of a Raspberry Pi Pico 2.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::app::NoApp;
use gleaner_firmware::board::{client_memory, rp};
use gleaner_firmware::runner::Runner;
use static_cell::StaticCell;

static RUNNER: StaticCell<Runner<rp::Pico>> = StaticCell::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let runner = Runner::place(RUNNER.uninit(), rp::start(spawner));
    runner.run(client_memory(), &mut NoApp).await
}
