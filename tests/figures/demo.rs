//! The demonstration of `gleaner emulate --run`: emulated boards learn past 60 %, end with the model of
//! simulated clients, and spend on computing what the model says, within 5 %.

use std::time::Duration;

use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::demo::{self, PRESET};
use gleaner_station::device::Board;
use gleaner_station::device::emulator::prepare;
use gleaner_station::fleet_file::FleetFile;
use gleaner_station::ledgers::{Ledgers, Pair};
use gleaner_station::log::{EVENTS, each_line};
use gleaner_station::setup::{Options, overrides};
use gleaner_tests::runs::{Folder, emulated_fleet, options, simulated, with_boards};

/// Length of the demonstration.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rounds; the accuracy is asked of ten and more.
    #[arg(long, default_value_t = 10)]
    rounds: i64,
}

/// The accuracy to pass, and how far computing may be from the model.
const ACCURACY: f64 = 0.6;
const DEVIATION: f64 = 0.05;

/// Tells whether the demonstration holds.
pub fn run(args: &Args) -> bool {
    let kinds = [Board::Rp2040, Board::Rp2040, Board::M4, Board::M4];
    let mut fleet = emulated_fleet(&kinds, 0);
    let scenario = scenario(&fleet, args.rounds);
    demo::fill_stores(&mut fleet, &scenario);
    prepare(&fleet.emulated(), gleaner_shared::board::Shape::PAPER).expect("emulators and images");
    let (boards, alone) = (Folder::new("demo-boards"), Folder::new("demo-alone"));
    let expected = simulated(&scenario, &alone);
    let options = Options {
        wall_limit: Duration::from_secs(900),
        ..options()
    };
    let outcome = with_boards(&scenario, &fleet, &boards, &options).outcome;

    let accuracy = outcome.summary.final_accuracy;
    let same = outcome.model_sha256 == expected.model_sha256;
    println!(
        "accuracy {:.1} % after {} rounds in {:.0} s; {}",
        100.0 * accuracy,
        args.rounds,
        outcome.wall.as_secs_f64(),
        if same {
            "the simulated model"
        } else {
            "NOT the simulated model"
        }
    );
    let events = each_line(&boards.run().file(EVENTS)).expect("an event log");
    let ledgers = Ledgers::of(events).expect("a whole event log");
    let mut near = ledgers.boards.len() == kinds.len();
    for (client, ledger) in &ledgers.boards {
        let Pair { model_j, board_j } = ledger.compute;
        let off = board_j / model_j - 1.0;
        let rounds = f64::from(ledger.rounds.max(1));
        println!(
            "client {client}: {} orders, computing {:.3} mJ each, modelled {:.3}, off by {:+.1} %",
            ledger.rounds,
            1e3 * board_j / rounds,
            1e3 * model_j / rounds,
            100.0 * off
        );
        near &= off.abs() <= DEVIATION;
    }
    same && near && (accuracy > ACCURACY || args.rounds < 10)
}

/// Resolves the preset as the command does.
fn scenario(fleet: &FleetFile, rounds: i64) -> Scenario {
    let mut sets = overrides(fleet);
    sets.push(Override::new("run.rounds", rounds));
    let common = resolve(PRESET, &sets).expect("the preset");
    let classes = demo::classes(fleet, &common, &[]).expect("the boards' presets");
    sets.insert(0, classes);
    resolve(PRESET, &sets).expect("the preset with classes")
}
