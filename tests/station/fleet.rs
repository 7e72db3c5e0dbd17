//! Whole runs of the round engine with the firmware's own client behind TCP, in every mix with
//! simulated clients.

use gleaner_sim::ClientId;
use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gleaner_shared::units::PicoJoules;
use gleaner_sim::fleet;
use gleaner_sim::round::Cause;
use gleaner_sim::run::{self, Observer, Run, RunDirectory, Silent};
use gleaner_sim::scenario::{AggregationRule, Scenario, ServerRule, StopRule, resolve};
use gleaner_station::event::{Event, EventKind};
use gleaner_station::execute::{self, Audience, Finished};
use gleaner_station::link::faults::Faults;
use gleaner_station::log::{EVENTS, EventLog};
use gleaner_station::mismatched_boards;
use gleaner_station::setup::Options;
use gleaner_tests::runs::{
    Folder, assert_as_simulated, events, fleet_file, options, scenario, with_boards,
};
use gleaner_tests::served::{Button, Served};

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
        ..Audience::default()
    };
    let directory = folder.run();
    execute::run(
        Run::open(scenario, &directory, 1, observer).unwrap(),
        &fleet,
        &data,
        options,
        audience,
    )
    .unwrap()
}

/// Checks that every board's ledger equals the host's account.
fn assert_ledgers(directory: &RunDirectory) {
    assert_eq!(mismatched_boards(directory).unwrap(), [""; 0]);
}

