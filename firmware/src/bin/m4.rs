//! Entry point of m4, QEMU's mps2-an386.
#![no_std]
#![no_main]

use gleaner_firmware::app::NoApp;
use gleaner_firmware::board::{client_memory, m4};
use gleaner_firmware::runner::Runner;
use static_cell::StaticCell;

static RUNNER: StaticCell<Runner<m4::EmulatedM4>> = StaticCell::new();

#[cortex_m_rt::entry]
fn main() -> ! {
    m4::executor::run(|spawner| spawner.spawn(client().expect("one client")))
}

#[embassy_executor::task]
async fn client() {
    let runner = Runner::place(RUNNER.uninit(), m4::start());
    runner.run(client_memory(), &mut NoApp).await
}
