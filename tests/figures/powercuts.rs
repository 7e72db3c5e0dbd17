//! `cargo figures powercuts`: cuts the power inside every word and every erasure of a board's flash
//! in a run of ten rounds, and starts the board again; if asked, inside the operations of the
//! images in their emulators, too.

use gleaner_host::device::image::Program;
use gleaner_shared::units::Micros;
use gleaner_tests::blackout::{Awakening, close_and_fail};
use gleaner_tests::emulated::{on_failing_m4, on_rp2040};
use gleaner_tests::power::Rehearsed;
use gleaner_tests::rehearsal;
use gleaner_tests::station::Station;

/// How long a board may take to be in step again.
const LIMIT: Micros = Micros(3_000_000);
/// Operations when a first round is closed: three of the journal, 20 sectors and 314 pages.
const OPERATIONS: u32 = 337;

/// How thorough to be.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ways in which each torn word reads afterwards.
    #[arg(long, default_value_t = 2)]
    seeds: u64,
    /// The whole client is started after every so many operations.
    #[arg(long, default_value_t = 10)]
    stride: usize,
    /// Cuts the power of an RP2040 in rp2040js in each so manieth operation; 1 takes an hour.
    #[arg(long)]
    rp2040: Option<usize>,
    /// The same of a Cortex-M4 in QEMU.
    #[arg(long)]
    m4: Option<usize>,
}

/// Runs the figure; a lost round or model stops it.
pub fn run(args: &Args) -> bool {
    let run = Rehearsed::run();
    let state = run.cut_state(true, args.seeds.max(1));
    println!(
        "ten rounds: {} words and sectors, {} of them sectors",
        state.operations, state.erasures
    );
    println!(
        "  state opened after {} cuts, {} models read back",
        state.cuts, state.models
    );
    let client = run.cut_client(args.stride.max(1), 10);
    println!(
        "  client started after {} cuts, provisioned within {}",
        client.cuts, client.slowest
    );
    let rp2040 = images("rp2040", args.rp2040, |operation| {
        let mut wire = on_rp2040(Program::Client, Some(&rehearsal::shard()))?;
        wire.cut_at_flash_op(operation);
        Some(close_and_fail(&mut Station::new(wire)))
    });
    let m4 = images("m4", args.m4, |operation| {
        let wire = on_failing_m4(Program::Client, Some(&rehearsal::shard()), operation)?;
        Some(close_and_fail(&mut Station::new(wire)))
    });
    println!("closed rounds lost 0, incomes booked twice 0");
    // QEMU's time is the wall's.
    m4.is_some() && rp2040.is_some_and(|slowest| slowest.max(client.slowest) <= LIMIT)
}

/// Cuts the power of an image in one operation after another; returns the longest way back.
fn images(
    name: &str,
    stride: Option<usize>,
    mut cut: impl FnMut(u32) -> Option<Awakening>,
) -> Option<Micros> {
    let Some(stride) = stride else {
        return Some(Micros::ZERO);
    };
    let (mut slowest, mut cuts) = (Micros::ZERO, 0);
    for operation in (1..=OPERATIONS).step_by(stride.max(1)) {
        slowest = slowest.max(cut(operation)?.after);
        cuts += 1;
    }
    println!("  {name}: {cuts} cuts, in step within {slowest} of closing the round");
    Some(slowest)
}