#[test]
fn boards_and_simulated_clients_end_with_the_model_and_logs_of_simulated_ones_alone() {
    for (scheduler, rounds, server) in [
        ("fednova", 3, ServerRule::Auto),
        ("cre", 4, ServerRule::Momentum),
        ("random", 4, ServerRule::Spectral),
        ("glean", 4, ServerRule::Auto),
    ] {
        let mut scenario = scenario(scheduler, rounds);
        scenario.server.rule = server;
        let folder = Folder::new(&format!("boards-{scheduler}"));
        let finished = on_fleet(&scenario, &folder, &options(), &mut Silent, |_, _| {});
        assert_as_simulated(&scenario, &folder, &finished);
        let mut reconciled = 0;
        for event in events(&folder.run()) {
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
        assert!(reconciled > 0, "{scheduler}: no board participated");
    }
}

#[test]
fn a_run_with_boards_stops_on_validation_where_a_simulated_one_does_and_replays() {
    let mut scenario = scenario("random", 60);
    scenario.data.validation_samples = 60;
    scenario.run.stop = StopRule::Validation;
    scenario.run.patience = 2;
    let folder = Folder::new("stop");
    let finished = on_fleet(&scenario, &folder, &options(), &mut Silent, |_, _| {});
    let expected = assert_as_simulated(&scenario, &folder, &finished);
    let summary = &finished.outcome.summary;
    assert_eq!(summary.ending.unwrap().cause, Cause::Patience);
    assert!(summary.rounds < 60 && summary.kept_round() < summary.rounds);
    assert_eq!(*summary, expected.summary);

    let directory = folder.run();
    // A log with an event after the last round is refused.
    let late = summary.rounds + 1;
    let path = directory.file(EVENTS);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(&format!(
        "{{\"t_s\":9,\"client\":1,\"round\":{late},\"event\":\"absent\",\"reason\":\"x\"}}\n"
    ));
    fs::write(&path, text).unwrap();
    let refused = execute::verify(&directory, 1).unwrap_err().to_string();
    assert!(refused.contains(&format!("round {late}")), "{refused}");
}

#[test]
fn boards_of_several_device_classes_have_the_ledgers_of_the_simulation() {
    for scheduler in ["cre", "glean"] {
        let classes = "device.class=[\
            {name='fast', clients=[0, 4], frequency_hz=1e9, harvest_j=7e-4},\
            {name='slow', clients=[1, 2], frequency_hz=4e8, harvest_j=6e-4, \
             deadline_slack_s=2e-4}]";
        let mut scenario = scenario(scheduler, 8);
        let classes = resolve("paper-mlp", &[classes.parse().unwrap()]).unwrap();
        scenario.device.class = classes.device.class;
        let folder = Folder::new(&format!("classes-{scheduler}"));
        let finished = on_fleet(&scenario, &folder, &options(), &mut Silent, |_, _| {});
        assert_as_simulated(&scenario, &folder, &finished);
        let devices = scenario.devices();
        let (mut closed, mut reported) = (0, BTreeSet::new());
        for event in events(&folder.run()) {
            let device = &devices[event.client.index()];
            let income = PicoJoules::from_joules(device.harvest_j);
            match event.what {
                EventKind::Closed { ledger, .. } => {
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
        assert_ledgers(&folder.run());
    }
}

#[test]
fn a_poisoned_update_is_logged_with_its_client_and_the_run_replays() {
    let mut scenario = scenario("random", 4);
    scenario.hostile.clients = 1;
    // A model that poison has moved makes honest clients stand out, too.
    scenario.aggregation.rule = AggregationRule::Median;
    let folder = Folder::new("poison");
    on_fleet(&scenario, &folder, &options(), &mut Silent, |_, _| {});
    let of = |wanted: fn(&EventKind) -> bool| -> Vec<(u32, Option<u32>)> {
        let events = events(&folder.run()).filter(|event| wanted(&event.what));
        events.map(|event| (event.client.0, event.round)).collect()
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
    for (scheduler, loss) in [("cre", 0.10), ("glean", 0.05)] {
        let scenario = scenario(scheduler, 6);
        let folder = Folder::new(&format!("loss-{scheduler}"));
        let options = Options {
            faults: Faults {
                loss,
                duplicate: 0.02,
                ..Faults::default()
            },
            ..options()
        };
        let finished = on_fleet(&scenario, &folder, &options, &mut Silent, |_, _| {});
        assert_as_simulated(&scenario, &folder, &finished);
        let [_, lost, _, duplicated, _] = finished.faults.read();
        assert!(
            lost > 0 && duplicated > 0,
            "{scheduler}: {lost} {duplicated}"
        );
    }
}

#[test]
fn boards_that_are_reset_and_lose_power_finish_with_the_same_model() {
    let scenario = scenario("random", 12);
    let folder = Folder::new("resets");
    let presses = Arc::new(Mutex::new(0u32));
    let pressed = Arc::clone(&presses);
    let finished = on_fleet(
        &scenario,
        &folder,
        &options(),
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
            let Some(button) = buttons.get(event.client.index()).filter(|_| moment) else {
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
    assert!(presses > 30, "{presses}");
    assert_as_simulated(&scenario, &folder, &finished);
    assert_eq!(finished.outcome.summary.rounds, 12);
    let income = PicoJoules::from_joules(scenario.device.harvest_j).0;
    let closed = events(&folder.run()).filter_map(|event| match event.what {
        EventKind::Closed { ledger, .. } => Some((event.round?, event.client, ledger)),
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
    assert_ledgers(&folder.run());
}

#[test]
fn a_board_that_never_connects_is_absent_with_a_reason_and_the_run_replays() {
    // CRE begins with a round 0 in which every client should be heard.
    for (scheduler, first, rounds) in [("random", 1, 3), ("cre", 0, 3)] {
        let scenario = scenario(scheduler, rounds);
        let data = fleet::load_data(&scenario).unwrap();
        let (fleet, mut boards) = fleet_file(&scenario, &data);
        // The port of the first board is closed.
        boards.remove(0);
        let folder = Folder::new(&format!("absent-{scheduler}"));
        let options = Options {
            round_limit: Some(Duration::from_secs(2)),
            ..options()
        };
        let directory = folder.run();
        let _ = with_boards(&scenario, &fleet, &folder, &options);
        let absent = events(&directory).find_map(|event| match event.what {
            EventKind::Absent { reason, .. } => Some((event.client, event.round, reason)),
            _ => None,
        });
        let (client, round, reason) = absent.expect("the absence is in the log");
        assert_eq!(client, ClientId(0), "{scheduler}");
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
fn a_run_that_crashed_continues_from_its_checkpoint_to_the_same_bits() {
    let scenario = scenario("cre", 6);
    let folder = Folder::new("crashed");
    let data = fleet::load_data(&scenario).unwrap();
    let (fleet, _boards) = fleet_file(&scenario, &data);
    let directory = folder.run();
    for stop in [2, 4] {
        let crashed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut observer = StopAfter(stop);
            let run = Run::open(&scenario, &directory, 1, &mut observer).unwrap();
            execute::run(run, &fleet, &data, &options(), Audience::default())
        }));
        assert!(crashed.is_err());
    }
    let finished = with_boards(&scenario, &fleet, &folder, &options());
    assert_as_simulated(&scenario, &folder, &finished);
    let mut seen = Seen::default();
    let _ = execute::verify_before(&mut seen, &directory, 1).unwrap();
    // CRE begins with round 0, in which every client reports.
    assert_eq!(seen.0, (0..=6).collect::<Vec<_>>());
    assert_ledgers(&directory);
}

#[test]
fn a_run_that_crashed_before_its_first_round_can_be_started_again() {
    let scenario = scenario("random", 1);
    let data = fleet::load_data(&scenario).unwrap();
    let (fleet, _boards) = fleet_file(&scenario, &data);
    let folder = Folder::new("crashed-early");
    let directory = folder.run();
    let path = directory.path();
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("scenario.tmp"), "half a scen").unwrap();
    let mut stop = StopAfter(0);
    let run = |observer: &mut dyn Observer| {
        let run = Run::open(&scenario, &directory, 1, observer).unwrap();
        execute::run(run, &fleet, &data, &options(), Audience::default())
    };
    let crashed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&mut stop)));
    assert!(crashed.is_err());
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
fn a_run_stopped_by_hand_within_a_round_continues_to_the_same_bits() {
    let scenario = scenario("random", 4);
    let folder = Folder::new("stopped");
    let data = fleet::load_data(&scenario).unwrap();
    let (fleet, _boards) = fleet_file(&scenario, &data);
    let directory = folder.run();
    let run = |audience| {
        let mut silent = Silent;
        let run = Run::open(&scenario, &directory, 1, &mut silent).unwrap();
        execute::run(run, &fleet, &data, &options(), audience)
    };
    let audience = Audience::default();
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
    assert!(reason.contains("stopped"), "{reason}");
    assert!(!directory.is_complete());
    let finished = run(Audience::default()).unwrap();
    assert_as_simulated(&scenario, &folder, &finished);

    // A line about an order that was never given is refused.
    let rounds = run::read_rounds(&directory.file(RunDirectory::ROUNDS)).unwrap();
    let took_part = &rounds.last().unwrap().participants;
    let client = (0..6)
        .map(ClientId)
        .find(|client| !took_part.contains(client))
        .unwrap();
    let forged = Event {
        client,
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
