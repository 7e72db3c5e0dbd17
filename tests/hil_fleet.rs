//! Whole runs of the round engine with the firmware's own client behind TCP, in every mix with
//! simulated clients.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gleaner_shared::units::PicoJoules;
use gleaner_sim::fleet;
use gleaner_sim::round::Cause;
use gleaner_sim::run::{self, Observer, RunDirectory, Silent};
use gleaner_sim::scenario::{AggregationRule, Scenario, ServerRule, StopRule, resolve};
use gleaner_station::event::{Event, EventKind};
use gleaner_station::execute::{self, Audience, Finished};
use gleaner_station::fleet::Pace;
use gleaner_station::link::faults::Faults;
use gleaner_station::log::{EVENTS, EventLog};
use gleaner_station::mismatched_boards;
use gleaner_station::setup::Options;
use gleaner_tests::folder::{Folder, events};
use gleaner_tests::mixed::{fleet_file, scenario};
use gleaner_tests::served::{Button, Served};

const OPTIONS: Options = Options {
    pace: Pace::Fast,
    faults: Faults {
        loss: 0.0,
        corrupt: 0.0,
        duplicate: 0.0,
        cut: 0.0,
        delay: Duration::ZERO,
        seed: 0,
        client: 0,
    },
    wall_limit: Duration::from_secs(120),
    listen: None,
    threads: 1,
};

fn on_fleet(
    scenario: &Scenario,
    folder: &Folder,
    options: &Options,
    observer: &mut dyn Observer,
    listener: impl FnMut(&Event, &[Button]) + Send + 'static,
) -> Finished {
    let data = fleet::load_data(scenario).unwrap();
    let (fleet, boards) = fleet_file(scenario, &data);
    let buttons: Vec<Button> = boards.iter().map(Served::button).collect();
    let mut listener = listener;
    let audience = Audience {
        listener: Box::new(move |event: &Event| listener(event, &buttons)),
        ..Audience::of(observer)
    };
    let directory = folder.run();
    execute::run(scenario, &fleet, &data, &directory, options, audience).unwrap()
}

fn simulated(scenario: &Scenario, folder: &Folder) -> run::Completed {
    let data = fleet::load_data(scenario).unwrap();
    let mut world = fleet::build(scenario, &data, 1).unwrap();
    run::execute(scenario, &mut world, &folder.run(), 1, &mut Silent).unwrap()
}

/// Makes sure that no board is said to have another ledger than it must.
fn assert_honest(directory: &RunDirectory) {
    assert_eq!(mismatched_boards(directory).unwrap(), [""; 0]);
}

#[test]
fn boards_and_simulated_clients_end_with_the_same_model_and_logs_as_simulated_ones_alone() {
    for (scheduler, rounds, server) in [
        ("cre", 10, ServerRule::Auto),
        ("fednova", 3, ServerRule::Auto),
        ("cre", 4, ServerRule::Momentum),
        ("random", 6, ServerRule::Spectral),
        ("glean", 8, ServerRule::Auto),
    ] {
        let mut scenario = scenario(scheduler, rounds);
        scenario.server.rule = server;
        let (mixed, alone) = (
            Folder::new(&format!("mixed-{scheduler}-{server}")),
            Folder::new(&format!("{scheduler}-{server}")),
        );
        let finished = on_fleet(&scenario, &mixed, &OPTIONS, &mut Silent, |_, _| {});
        let expected = simulated(&scenario, &alone);
        assert_eq!(
            finished.outcome.model_sha256, expected.model_sha256,
            "{scheduler}"
        );
        for log in [RunDirectory::ROUNDS, RunDirectory::CLIENTS] {
            assert_eq!(mixed.file(log), alone.file(log), "{scheduler}: {log}");
        }
        let mut reconciled = 0;
        for event in events(&mixed.run()) {
            if let EventKind::Reconciled {
                radio_model_j,
                radio_board_j,
                harvest_model_j,
                harvest_board_j,
                ..
            } = event.what
            {
                reconciled += 1;
                assert_eq!(radio_model_j, radio_board_j);
                assert_eq!(harvest_model_j, harvest_board_j);
            }
        }
        assert!(reconciled > 0, "{scheduler}: no board took part");
        let verdict = execute::verify(&mixed.run(), 1).unwrap();
        assert_eq!(verdict.recorded, expected.model_sha256);
        assert_eq!(verdict.replayed, expected.model_sha256);
    }
}

