//! Example application on m4 (QEMU): replays its own shard window by window and learns from the
//! labels the base station sends.
#![no_std]
#![no_main]

use gleaner_firmware::app::replay::Replay;
use gleaner_firmware::app::window::Window;
use gleaner_firmware::board::{client_memory, m4};
use gleaner_firmware::gather::Ring;
use gleaner_firmware::runner::Runner;
use gleaner_firmware::saved::{SavedRing, ring_sectors};
use gleaner_shared::units::Micros;
use static_cell::{ConstStaticCell, StaticCell};

/// Number of windows kept in RAM and in flash: 12.6 KB.
const SAMPLES: usize = 16;
static RUNNER: StaticCell<Runner<m4::EmulatedM4>> = StaticCell::new();
static RING: ConstStaticCell<Ring<SAMPLES>> = ConstStaticCell::new(Ring::new());
/// A window takes seven calls: 0.7 s.
const EVERY: Micros = Micros(100_000);

#[cortex_m_rt::entry]
fn main() -> ! {
    m4::executor::run(|spawner| spawner.spawn(client().expect("one client")))
}

#[embassy_executor::task]
async fn client() {
    let mut board = m4::start();
    let ring = SavedRing::open(board.take_sectors(ring_sectors(SAMPLES)), RING.take());
    let sensor = Replay::new(board.shard);
    let mut app: Window<_, _, true> = Window::new(sensor, ring, EVERY);
    let runner = Runner::place(RUNNER.uninit(), board);
    runner.run(client_memory(), &mut app).await
}
