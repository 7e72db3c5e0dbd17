//! Trains a thousand epochs of small random networks on the emulated Cortex-M4 and says over the
//! link what came out; the host must find the same number.
#![no_std]
#![no_main]

use gleaner_firmware::board::m4;
use gleaner_firmware::selftest;

#[cortex_m_rt::entry]
fn main() -> ! {
    m4::executor::run(|spawner| spawner.spawn(train().expect("one task")))
}

#[embassy_executor::task]
async fn train() {
    selftest::run(m4::start()).await
}
