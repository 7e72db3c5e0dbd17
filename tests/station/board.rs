//! The base station's tasks against clients that speak the protocol, over every kind of line.

use gleaner_sim::ClientId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gleaner_shared::energy::{CostModel, EnergyStore, Pace};
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::link::Timing;
use gleaner_shared::wire::message::{self, DeviceToHost, ModelHash, Refusal};
use gleaner_shared::wire::{Direction, FrameBuffer, Header, Key, Kind};
use gleaner_station::Handle;
use gleaner_station::board::{ConfirmedState, Identity, RoundWork, WorkResult};
use gleaner_station::bus::{self, EventReceiver};
use gleaner_station::event::{Event, EventKind};
use gleaner_station::link::faults::{FaultCounters, Faults};
use gleaner_station::link::{Endpoint, memory};
use gleaner_tests::client::{Client, Stall, update_of};
use gleaner_tests::peers::closing;
use gleaner_tests::station::{RUN, training_order};
use tokio::io::{AsyncReadExt, AsyncWriteExt, join};

const KEY: Key = Key::new([9; 32]);
const TIMING: Timing = Timing::for_bit_rate(921_600);
const BYTES: usize = 39_776;
const STORE: EnergyStore = EnergyStore::lossless(PicoJoules(1_000_000_000_000_000));

fn identity(endpoint: Endpoint) -> Identity {
    Identity {
        client: ClientId(3),
        endpoint,
        keys: KEY.into(),
        timing: TIMING,
        run: RUN,
        seed: 1,
        store: STORE,
        cost: CostModel::paper(1e-26, 5e8),
        pace: Pace::default(),
        network: gleaner_shared::board::Shape::PAPER,
        shard_crc: Some(7),
    }
}

fn job(round: u32) -> RoundWork {
    let model: Arc<[u8]> = update_of(99, round, BYTES).into();
    let base = ModelHash::of(&update_of(99, round.wrapping_sub(1), BYTES));
    RoundWork {
        order: training_order(round, 2, ModelHash::of(&model)),
        update: (round > 0).then(|| (base, Arc::clone(&model))),
        model,
        upload_bytes: BYTES,
        limit: Duration::from_secs(1_200),
        on_trial: false,
        pace: None,
    }
}

fn start(endpoint: Endpoint) -> (Handle, EventReceiver) {
    let (events, heard) = bus::open();
    let confirmed = ConfirmedState::new(STORE.capacity, STORE);
    (Handle::spawn(identity(endpoint), confirmed, events), heard)
}

/// Starts the task of client 3 and returns where its board is plugged in.
fn plugged() -> (Handle, EventReceiver, memory::MemoryConnector) {
    let (socket, plug) = memory::pair();
    let (board, heard) = start(Endpoint::in_memory(socket));
    (board, heard, plug)
}

/// Serves `client` on the line of a plug.
fn serve(plug: memory::MemoryConnector, mut client: Client) {
    tokio::spawn(async move {
        let _ = client.serve(plug.connect().await.unwrap()).await;
    });
}

/// Starts the task of client 3 with `client` on its line.
fn board_with(client: Client) -> Handle {
    let (board, _heard, plug) = plugged();
    serve(plug, client);
    board
}

/// Returns all events so far.
fn drain(heard: &mut EventReceiver) -> Vec<EventKind> {
    std::iter::from_fn(|| heard.try_next())
        .map(|event| event.what)
        .collect()
}

/// Works rounds `0..rounds` and checks that every update is the client's own.
async fn work(board: &Handle, rounds: u32) {
    for round in 0..rounds {
        match board.work(job(round)).await {
            WorkResult::Done(report, update) => {
                assert_eq!(report.work.round, round);
                assert_eq!(update.bytes, update_of(3, round, BYTES), "round {round}");
            }
            WorkResult::Missing(reason) | WorkResult::Declined(reason) => {
                panic!("round {round}: {reason}")
            }
        }
        board.close(closing(round)).await.expect("the task lives");
    }
}

