//! The loop around the client.

use embassy_time::{Duration, with_timeout};
use embedded_io_async::{Read, Write};

use crate::platform::{Board, CycleCounter, Lamp, Watchdog};

/// Runs the client for ever.
pub async fn run<Rx: Read, Tx: Write, C: CycleCounter, W: Watchdog, L: Lamp>(
    mut board: Board<Rx, Tx, C, W, L>,
) -> ! {
    let mut buffer = [0; 256];
    let _ = board.tx.write_all(b"hello").await;
    loop {
        board.watchdog.feed();
        if let Ok(Ok(count)) =
            with_timeout(Duration::from_millis(500), board.rx.read(&mut buffer)).await
        {
            let _ = board.tx.write_all(&buffer[..count]).await;
        }
    }
}