#[test]
fn a_run_with_boards_stops_on_validation_where_a_simulated_one_does_and_replays() {
    let mut scenario = scenario("random", 60);
    scenario.data.validation_samples = 60;
    scenario.run.stop = StopRule::Validation;
    scenario.run.patience = 2;
    let (mixed, alone) = (Folder::new("mixed-stop"), Folder::new("stop"));
    let finished = on_fleet(&scenario, &mixed, &OPTIONS, &mut Silent, |_, _| {});
    let expected = simulated(&scenario, &alone);
    let summary = &finished.outcome.summary;
    assert_eq!(summary.ending.unwrap().cause, Cause::Patience);
    assert!(summary.rounds < 60 && summary.kept_round() < summary.rounds);
    assert_eq!(*summary, expected.summary);
    assert_eq!(finished.outcome.model_sha256, expected.model_sha256);
    for log in [RunDirectory::ROUNDS, RunDirectory::CLIENTS] {
        assert_eq!(mixed.file(log), alone.file(log), "{log}");
    }
    let directory = mixed.run();
    let verdict = execute::verify(&directory, 1).unwrap();
    assert_eq!(verdict.recorded, expected.model_sha256);
    assert_eq!(verdict.replayed, expected.model_sha256);

    // A log that goes on after the end is not that run's.
    let late = summary.rounds + 1;
    let path = directory.file(EVENTS);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(&format!(
        "{{\"t_s\":9,\"client\":1,\"round\":{late},\"event\":\"absent\",\"reason\":\"x\"}}\n"
    ));
    fs::write(&path, text).unwrap();
    let refused = execute::verify(&directory, 1).unwrap_err().to_string();
    let words = format!("has round {late}, the run ends after round {}", late - 1);
    assert!(refused.contains(&words), "{refused}");
}

#[test]
fn boards_of_unlike_classes_book_what_the_simulation_books() {
    for scheduler in ["cre", "fednova", "glean"] {
        let classes = "device.class=[\
            {name='fast', clients=[0, 4], frequency_hz=1e9, harvest_j=7e-4},\
            {name='slow', clients=[1, 2], frequency_hz=4e8, harvest_j=6e-4, \
             deadline_slack_s=2e-4}]";
        let mut scenario = scenario(scheduler, 8);
        let classes = resolve("paper-mlp", &[classes.parse().unwrap()]).unwrap();
        scenario.device.class = classes.device.class;
        let (mixed, alone) = (
            Folder::new(&format!("unlike-{scheduler}")),
            Folder::new(&format!("unlike-alone-{scheduler}")),
        );
        let finished = on_fleet(&scenario, &mixed, &OPTIONS, &mut Silent, |_, _| {});
        let expected = simulated(&scenario, &alone);
        assert_eq!(finished.outcome.model_sha256, expected.model_sha256);
        for log in [RunDirectory::ROUNDS, RunDirectory::CLIENTS] {
            assert_eq!(mixed.file(log), alone.file(log), "{scheduler}: {log}");
        }
        let devices = scenario.devices();
        let (mut closed, mut reported) = (0, BTreeSet::new());
        for event in events(&mixed.run()) {
            let device = &devices[event.client as usize];
            let income = PicoJoules::from_joules(device.harvest_j);
            match event.what {
                EventKind::Closed { ledger } => {
                    closed += 1;
                    let rounds = u64::from(ledger.rounds);
                    assert_eq!(ledger.harvested.0, rounds * income.0, "{}", event.client);
                }
                EventKind::Reconciled {
                    radio_model_j,
                    radio_board_j,
                    harvest_model_j,
                    harvest_board_j,
                    ..
                } => {
                    reported.insert(device.class);
                    assert_eq!(harvest_board_j, income.as_joules());
                    assert_eq!(harvest_model_j, harvest_board_j);
                    assert_eq!(radio_model_j, radio_board_j);
                }
                _ => {}
            }
        }
        assert!(closed >= 4 * 8, "{closed}");
        assert_eq!(
            reported.len(),
            3,
            "{scheduler}: boards of every class took part"
        );
        assert_honest(&mixed.run());
        let verdict = execute::verify(&mixed.run(), 1).unwrap();
        assert_eq!(verdict.replayed, expected.model_sha256);
    }
}

