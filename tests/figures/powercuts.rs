//! `cargo figures powercuts`: cuts the power inside every word and every erasure of a board's flash
//! in a run of ten rounds, and starts the board again; then inside the operations of the images in
//! their emulators.

use gleaner_shared::units::Micros;
use gleaner_station::device::image::Program;
use gleaner_tests::cut_run::RecordedRun;
use gleaner_tests::emulated::{on_failing_m4, on_rp2040, on_stm32};
use gleaner_tests::power_cut::{Recorded, Restart, close_and_fail};
use gleaner_tests::station::Station;
use gleaner_tests::wire::LockstepWire;
use gleaner_tests::{progress, reset};

/// How long a board may take to be in step again.
const LIMIT: Micros = Micros(3_000_000);
/// Operations of an M4 when a first round is closed: three of the journal, 20 sectors and 314 pages.
const M4_OPERATIONS: u32 = 337;
/// Operations at the beginning and at the end that are never left out: the journal's and the
/// erasures, and the header's.
const FIRST: u32 = 60;
const LAST: u32 = 32;
/// Every so many cuts the board also does the work of the round after.
const WORK: usize = 20;

/// Number of power cuts to make.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ways in which each torn word reads afterwards, in the host's model of flash.
    #[arg(long, default_value_t = 2)]
    seeds: u64,
    /// There the whole client is started after every so many operations.
    #[arg(long, default_value_t = 10)]
    stride: usize,
    /// Cuts the power of an RP2040 in rp2040js in each so manieth page of a model, and in every other
    /// operation; 0 leaves it out.
    #[arg(long, default_value_t = 1)]
    rp2040: u32,
    /// The same of an STM32 in Unicorn, in words of eight bytes; 1 takes hours.
    #[arg(long, default_value_t = 31)]
    stm32: u32,
    /// The same of a Cortex-M4 in QEMU, whose round is done again for every cut.
    #[arg(long, default_value_t = 8)]
    m4: u32,
}

/// Runs the figure; a lost round or model stops it.
pub fn run(args: &Args) -> bool {
    let run = RecordedRun::run();
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
    println!("a round closed in the images:");
    let shard = reset::shard();
    let pico = || on_rp2040(Program::Client, Some(&shard));
    let slowest = [
        Some(client.slowest),
        in_lockstep("rp2040", args.rp2040, pico),
        in_lockstep("stm32", args.stm32, || on_stm32(Some(&shard))),
        on_m4s(args.m4, &shard),
    ];
    println!("closed rounds lost 0, incomes booked twice 0");
    slowest
        .iter()
        .all(|it| it.is_some_and(|after| after <= LIMIT))
}

/// Returns the operations to cut, all but some of a model's.
fn chosen(operations: u32, stride: u32) -> Vec<u32> {
    let always = |it: u32| it <= FIRST || it + LAST > operations;
    let wanted = |it: &u32| always(*it) || it.is_multiple_of(stride);
    (1..=operations).filter(wanted).collect()
}

/// Closes a round once and cuts the power in one of its operations after another; returns the
/// longest way back, or nothing without the emulator.
fn in_lockstep(
    name: &'static str,
    stride: u32,
    start: impl FnOnce() -> Option<LockstepWire>,
) -> Option<Micros> {
    if stride == 0 {
        return Some(Micros::ZERO);
    }
    let mut closed = Recorded::close(start()?);
    let operations = closed.operations();
    let cuts = chosen(operations, stride);
    let restarts = cuts.iter().enumerate().map(|(at, operation)| {
        let and_work = at.is_multiple_of(WORK) || at + 1 == cuts.len();
        closed.cut(*operation, and_work)
    });
    let slowest = report(name, operations, cuts.len(), restarts);
    let stat = closed.station.wire.stat();
    println!(
        "    {} reads of torn words found by ECC",
        stat.flash_ecc_errors
    );
    // Every start was one of ours.
    (stat.resets as usize == cuts.len()).then_some(slowest)
}

/// The same with a board for every cut; its time is the wall's, so that nothing is said of it.
fn on_m4s(stride: u32, shard: &[u8]) -> Option<Micros> {
    if stride == 0 {
        return Some(Micros::ZERO);
    }
    let cuts = chosen(M4_OPERATIONS, stride);
    on_failing_m4(Program::Client, Some(shard), 0)?;
    let restarts = cuts.iter().filter_map(|operation| {
        let wire = on_failing_m4(Program::Client, Some(shard), *operation)?;
        Some(close_and_fail(&mut Station::new(wire)))
    });
    report("m4", M4_OPERATIONS, cuts.len(), restarts);
    Some(Micros::ZERO)
}

/// Goes through the cuts and says what came of them; returns the longest way back.
fn report(
    name: &'static str,
    operations: u32,
    cuts: usize,
    restarts: impl Iterator<Item = Restart>,
) -> Micros {
    let bar = progress(name, cuts as u64);
    let (mut slowest, mut knew, mut held) = (Micros::ZERO, 0, 0);
    for restart in restarts {
        slowest = slowest.max(restart.after);
        knew += usize::from(restart.knew_the_round);
        held += usize::from(restart.held_the_model);
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!(
        "  {name}: {cuts} cuts in {operations} operations, in step within {slowest}; \
         {knew} knew the round by themselves, {held} held the model"
    );
    slowest
}
