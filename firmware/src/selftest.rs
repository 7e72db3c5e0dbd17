//! The self-test: the fingerprint of many small trainings, and what frames cost.

use gleaner_shared::mlp::selftest::small_nets;

use crate::cost;
use crate::platform::{Board, Platform, Watchdog};
use crate::report::Report;

/// Tests itself and says what came out.
pub async fn run<P: Platform>(mut board: Board<P>) -> ! {
    let mut report = Report::new();
    cost::frames(&board.cycles, &mut report, || board.watchdog.feed());
    let fingerprint = small_nets(|| board.watchdog.feed());
    report.say("fingerprint", 8, fingerprint);
    report.repeat(board).await
}

/// Says what frames cost, beside what they would cost with other ciphers.
#[cfg(feature = "bench-ciphers")]
pub async fn compare<P: Platform>(mut board: Board<P>) -> ! {
    let mut report = Report::new();
    cost::frames(&board.cycles, &mut report, || board.watchdog.feed());
    cost::rivals(&board.cycles, &mut report, || board.watchdog.feed());
    report.repeat(board).await
}
