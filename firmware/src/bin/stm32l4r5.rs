//! Entry point of a Nucleo-L4R5ZI.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::app::NoApp;
use gleaner_firmware::board::{client_memory, stm32};
use gleaner_firmware::runner::Runner;
use static_cell::StaticCell;

static RUNNER: StaticCell<Runner<stm32::Nucleo>> = StaticCell::new();

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let runner = Runner::place(RUNNER.uninit(), stm32::start(spawner));
    runner.run(client_memory(), &mut NoApp).await
}
