//! Whole runs with a board that holds its key and keeps the base station waiting: quorum, pauses,
//! trials, replay and resume.

use std::collections::BTreeMap;
use std::time::Duration;

use gleaner_shared::wire::message::ModelHash;
use gleaner_sim::ClientId;
use gleaner_sim::fleet;
use gleaner_sim::run::{self, Observer, Run, RunDirectory, Silent};
use gleaner_sim::scenario::{Override, Scenario};
use gleaner_station::bus;
use gleaner_station::event::EventKind;
use gleaner_station::execute::{self, Audience};
use gleaner_station::fleet_file::{FleetFile, Place};
use gleaner_station::link::Endpoint;
use gleaner_station::link::faults::Faults;
use gleaner_station::setup::Options;
use gleaner_tests::client::Stall;
use gleaner_tests::peers::{self, Board, fleet_of_run};
use gleaner_tests::runs::{Folder, events, options, small};
use tokio::runtime::Runtime;

/// Clients of a run: one that stalls, two honest boards and a simulated one.
const CLIENTS: u32 = 4;
/// The one that stalls.
const STALLS: ClientId = ClientId(1);

/// A scenario in which every client has an order in each round, and all but one are a quorum.
fn scenario(rounds: i64) -> Scenario {
    let more = [
        Override::new("run.quorum", 3),
        Override::new("radio.channels", 4),
        // Everybody can finish and pay in any round.
        Override::new("device.deadline_s", 1.0),
        Override::new("device.harvest_j", 1.0),
        Override::new("partition.mean_samples", 40.0),
        Override::new("partition.std_samples", 5.0),
        Override::new("data.test_samples", 50),
    ];
    small("greedy", rounds, CLIENTS.into(), &more)
}

/// Serves the boards of a run, of which one stalls in the rounds up to `last`, on fast lines.
fn boards(scenario: &Scenario, stall: Stall, last: u32) -> (FleetFile, Runtime) {
    let runtime = Runtime::new().unwrap();
    let stalls = Board {
        stalls: Some((stall, last)),
        ..Board::TRUE
    };
    let boards = [Board::TRUE, stalls, Board::TRUE];
    let mut fleet = runtime.block_on(fleet_of_run(scenario, &boards));
    // An order should take a quarter of a second.
    fleet.clients.iter_mut().for_each(|it| it.baud = 8_000_000);
    (fleet, runtime)
}

fn run(
    scenario: &Scenario,
    fleet: &FleetFile,
    directory: &RunDirectory,
    observer: &mut dyn Observer,
) {
    let data = fleet::load_data(scenario).unwrap();
    let run = Run::open(scenario, directory, 1, observer).unwrap();
    execute::run(run, fleet, &data, &options(), Audience::default()).unwrap();
}

/// Returns how each order of the stalling board ended: `trained`, `sits out` or `failed`.
fn orders(directory: &RunDirectory) -> BTreeMap<u32, &'static str> {
    let of_it = events(directory).filter(|event| event.client == STALLS);
    let ended = of_it.filter_map(|event| {
        let word = match event.what {
            EventKind::Arrived { .. } => "trained",
            EventKind::Absent { reason, .. } if reason.starts_with("sits out") => "sits out",
            EventKind::Absent { .. } => "failed",
            _ => return None,
        };
        Some((event.round?, word))
    });
    ended.collect()
}

fn assert_replays(directory: &RunDirectory) {
    let verdict = execute::verify(directory, 1).unwrap();
    assert_eq!(verdict.recorded, verdict.replayed);
}

/// Runs 8 rounds with a board that stalls in all of them. On a busy machine one that has lost its line may
/// not be back when its pause ends, and then sits out for longer.
fn suffer(stall: Stall) {
    let scenario = scenario(8);
    let (fleet, _boards) = boards(&scenario, stall, u32::MAX);
    let folder = Folder::new("stall");
    let directory = folder.run();
    run(&scenario, &fleet, &directory, &mut Silent);
    let orders = orders(&directory);
    assert!(orders.keys().copied().eq(1..=8), "{orders:?}");
    let failed: Vec<u32> = (orders.iter().filter(|(_, word)| **word == "failed"))
        .map(|(&round, _)| round)
        .collect();
    let pauses = events(&directory).filter_map(|event| match event.what {
        EventKind::SitsOut { failures, until } => Some((event.round?, failures, until)),
        _ => None,
    });
    let pauses = Vec::from_iter(pauses);
    // Every failure from the second on is followed by a pause twice as long as the one before.
    let expected: Vec<_> = (failed.iter().skip(1).zip(2..))
        .map(|(&round, failures)| (round, failures, round + (1 << (failures - 2))))
        .collect();
    assert_eq!(pauses, expected, "{stall:?}");
    assert_eq!(failed[..2], [1, 2], "{stall:?}");
    for (pause, next) in pauses.iter().zip(&failed[2..]) {
        assert!(
            *next > pause.2,
            "{stall:?}: ordered in its pause, {failed:?}"
        );
    }
    if !matches!(stall, Stall::HangsUp | Stall::BrownsOut) {
        assert_eq!(failed, [1, 2, 4, 7], "{stall:?}");
    }
    for row in run::read_rounds(&directory.file(RunDirectory::ROUNDS)).unwrap() {
        assert_eq!(row.participants, [0, 2, 3].map(ClientId), "{stall:?}");
    }
    assert_replays(&directory);
}

#[test]
fn a_board_that_hangs_up_at_each_order_sits_out() {
    suffer(Stall::HangsUp);
}

#[test]
fn a_board_that_accepts_its_order_and_never_reports_sits_out() {
    suffer(Stall::Idle);
}

#[test]
fn a_board_that_never_answers_its_order_sits_out() {
    suffer(Stall::Mute);
}

