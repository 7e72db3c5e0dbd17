//! Self-test on m4 (QEMU): trains small random networks for a thousand epochs and reports their
//! fingerprint, which the host compares with its own.
#![no_std]
#![no_main]

use gleaner_firmware::board::m4;
use gleaner_firmware::selftest::{self, CodeMemory};
use static_cell::ConstStaticCell;

static MEMORY: ConstStaticCell<CodeMemory> = ConstStaticCell::new(CodeMemory::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    m4::executor::run(|spawner| spawner.spawn(train().expect("one task")))
}

#[embassy_executor::task]
async fn train() {
    selftest::run(m4::start(), MEMORY.take()).await
}
