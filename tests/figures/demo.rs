//! The demonstration of `gleaner emulate --run`: emulated boards learn past 80 %, end with the model of
//! simulated clients, decline at most one order, and book the model's energy within 3 %, that of
//! computing alone too.

use std::time::Duration;

use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::books::Books;
use gleaner_station::demo::{self, PRESET};
use gleaner_station::device::Board;
use gleaner_station::device::emulator::prepare;
use gleaner_station::fleet_file::FleetFile;
use gleaner_station::log::EVENTS;
use gleaner_station::setup::{Options, overrides};
use gleaner_tests::runs::{Folder, emulated_fleet, options, simulated, with_boards};

/// Length of the demonstration.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rounds; the accuracy is asked of ten and more.
    #[arg(long, default_value_t = 10)]
    rounds: i64,
}

/// The accuracy to reach, and how far the books may be from the model.
const ACCURACY: f64 = 0.8;
const DEVIATION: f64 = 0.03;

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
        round_limit: Some(Duration::from_secs(1_800)),
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
    let books = Books::of(&boards.run().file(EVENTS)).expect("a whole event log");
    let booked = books.boards();
    let mut near = booked.len() == kinds.len();
    for (client, books) in &booked {
        let compared = &books.compared;
        let computing = (
            compared.board.compute().as_joules(),
            compared.model.compute().as_joules(),
        );
        let off = [
            compared.board_j() / compared.model_j() - 1.0,
            computing.0 / computing.1 - 1.0,
        ];
        println!(
            "client {client}: {} rounds, booked {:.1} mJ, modelled {:.1} ({:+.1} %); of it computing {:.1}, \
             {:.1} ({:+.1} %)",
            compared.rounds,
            1e3 * compared.board_j(),
            1e3 * compared.model_j(),
            100.0 * off[0],
            1e3 * computing.0,
            1e3 * computing.1,
            100.0 * off[1],
        );
        near &= off.iter().all(|off| off.abs() <= DEVIATION);
    }
    let declined: u32 = booked.values().map(|books| books.declined).sum();
    println!("{declined} orders declined");
    same && near && declined <= 1 && (accuracy >= ACCURACY || args.rounds < 10)
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

#[cfg(test)]
mod tests {
    use gleaner_shared::board::Shape;
    use gleaner_station::device::image::Program;
    use gleaner_tests::emulated::image_for;

    use super::*;

    #[test]
    fn three_rounds_of_the_demonstration_book_what_the_model_says() {
        let boards = [Board::Rp2040, Board::M4];
        if boards
            .iter()
            .all(|&board| image_for(board, Program::Client, Shape::PAPER).is_some())
        {
            assert!(run(&Args { rounds: 3 }));
        }
    }
}