#[test]
fn a_board_that_sends_a_byte_a_second_sits_out() {
    suffer(Stall::Trickle);
}

#[test]
fn a_board_that_browns_out_in_training_sits_out() {
    suffer(Stall::BrownsOut);
}

#[test]
fn a_board_that_declines_long_after_its_order_sits_out() {
    let mut scenario = scenario(5);
    // A quorum would close the round before the board declines.
    scenario.run.quorum = 0;
    let (fleet, _boards) = boards(&scenario, Stall::DeclinesLate, u32::MAX);
    let folder = Folder::new("late");
    let directory = folder.run();
    run(&scenario, &fleet, &directory, &mut Silent);
    let (failed, out) = ("failed", "sits out");
    let expected = [failed, failed, out, failed, out];
    assert_eq!(Vec::from_iter(orders(&directory).into_values()), expected);
    assert_replays(&directory);
}

#[test]
fn a_board_that_works_again_is_tried_after_its_pause_and_stays() {
    let scenario = scenario(7);
    let (fleet, _boards) = boards(&scenario, Stall::Idle, 4);
    let folder = Folder::new("returns");
    let directory = folder.run();
    run(&scenario, &fleet, &directory, &mut Silent);
    let (failed, out) = ("failed", "sits out");
    let expected = [failed, failed, out, failed, out, out, "trained"];
    assert_eq!(Vec::from_iter(orders(&directory).into_values()), expected);
    assert_replays(&directory);
}

/// Stops the run after a round, as a crash would.
struct StopAfter(u32);

impl Observer for StopAfter {
    fn round(&mut self, log: &gleaner_sim::round::RoundLog) {
        assert!(log.round.round <= self.0, "stopped on purpose");
    }
}

#[test]
fn a_resumed_run_tries_every_board_again() {
    let scenario = scenario(7);
    let (fleet, _boards) = boards(&scenario, Stall::HangsUp, 4);
    let folder = Folder::new("resumed");
    let directory = folder.run();
    // In the middle of a pause that lasts up to round 6.
    let crashed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run(&scenario, &fleet, &directory, &mut StopAfter(4));
    }));
    assert!(crashed.is_err());
    run(&scenario, &fleet, &directory, &mut Silent);
    let mut orders = orders(&directory);
    // On a busy machine its line may not be back by then.
    let fourth = orders.remove(&4).unwrap();
    assert!(["failed", "sits out"].contains(&fourth), "{fourth}");
    let (failed, out, trained) = ("failed", "sits out", "trained");
    let expected = [failed, failed, out, trained, trained, trained];
    assert_eq!(Vec::from_iter(orders.into_values()), expected);
    assert_replays(&directory);
}

#[test]
fn boards_that_would_all_sit_out_are_waited_for() {
    let more = [
        Override::new("radio.channels", 1),
        Override::new("device.deadline_s", 1.0),
        Override::new("device.harvest_j", 1.0),
        Override::new("partition.mean_samples", 40.0),
        Override::new("data.test_samples", 50),
    ];
    let scenario = small("greedy", 5, 1, &more);
    let runtime = Runtime::new().unwrap();
    let stalls = Board {
        stalls: Some((Stall::Idle, 3)),
        ..Board::TRUE
    };
    let fleet = runtime.block_on(fleet_of_run(&scenario, &[stalls]));
    let folder = Folder::new("alone");
    let directory = folder.run();
    let data = fleet::load_data(&scenario).unwrap();
    let options = Options {
        // Nothing but the limit ends a round in which nobody sits out.
        round_limit: Some(Duration::from_secs(2)),
        ..options()
    };
    let mut silent = Silent;
    let run = Run::open(&scenario, &directory, 1, &mut silent).unwrap();
    execute::run(run, &fleet, &data, &options, Audience::default()).unwrap();
    let ended = events(&directory).filter_map(|event| match event.what {
        EventKind::Arrived { .. } => Some(true),
        EventKind::Absent { .. } => Some(false),
        _ => None,
    });
    let first = Vec::from_iter(ended.take(3));
    assert_eq!(first, [false; 3], "none of these rounds is over at once");
    let reasons = events(&directory).filter_map(|event| match event.what {
        EventKind::Absent { reason, .. } => Some(reason),
        _ => None,
    });
    for reason in reasons {
        assert!(!reason.starts_with("sits out"), "{reason}");
    }
    assert_replays(&directory);
}

#[test]
fn a_run_that_ends_tells_its_boards_of_the_last_round() {
    let mut scenario = scenario(1);
    scenario.run.quorum = 0;
    let runtime = Runtime::new().unwrap();
    let fleet = runtime.block_on(fleet_of_run(&scenario, &[Board::TRUE; 3]));
    let folder = Folder::new("told");
    let directory = folder.run();
    let data = fleet::load_data(&scenario).unwrap();
    let options = Options {
        // The commit is on its way when the last round is closed.
        faults: Faults {
            delay: Duration::from_millis(50),
            ..Faults::default()
        },
        ..options()
    };
    let mut silent = Silent;
    let run = Run::open(&scenario, &directory, 1, &mut silent).unwrap();
    execute::run(run, &fleet, &data, &options, Audience::default()).unwrap();
    for (client, entry) in (0..).zip(&fleet.clients[..3]) {
        let Some(Place::Tcp(address)) = entry.place() else {
            panic!("a board at a port");
        };
        let about = runtime.block_on(async {
            let (events, _heard) = bus::open();
            let board = peers::board(client, Endpoint::new(Place::Tcp(address)), events);
            board.greet(Duration::from_secs(60)).await.unwrap().about
        });
        let last = about.last_round.expect("the board closed its only round");
        assert_eq!(last.round, 1, "client {client}");
        assert_ne!(last.model, ModelHash::default());
    }
}