#[test]
fn poison_is_in_the_event_log_with_its_client_and_the_run_replays() {
    let mut scenario = scenario("random", 4);
    scenario.hostile.clients = 1;
    // A model that poison has moved makes honest clients stand out, too.
    scenario.aggregation.rule = AggregationRule::Median;
    let folder = Folder::new("poison");
    on_fleet(&scenario, &folder, &OPTIONS, &mut Silent, |_, _| {});
    let of = |wanted: fn(&EventKind) -> bool| -> Vec<(u32, Option<u32>)> {
        let events = events(&folder.run()).filter(|event| wanted(&event.what));
        events.map(|event| (event.client, event.round)).collect()
    };
    let arrived = of(|what| matches!(what, EventKind::Arrived { .. }));
    let hostile: Vec<_> = (arrived.into_iter())
        .filter(|(client, _)| *client == 5)
        .collect();
    assert!(!hostile.is_empty());
    assert_eq!(
        of(|what| matches!(what, EventKind::Implausible { .. })),
        hostile
    );
    let verdict = execute::verify(&folder.run(), 1).unwrap();
    assert_eq!(verdict.recorded, verdict.replayed);
}

#[test]
fn frame_loss_and_duplicates_change_no_bit_of_the_result() {
    for (scheduler, loss) in [("cre", 0.01), ("cre", 0.05), ("cre", 0.10), ("glean", 0.05)] {
        let scenario = scenario(scheduler, 10);
        let alone = Folder::new(&format!("lossless-{scheduler}-{loss}"));
        let expected = simulated(&scenario, &alone).model_sha256;
        let folder = Folder::new(&format!("loss-{scheduler}-{loss}"));
        let options = Options {
            faults: Faults {
                loss,
                duplicate: 0.02,
                ..OPTIONS.faults
            },
            ..OPTIONS
        };
        let finished = on_fleet(&scenario, &folder, &options, &mut Silent, |_, _| {});
        let what = format!("{scheduler}, loss {loss}");
        assert_eq!(finished.outcome.model_sha256, expected, "{what}");
        let [_, lost, _, duplicated, _] = finished.faults.read();
        assert!(lost > 0 && duplicated > 0, "{what}: {lost} {duplicated}");
    }
}

#[test]
fn boards_that_are_reset_and_switched_off_all_the_time_finish_with_the_same_model() {
    for scheduler in ["random", "glean"] {
        press_buttons_under(scheduler);
    }
}

