//! Counts what frames cost on the emulated Cortex-M4 with this cipher and with others.
#![no_std]
#![no_main]

use gleaner_firmware::board::emulated;
use gleaner_firmware::selftest;

#[cortex_m_rt::entry]
fn main() -> ! {
    emulated::executor::run(|spawner| spawner.spawn(compare().expect("one task")))
}

#[embassy_executor::task]
async fn compare() {
    selftest::compare(emulated::start()).await
}
