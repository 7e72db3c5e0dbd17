//! Entry point of the emulated Cortex-M4.
#![no_std]
#![no_main]

use gleaner_firmware::board::{client_memory, emulated};
use gleaner_firmware::runner;

#[cortex_m_rt::entry]
fn main() -> ! {
    emulated::executor::run(|spawner| spawner.spawn(client().expect("one client")))
}

#[embassy_executor::task]
async fn client() {
    runner::run(emulated::start(), client_memory()).await
}
