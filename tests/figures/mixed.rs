//! `cargo figures mixed`: two Picos, two M4s, two STM32s and two simulated clients end a run with the
//! very model of eight simulated clients.

use gleaner_station::device::Board;
use gleaner_station::device::emulator::prepare;
use gleaner_tests::runs::emulated_as_simulated;

/// Options of `cargo figures mixed`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rounds of the run.
    #[arg(long, default_value_t = 10)]
    rounds: i64,
    /// Scheduler of both runs, as in a scenario.
    #[arg(long, default_value = "cre")]
    scheduler: String,
}

/// Compares the two runs.
pub fn run(args: &Args) -> bool {
    let boards: Vec<Board> = Board::emulated().collect();
    if let Err(missing) = prepare(&boards, gleaner_shared::board::Shape::PAPER) {
        println!("{missing}");
        return false;
    }
    let hash = emulated_as_simulated(&args.scheduler, args.rounds);
    println!("{} rounds, both end with the model {hash}", args.rounds);
    true
}
