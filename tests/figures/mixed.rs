//! `cargo figures mixed`: two Picos, two M4s, two STM32s and two simulated clients end a run with the
//! very model of eight simulated clients.

use gleaner_station::device::Board;
use gleaner_station::device::emulator::prepare;
use gleaner_tests::octet::{equal_to_the_bit, scenario};

/// How long.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rounds of the run.
    #[arg(long, default_value_t = 10)]
    rounds: i64,
    /// Who decides them.
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
    match equal_to_the_bit(&scenario(&args.scheduler, args.rounds)) {
        Some(hash) => {
            println!("{} rounds, both end with the model {hash}", args.rounds);
            true
        }
        None => false,
    }
}
