//! Self-test on a Nucleo-L4R5ZI: trains small random networks for a thousand epochs and reports
//! their fingerprint, which the host compares with its own.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use gleaner_firmware::board::stm32;
use gleaner_firmware::selftest::{self, CodeMemory};
use static_cell::ConstStaticCell;

static MEMORY: ConstStaticCell<CodeMemory> = ConstStaticCell::new(CodeMemory::new());

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    selftest::run(stm32::start(spawner), MEMORY.take()).await
}
