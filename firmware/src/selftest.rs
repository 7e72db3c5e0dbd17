//! The self-test: the fingerprint of many small trainings, and what frames cost; or, if it was told
//! to die, how it did.

use core::task::Poll;

use embassy_futures::poll_once;
use embedded_io_async::Read as _;
use gleaner_shared::mlp::selftest::{networks, small_nets};

use crate::cost;
use crate::crash::CrashLog;
use crate::fault;
use crate::platform::{Board, Platform, Watchdog};
use crate::report::Report;

/// Tests itself and says what came out.
pub async fn run<P: Platform>(mut board: Board<P>) -> ! {
    let mut report = Report::new();
    let crashes = CrashLog::open(&mut board.crashes, board.reset);
    if let Some(crash) = crashes.untold() {
        fault::say(crash, &mut report);
        report.repeat(board, |_| {}).await
    }
    cost::frames(&board.cycles, &mut report, || board.watchdog.feed());
    let fingerprint = small_nets(|| {
        board.watchdog.feed();
        obey(&mut board);
    });
    report.say("fingerprint", 8, fingerprint);
    report.say("networks", 8, networks(|| board.watchdog.feed()));
    report.repeat(board, obey).await
}

/// Dies if it was told to.
fn obey<P: Platform>(board: &mut Board<P>) {
    let mut bytes = [0; 8];
    if let Poll::Ready(Ok(count @ 1..)) = poll_once(board.rx.read(&mut bytes)) {
        fault::inject(bytes[count - 1]);
    }
}
