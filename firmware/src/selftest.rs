//! The self-test's loop: the fingerprint of many small trainings, over and over on the link.

use embedded_io_async::Write;
use gleaner_shared::mlp::selftest::small_nets;
use gleaner_shared::units::Micros;

use crate::platform::{Board, Clock, Platform, Watchdog};

/// Says the fingerprint, little endian, once a second.
pub async fn run<P: Platform>(mut board: Board<P>) -> ! {
    let fingerprint = small_nets();
    loop {
        board.watchdog.feed();
        // Nobody may be listening yet: it is said again.
        let _ = board.tx.write_all(&fingerprint.to_le_bytes()).await;
        let later = board.clock.now().saturating_add(Micros(1_000_000));
        board.clock.wait_until(later).await;
    }
}