#[tokio::test(start_paused = true)]
async fn rounds_run_over_a_clean_line_and_changes_follow_the_first_model() {
    let (board, mut heard, plug) = plugged();
    let served = tokio::spawn(async move {
        let mut client = Client::new(3, KEY, TIMING, BYTES);
        let _ = client.serve(plug.connect().await.unwrap()).await;
        client
    });
    work(&board, 3).await;
    drop(board);
    let client = served.await.unwrap();
    assert_eq!(client.trained, [0, 1, 2]);
    // The task may end before it has said the last word.
    assert!(client.counted.starts_with(&[0, 1]), "{:?}", client.counted);
    let sent: Vec<bool> = drain(&mut heard)
        .into_iter()
        .filter_map(|what| match what {
            EventKind::Sending { whole, .. } => Some(whole),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn loss_duplicates_and_flipped_bits_change_nothing_but_time() {
    for (seed, loss) in [(1, 0.01), (2, 0.05), (3, 0.10)] {
        let (socket, plug) = memory::pair();
        let counters = Arc::new(FaultCounters::default());
        let faults = Faults {
            loss,
            corrupt: 0.01,
            duplicate: 0.02,
            seed,
            ..Faults::default()
        };
        let endpoint = Endpoint::in_memory(socket);
        let endpoint = endpoint.with_faults(faults, Arc::clone(&counters));
        let (board, _heard) = start(endpoint);
        let served = tokio::spawn(async move {
            let mut client = Client::new(3, KEY, TIMING, BYTES);
            let _ = client.serve(plug.connect().await.unwrap()).await;
            client
        });
        work(&board, 3).await;
        drop(board);
        assert_eq!(served.await.unwrap().trained, [0, 1, 2]);
        let [_, lost, corrupted, duplicated, _] = counters.read();
        assert!(
            lost > 0 && corrupted + duplicated > 0,
            "{:?}",
            counters.read()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_cut_again_and_again_loses_no_round_and_doubles_none() {
    let (socket, plug) = memory::pair();
    let counters = Arc::new(FaultCounters::default());
    let faults = Faults {
        cut: 0.004,
        seed: 5,
        ..Faults::default()
    };
    let endpoint = Endpoint::in_memory(socket);
    let (board, mut heard) = start(endpoint.with_faults(faults, Arc::clone(&counters)));
    let served = tokio::spawn(async move {
        let mut client = Client::new(3, KEY, TIMING, BYTES);
        // Every other time it also loses its power.
        for life in 0.. {
            let Ok(line) = plug.connect().await else {
                break;
            };
            let _ = client.serve(line).await;
            if life % 2 == 0 {
                client.switch_off();
            }
        }
        client
    });
    work(&board, 20).await;
    drop(board);
    let client = served.await.unwrap();
    let mut counted = client.counted.clone();
    counted.dedup();
    assert_eq!(counted, client.counted, "no round is counted twice");
    assert!(counters.read()[4] >= 3, "{:?}", counters.read());
    let gone = |what: &EventKind| matches!(what, EventKind::Gone { .. });
    assert!(drain(&mut heard).iter().filter(|what| gone(what)).count() >= 3);
}

#[tokio::test(start_paused = true)]
async fn a_silent_board_is_lost_for_the_round_with_a_reason_and_the_next_round_goes_on() {
    let (board, mut heard, plug) = plugged();
    let silent = plug.connect().await.unwrap();
    let WorkResult::Missing(reason) = board.work(job(0)).await else {
        panic!("a silent board cannot train");
    };
    assert!(reason.contains("not connected"), "{reason}");
    assert!(drain(&mut heard).contains(&EventKind::Missing { reason }));
    drop(silent);
    serve(plug, Client::new(3, KEY, TIMING, BYTES));
    assert!(matches!(board.work(job(1)).await, WorkResult::Done(..)));
}

#[tokio::test(start_paused = true)]
async fn a_board_that_falls_silent_with_messages_waiting_for_it_is_lost_for_the_round() {
    let (board, _heard, plug) = plugged();
    let (gone, silence) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut client = Client::new(3, KEY, TIMING, BYTES);
        let mut line = plug.connect().await.unwrap();
        tokio::select! {
            _ = client.serve(&mut line) => {}
            _ = silence => {}
        }
        // The line stays, and nobody reads it.
        std::future::pending::<()>().await;
    });
    work(&board, 1).await;
    drop(gone);
    // More than the queue of a session holds.
    for round in 1..40 {
        board.close(closing(round)).await.expect("the task lives");
    }
    let WorkResult::Missing(reason) = board.work(job(40)).await else {
        panic!("nobody is there to train");
    };
    assert!(
        reason.contains("not connected") || reason.contains("in time"),
        "{reason}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_board_that_never_lasts_long_enough_is_lost_for_the_round() {
    let (board, _heard, plug) = plugged();
    tokio::spawn(async move {
        while let Ok(line) = plug.connect().await {
            let (hears, says) = tokio::io::split(line);
            let mut client = Client::new(3, KEY, TIMING, BYTES);
            let _ = client.serve(join(hears.take(BYTES as u64 / 2), says)).await;
        }
    });
    let limit = Duration::from_secs(20);
    let begin = tokio::time::Instant::now();
    let job = RoundWork { limit, ..job(0) };
    let WorkResult::Missing(reason) = board.work(job).await else {
        panic!("it has no time to train");
    };
    assert!(
        reason.contains("in time") || reason.contains("not connected"),
        "{reason}"
    );
    // In the time of the test, which waits for nothing.
    assert!(begin.elapsed() < limit + Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn no_way_of_stalling_takes_more_than_the_limit() {
    // A board that declines ends its work before the limit.
    let stalls = Stall::ALL.into_iter();
    for stall in stalls.filter(|stall| *stall != Stall::DeclinesLate) {
        let (board, mut heard, plug) = plugged();
        tokio::spawn(async move {
            let mut client = Client::new(3, KEY, TIMING, BYTES).stalling(stall, 0..=9);
            while let Ok(line) = plug.connect().await {
                let _ = client.serve(line).await;
            }
        });
        let limit = Duration::from_secs(60);
        for round in 0..2 {
            let begin = tokio::time::Instant::now();
            let job = RoundWork {
                limit,
                ..job(round)
            };
            let result = board.work(job).await;
            assert!(matches!(result, WorkResult::Missing(_)), "{stall:?}");
            // In the time of the test, which waits for nothing.
            let took = begin.elapsed();
            assert!(
                took >= limit && took < limit + Duration::from_secs(1),
                "{stall:?}: {took:?}"
            );
            board.close(closing(round)).await.unwrap();
        }
        if matches!(stall, Stall::HangsUp | Stall::BrownsOut) {
            let connected = |event: &Event| matches!(event.what, EventKind::Connected { .. });
            let events = std::iter::from_fn(|| heard.try_next());
            assert!(
                events.filter(connected).count() > 4,
                "{stall:?} connects again"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_nobody_waits_for_is_cancelled_on_the_board() {
    let (board, _heard, plug) = plugged();
    let served = tokio::spawn(async move {
        let mut client = Client::new(3, KEY, TIMING, BYTES).stalling(Stall::Idle, 1..=2);
        let line = plug.connect().await.unwrap();
        let _ = client.serve(line).await;
        client
    });
    let minute = Duration::from_secs(60);
    work(&board, 1).await;
    for round in 1..3 {
        let work = tokio::time::timeout(minute, board.work(job(round)));
        assert!(work.await.is_err(), "it never reports");
    }
    // A run that ends leaves no board at work.
    assert!(board.end(minute).await);
    let client = served.await.unwrap();
    assert_eq!(
        (client.trained, client.cancelled),
        (vec![0, 1, 2], vec![1, 2])
    );
}

#[tokio::test(start_paused = true)]
async fn a_board_with_another_key_is_refused_by_name_of_the_reason() {
    let board = board_with(Client::new(3, Key::new([1; 32]), TIMING, BYTES));
    let WorkResult::Missing(reason) = board.work(job(0)).await else {
        panic!("the key is wrong");
    };
    assert!(reason.contains("different keys"), "{reason}");
}

/// Returns a frame in which anyone may refuse a session.
fn refusal() -> Vec<u8> {
    let mut frame = FrameBuffer::new();
    let message = DeviceToHost::Refuse(Refusal::UnknownDevice);
    let len = message::encode(&message, frame.payload()).unwrap();
    let header = Header {
        direction: Direction::DeviceToHost,
        kind: Kind::Open,
        session: 0,
        sequence: 0,
    };
    frame.sign(&header, len, &Key::PUBLIC).to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_refusals_leaves_turns_to_others_and_few_lines_in_the_log() {
    const REFUSALS: usize = 20_000;
    let (_board, mut heard, plug) = plugged();
    let mut line = plug.connect().await.unwrap();
    let turns = Arc::new(AtomicUsize::new(0));
    let others = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            others.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    line.write_all(&refusal().repeat(REFUSALS)).await.unwrap();
    other.abort();
    let turns = turns.load(Ordering::Relaxed);
    assert!(turns >= REFUSALS / 40, "{turns} turns of others");
    let said = drain(&mut heard);
    let refused = |what: &&EventKind| matches!(what, EventKind::Refused { .. });
    assert_eq!(said.iter().filter(refused).count(), 4, "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn real_pace_takes_the_modelled_airtime() {
    let board = board_with(Client::new(3, KEY, TIMING, BYTES));
    let begin = tokio::time::Instant::now();
    let pace = (Duration::from_secs(3), Duration::from_secs(20));
    let slow = RoundWork {
        pace: Some(pace),
        ..job(0)
    };
    assert!(matches!(board.work(slow).await, WorkResult::Done(..)));
    let taken = begin.elapsed();
    assert!(
        taken >= Duration::from_secs(23) && taken < Duration::from_secs(30),
        "{taken:?}"
    );
}

/// A pseudo-terminal stands in for a serial port: the board holds the controlling end.
#[cfg(unix)]
mod pty {
    use super::*;
    use gleaner_station::fleet_file::{Place, SerialAddress};
    use tokio_serial::{SerialPort, SerialStream};

    /// Opens a pair and returns the board's end and the path of the other.
    fn pair() -> (SerialStream, String) {
        let (near, far) = SerialStream::pair().expect("a pseudo-terminal");
        let path = far.name().expect("a path");
        drop(far);
        (near, path)
    }

    fn serial(path: &std::path::Path) -> Endpoint {
        Endpoint::new(Place::Serial(SerialAddress {
            usb_serial: None,
            path: Some(path.into()),
            baud: 921_600,
        }))
    }

    #[tokio::test]
    async fn a_port_that_disappears_and_returns_elsewhere_goes_on_with_the_same_board() {
        // Like /dev/serial/by-id: a link that points to wherever the board is now.
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("board");
        let (board, mut heard) = start(serial(&link));
        let mut client = Client::new(3, KEY, TIMING, BYTES);
        for round in 0..3 {
            let (near, path) = pair();
            std::os::unix::fs::symlink(&path, &link).unwrap();
            let outcome = tokio::select! {
                outcome = board.work(job(round)) => outcome,
                _ = serve_until_gone(&mut client, near) => panic!("nobody closed the port"),
            };
            assert!(
                matches!(outcome, WorkResult::Done(..)),
                "round {round}: {outcome:?}"
            );
            board.close(closing(round)).await.unwrap();
            // Here the board's end is dropped: the port is unplugged.
            std::fs::remove_file(&link).unwrap();
        }
        drop(board);
        let events = drain(&mut heard);
        let opened = events
            .iter()
            .filter(|what| matches!(what, EventKind::Opened { .. }))
            .count();
        assert!(opened >= 3, "{events:?}");
        assert_eq!(client.trained, [0, 1, 2]);
    }

    /// Until somebody opens the port, its other end reads errors.
    async fn serve_until_gone(client: &mut Client, mut port: SerialStream) {
        loop {
            let _ = client.serve(&mut port).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn a_port_is_opened_for_one_program_alone() {
        let (_near, path) = pair();
        let address = SerialAddress {
            usb_serial: None,
            path: Some(path.into()),
            baud: 115_200,
        };
        let first = address.open().expect("the first may");
        let second = address.open().expect_err("the second may not").to_string();
        assert!(second.contains("open in another program"), "{second}");
        drop(first);
        address.open().expect("the next may");
    }
}