fn press_buttons_under(scheduler: &str) {
    let scenario = scenario(scheduler, 12);
    let named = |word: &str| Folder::new(&format!("{word}-{scheduler}"));
    let (folder, alone) = (named("resets"), named("no-resets"));
    let presses = Arc::new(Mutex::new(0u32));
    let pressed = Arc::clone(&presses);
    let finished = on_fleet(
        &scenario,
        &folder,
        &OPTIONS,
        &mut Silent,
        move |event, buttons| {
            // Moments of every kind: after orders, in the middle of transfers, after reports.
            let moment = matches!(
                event.what,
                EventKind::Ordered { .. }
                    | EventKind::Receiving { .. }
                    | EventKind::Reported(_)
                    | EventKind::Sending { .. }
            );
            let mut presses = pressed.lock().unwrap();
            let Some(button) = buttons.get(event.client as usize).filter(|_| moment) else {
                return;
            };
            *presses += 1;
            match *presses % 9 {
                3 => button.reset(),
                7 => button.cut_power(),
                _ => {}
            }
        },
    );
    let presses = *presses.lock().unwrap();
    assert!(presses > 30, "{scheduler}: {presses}");
    let expected = simulated(&scenario, &alone);
    assert_eq!(finished.outcome.model_sha256, expected.model_sha256);
    assert_eq!(finished.outcome.summary.rounds, 12);
    let income = PicoJoules::from_joules(scenario.device.harvest_j).0;
    let closed = events(&folder.run()).filter_map(|event| match event.what {
        EventKind::Closed { ledger } => Some((event.round?, event.client, ledger)),
        _ => None,
    });
    let mut count = 0;
    for (round, client, ledger) in closed {
        count += 1;
        assert_eq!(ledger.rounds, round, "client {client}");
        let harvested = u64::from(round) * income;
        assert_eq!(
            ledger.harvested.0, harvested,
            "client {client}, round {round}"
        );
        assert!(ledger.is_consistent());
    }
    assert_eq!(count, 4 * 12);
    assert_honest(&folder.run());
}

#[test]
fn a_board_that_never_comes_is_absent_with_a_reason_and_the_run_replays() {
    // CRE begins with a round 0 in which every client should be heard.
    for (scheduler, first, rounds) in [("random", 1, 3), ("cre", 0, 3), ("glean", 1, 6)] {
        let scenario = scenario(scheduler, rounds);
        let data = fleet::load_data(&scenario).unwrap();
        let (fleet, mut boards) = fleet_file(&scenario, &data);
        // Nobody listens on the first board's port any more.
        boards.remove(0);
        let folder = Folder::new(&format!("absent-{scheduler}"));
        let options = Options {
            wall_limit: Duration::from_secs(2),
            ..OPTIONS
        };
        let directory = folder.run();
        let mut silent = Silent;
        let audience = Audience::of(&mut silent);
        execute::run(&scenario, &fleet, &data, &directory, &options, audience).unwrap();
        let absent = events(&directory).find_map(|event| match event.what {
            EventKind::Absent { reason, .. } => Some((event.client, event.round, reason)),
            _ => None,
        });
        let (client, round, reason) = absent.expect("the absence is in the log");
        assert_eq!(client, 0, "{scheduler}");
        assert!(round >= Some(first), "{scheduler}: {round:?}");
        assert!(reason.contains("not connected"), "{scheduler}: {reason}");
        let verdict = execute::verify(&directory, 1).unwrap();
        assert_eq!(verdict.recorded, verdict.replayed, "{scheduler}");
    }
}

/// Stops the run after a round, as a crash would.
struct StopAfter(u32);

impl Observer for StopAfter {
    fn round(&mut self, log: &gleaner_sim::round::RoundLog) {
        assert!(log.round.round < self.0, "stopped on purpose");
    }
}

/// Keeps the rounds it saw.
#[derive(Default)]
struct Seen(Vec<u32>);

impl Observer for Seen {
    fn round(&mut self, log: &gleaner_sim::round::RoundLog) {
        self.0.push(log.round.round);
    }
}

#[test]
fn a_run_that_died_goes_on_from_its_checkpoint_to_the_same_bits() {
    // CRE begins with round 0, the introduction.
    for (scheduler, first) in [("cre", 0), ("glean", 1)] {
        die_and_go_on(scheduler, first);
    }
}

