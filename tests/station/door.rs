//! Boards that call in, and whoever else does: strangers that hang on, floods, stolen numbers, boards
//! that call twice or lose their lines.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::Key;
use gleaner_shared::wire::message::DeviceId;
use gleaner_sim::fleet;
use gleaner_sim::run::{Run, RunDirectory, Silent};
use gleaner_station::Handle;
use gleaner_station::board::WorkResult;
use gleaner_station::bus::{self, EventReceiver};
use gleaner_station::event::EventKind;
use gleaner_station::execute::{self, Audience, CALLS};
use gleaner_station::fleet_file::{FleetFile, Link};
use gleaner_station::link::faults::{FaultCounters, Faults};
use gleaner_station::listener::{HALF_OPEN, ListenerStatus};
use gleaner_station::setup::Options;
use gleaner_tests::client::{Client, update_of};
use gleaner_tests::gateway::Gateways;
use gleaner_tests::peers::Behaviour;
use gleaner_tests::peers::{
    ListeningStation, MODEL_BYTES, board, client, closing, dial, job, timing,
};
use gleaner_tests::runs;
use gleaner_tests::runs::Folder;
use tokio::net::TcpStream;

/// Works one round and checks that the update is the client's own.
async fn work(board: &Handle, client: u32, round: u32) {
    match board.work(job(round)).await {
        WorkResult::Done(_, update) => {
            assert_eq!(update.bytes, update_of(client, round, MODEL_BYTES))
        }
        WorkResult::Missing(reason) | WorkResult::Declined(reason) => {
            panic!("round {round}: {reason}")
        }
    }
    board.close(closing(round)).await.expect("the task lives");
}