fn die_and_go_on(scheduler: &str, first: u32) {
    let scenario = scenario(scheduler, 6);
    let named = |word: &str| Folder::new(&format!("{word}-{scheduler}"));
    let (folder, alone) = (named("died"), named("lived"));
    let expected = simulated(&scenario, &alone).model_sha256;
    let data = fleet::load_data(&scenario).unwrap();
    let (fleet, _boards) = fleet_file(&scenario, &data);
    let directory = folder.run();
    for stop in [2, 4] {
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut observer = StopAfter(stop);
            execute::run(
                &scenario,
                &fleet,
                &data,
                &directory,
                &OPTIONS,
                Audience::of(&mut observer),
            )
        }));
        assert!(died.is_err());
    }
    let finished = execute::run(
        &scenario,
        &fleet,
        &data,
        &directory,
        &OPTIONS,
        Audience::of(&mut Silent),
    )
    .unwrap();
    assert_eq!(finished.outcome.model_sha256, expected);
    let mut seen = Seen::default();
    let verdict = execute::verify_before(&mut seen, &directory, 1).unwrap();
    assert_eq!(verdict.replayed, expected);
    assert_eq!(seen.0, (first..=6).collect::<Vec<_>>());
    assert_honest(&directory);
    assert_eq!(
        folder.file(RunDirectory::CLIENTS),
        alone.file(RunDirectory::CLIENTS)
    );
}

#[test]
fn a_run_that_died_before_its_first_round_can_be_started_all_the_same() {
    let scenario = scenario("random", 1);
    let data = fleet::load_data(&scenario).unwrap();
    let (fleet, _boards) = fleet_file(&scenario, &data);
    let folder = Folder::new("died-early");
    let directory = folder.run();
    let path = directory.path();
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("scenario.tmp"), "half a scen").unwrap();
    let mut stop = StopAfter(0);
    let run = |observer: &mut dyn Observer| {
        let audience = Audience::of(observer);
        execute::run(&scenario, &fleet, &data, &directory, &OPTIONS, audience)
    };
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&mut stop)));
    assert!(died.is_err());
    // And once more as if the list of the fleet had not been written either.
    fs::remove_file(directory.file(gleaner_station::fleet_file::FILE_NAME)).unwrap();
    run(&mut Silent).unwrap();
    assert!(
        directory.is_complete()
            && directory
                .file(gleaner_station::fleet_file::FILE_NAME)
                .is_file()
    );
    fs::write(path.join("scenario.tmp"), "of another run").unwrap();
    assert!(!directory.is_vacant(), "a run is never written over");
}

#[test]
fn a_run_stopped_by_hand_in_the_middle_of_a_round_goes_on_to_the_same_bits() {
    let scenario = scenario("random", 4);
    let (folder, alone) = (Folder::new("stopped"), Folder::new("not-stopped"));
    let expected = simulated(&scenario, &alone).model_sha256;
    let data = fleet::load_data(&scenario).unwrap();
    let (fleet, _boards) = fleet_file(&scenario, &data);
    let directory = folder.run();
    let run = |audience| execute::run(&scenario, &fleet, &data, &directory, &OPTIONS, audience);
    let mut silent = Silent;
    let audience = Audience::of(&mut silent);
    let stop = audience.stop.clone();
    let stopped = run(Audience {
        listener: Box::new(move |event| {
            if event.round == Some(3) && matches!(event.what, EventKind::Ordered { .. }) {
                stop.request();
            }
        }),
        ..audience
    });
    let reason = stopped.unwrap_err().to_string();
    assert!(reason.contains("stopped by hand"), "{reason}");
    assert!(!directory.is_complete());
    let finished = run(Audience::of(&mut Silent)).unwrap();
    assert_eq!(finished.outcome.model_sha256, expected);
    let verdict = execute::verify(&directory, 1).unwrap();
    assert_eq!(verdict.replayed, expected);

    // A line that tells of one order more does not pass.
    let rounds = run::read_rounds(&directory.file(RunDirectory::ROUNDS)).unwrap();
    let took_part = &rounds.last().unwrap().participants;
    let client = (0..6).find(|client| !took_part.contains(client)).unwrap();
    let forged = Event {
        client: client as u32,
        round: Some(4),
        what: EventKind::Absent {
            declined: false,
            reason: "forged".to_owned(),
        },
    };
    let mut journal = EventLog::open(&directory.file(EVENTS), 4).unwrap();
    journal.append(&forged).unwrap();
    drop(journal);
    let refused = execute::verify(&directory, 1).unwrap_err().to_string();
    assert!(refused.contains("an order that the replay"), "{refused}");
}