fn count(heard: &mut EventReceiver, wanted: impl Fn(&EventKind) -> bool) -> usize {
    std::iter::from_fn(|| heard.try_next())
        .filter(|event| wanted(&event.what))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_hang_on_and_say_nothing_give_way_to_a_board() {
    let station = ListeningStation::open(1);
    let (board, _heard) = station.board(0);
    let mut loris = Vec::new();
    for _ in 0..300 {
        loris.push(TcpStream::connect(station.address).await.unwrap());
    }
    tokio::spawn(dial(0, Behaviour::Honest, station.address));
    work(&board, 0, 0).await;
    let counts = station.calls.counts();
    assert!(counts.max_half_open <= HALF_OPEN, "{counts:?}");
    // There were 300 before it, and room for fewer.
    assert!(
        counts.evicted + counts.silent >= 301 - HALF_OPEN as u64,
        "{counts:?}"
    );
    assert_eq!(counts.accepted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_calls_keeps_no_board_out() {
    let station = ListeningStation::open(1);
    let (board, _heard) = station.board(0);
    let address = station.address;
    let flood = tokio::spawn(async move {
        for _ in 0..1_500 {
            // A full queue is the flood's own trouble.
            drop(TcpStream::connect(address).await);
        }
    });
    tokio::spawn(dial(0, Behaviour::Honest, address));
    work(&board, 0, 0).await;
    flood.await.unwrap();
    let counts = station.calls.counts();
    assert_eq!(counts.accepted, 1, "{counts:?}");
    assert!(counts.max_half_open <= HALF_OPEN, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_number_without_the_key_does_not_disturb_the_board() {
    let station = ListeningStation::open(1);
    let (board, mut heard) = station.board(0);
    tokio::spawn(dial(0, Behaviour::Honest, station.address));
    work(&board, 0, 0).await;
    // The same chip by its number, without the key and with another one.
    for key in [Key::PUBLIC, Key::new([0x77; 32])] {
        let mut thief = Client::new(0, key, timing(), MODEL_BYTES);
        let line = TcpStream::connect(station.address).await.unwrap();
        // It ends because the base station hangs up.
        let _ = thief.serve(line).await;
        assert!(thief.trained.is_empty());
    }
    work(&board, 0, 1).await;
    assert_eq!(
        count(&mut heard, |what| matches!(what, EventKind::Gone { .. })),
        0
    );
    let counts = station.calls.counts();
    assert_eq!(
        (counts.accepted, counts.keyless, counts.unknown_keys),
        (1, 1, 1),
        "{counts:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_that_calls_twice_is_served_on_its_newest_line_and_counts_once() {
    let station = ListeningStation::open(1);
    let (board, mut heard) = station.board(0);
    let call = async || TcpStream::connect(station.address).await.unwrap();
    let first = call().await;
    let older = tokio::spawn(async move {
        let mut older = client(0);
        let _ = older.serve(first).await;
        older
    });
    work(&board, 0, 0).await;
    let second = call().await;
    let newer = tokio::spawn(async move {
        let mut newer = client(0);
        let _ = newer.serve(second).await;
        newer
    });
    // The older line is closed as soon as the newer one proved whose it is.
    let older = older.await.unwrap();
    work(&board, 0, 1).await;
    assert!(board.end(Duration::from_secs(60)).await);
    let newer = newer.await.unwrap();
    assert_eq!((older.trained, older.counted), (vec![0], vec![0]));
    assert_eq!((newer.trained, newer.counted), (vec![1], vec![1]));
    let again = |what: &EventKind| matches!(what, EventKind::Gone { reason } if reason.contains("connected again"));
    assert_eq!(count(&mut heard, again), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_that_loses_its_line_in_the_middle_of_rounds_calls_again_and_goes_on() {
    let station = ListeningStation::open(1);
    let faults = Faults {
        cut: 0.01,
        duplicate: 0.01,
        seed: 3,
        ..Faults::default()
    };
    let counters = Arc::new(FaultCounters::default());
    let endpoint = station
        .endpoint(0)
        .with_faults(faults, Arc::clone(&counters));
    let (events, _heard) = bus::open();
    let board = board(0, endpoint, events);
    let address = station.address;
    let (hang_up, mut hung_up) = tokio::sync::oneshot::channel::<()>();
    let calling = tokio::spawn(async move {
        let mut client = client(0);
        loop {
            let line = TcpStream::connect(address).await.unwrap();
            tokio::select! {
                _ = client.serve(line) => {}
                _ = &mut hung_up => return client,
            }
        }
    });
    for round in 0..4 {
        work(&board, 0, round).await;
    }
    drop(hang_up);
    let client = calling.await.unwrap();
    assert_eq!(client.trained, [0, 1, 2, 3]);
    let [.., cuts] = counters.read();
    let counts = station.calls.counts();
    assert!(cuts > 0 && counts.accepted > 1, "{cuts} cuts, {counts}");
}

fn options(listen: &str) -> Options {
    Options {
        listen: Some(listen.parse().unwrap()),
        ..runs::options()
    }
}

#[test]
fn boards_that_call_in_through_gateways_end_with_the_model_of_simulated_ones() {
    let scenario = runs::scenario("cre", 3);
    let data = fleet::load_data(&scenario).unwrap();
    let (mut fleet, boards) = runs::fleet_file(&scenario, &data);
    let calls = Arc::new(ListenerStatus::default());
    let gateways = Gateways::new();
    // Those with a key call in, the others are called.
    let keyed = fleet.clients.iter_mut().filter(|entry| entry.key.is_some());
    for entry in keyed {
        entry.link = Link::Incoming { device: None };
        let calls = Arc::clone(&calls);
        gateways.add(boards[entry.id.index()].address(), move || calls.address());
    }
    let fleet = FleetFile::parse(&fleet.to_toml(), "test").unwrap();
    let (folder, mut silent) = (Folder::new("incoming"), Silent);
    let audience = Audience {
        calls: Arc::clone(&calls),
        ..Audience::default()
    };
    let options = options("127.0.0.1:0");
    let directory = folder.run();
    let run = Run::open(&scenario, &directory, 1, &mut silent).unwrap();
    let finished = execute::run(run, &fleet, &data, &options, audience).unwrap();
    runs::assert_as_simulated(&scenario, &folder, &finished);
    let told = String::from_utf8(folder.file(CALLS)).unwrap();
    assert!(told.contains("\"accepted\": 2"), "{told}");
}

#[test]
fn nothing_is_started_for_boards_without_keys_that_anybody_could_stand_in_for() {
    let scenario = runs::scenario("cre", 1);
    let data = fleet::load_data(&scenario).unwrap();
    let (mut fleet, _boards) = runs::fleet_file(&scenario, &data);
    let bare = &mut fleet.clients[1];
    (bare.link, bare.key) = (Link::Incoming { device: None }, None);
    let folder = Folder::new("open-door");
    let directory = RunDirectory::new(folder.run().path().join("run"));
    let mut silent = Silent;
    let audience = Audience::default();
    let options = options("0.0.0.0:0");
    let refused = execute::run(
        Run::open(&scenario, &directory, 1, &mut silent).unwrap(),
        &fleet,
        &data,
        &options,
        audience,
    );
    let words = refused.unwrap_err().to_string();
    assert!(
        words.contains("without one: client-1.") && words.contains("0.0.0.0:0"),
        "{words}"
    );
    assert!(!directory.path().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_board_with_the_key_is_refused_by_name_and_the_first_goes_on() {
    let station = ListeningStation::open(1);
    let (board, mut heard) = station.board(0);
    tokio::spawn(dial(0, Behaviour::Honest, station.address));
    work(&board, 0, 0).await;
    for _ in 0..3 {
        let mut twin = client(0).on_chip(DeviceId([0x77; 12]));
        let line = TcpStream::connect(station.address).await.unwrap();
        // It ends because the base station hangs up.
        let _ = twin.serve(line).await;
        assert!(twin.trained.is_empty());
    }
    work(&board, 0, 1).await;
    let mut told = Vec::new();
    while let Some(event) = heard.try_next() {
        assert!(!matches!(event.what, EventKind::Gone { .. }), "{event:?}");
        if let EventKind::Contended {
            kept,
            refused,
            times,
        } = event.what
        {
            told.push((kept, refused, times));
        }
    }
    let [(kept, refused, 1)] = &told[..] else {
        panic!("{told:?}");
    };
    let twin = DeviceId([0x77; 12]).to_string();
    assert!(!kept.contains(&twin) && refused.contains(&twin), "{told:?}");
    let counts = station.calls.counts();
    assert_eq!((counts.accepted, counts.rivals), (1, 3), "{counts:?}");
}
