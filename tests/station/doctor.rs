//! The doctor's findings, with boards that are well and boards that are not.

use gleaner_shared::energy::Pace;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gleaner_sim::fleet;
use gleaner_station::board::{ConfirmedState, Identity};
use gleaner_station::doctor::{Diagnosis, Options, examine};
use gleaner_station::fleet_file::{FleetFile, Link, SecretKey};
use gleaner_station::link::Endpoint;
use gleaner_station::link::faults::{FaultCounters, Faults};
use gleaner_station::{Handle, bus};
use gleaner_tests::gateway::Gateways;
use gleaner_tests::runs;
use gleaner_tests::runs::Folder;
use gleaner_tests::station::RUN;

fn diagnose(change: impl FnOnce(&mut FleetFile)) -> Diagnosis {
    diagnose_at(None, change)
}

fn diagnose_at(listen: Option<SocketAddr>, change: impl FnOnce(&mut FleetFile)) -> Diagnosis {
    let scenario = runs::scenario("cre", 1);
    let data = fleet::load_data(&scenario).unwrap();
    let (mut fleet, _boards) = runs::fleet_file(&scenario, &data);
    change(&mut fleet);
    let options = Options {
        patience: Duration::from_secs(20),
        // More than twice what a board takes at once.
        echo_bytes: 200_000,
        listen,
    };
    let folder = Folder::new("doctor");
    examine(&fleet, &scenario, &data, options, folder.run().path()).unwrap()
}

#[test]
fn a_healthy_fleet_has_nothing_to_fix() {
    let diagnosis = diagnose(|_| {});
    assert!(diagnosis.is_healthy(), "{diagnosis}");
    let text = diagnosis.to_string();
    for words in [
        "key accepted",
        "no key",
        "in-process",
        "samples",
        "0 erases, 0 pages in 0 closed rounds",
        "200000 bytes there and back",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn every_ailment_is_named_with_its_cure() {
    let diagnosis = diagnose(|fleet| {
        fleet.clients[0].key = Some(SecretKey([77; 32]));
        // Client 1's board sits where client 3 is expected, and nobody where client 1 is.
        let address = "127.0.0.1:1".to_owned();
        let nobody = Link::Tcp { address };
        fleet.clients[3].link = std::mem::replace(&mut fleet.clients[1].link, nobody);
    });
    assert!(!diagnosis.is_healthy());
    let ailing: Vec<(&str, &str)> = diagnosis
        .0
        .iter()
        .filter(|finding| finding.fix.is_some())
        .map(|finding| (finding.name.as_str(), finding.check))
        .collect();
    assert_eq!(
        ailing[..2],
        [("client-0", "session"), ("client-1", "link")],
        "{diagnosis}"
    );
    assert_eq!(ailing[2], ("client-3", "shard"), "{diagnosis}");
    let text = diagnosis.to_string();
    for words in [
        "different keys",
        "refused",
        "correct address",
        "of client 1",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "one loopback address alone")]
fn a_board_that_calls_in_is_examined_where_it_may() {
    // A loopback of its own: nobody else has the port.
    let station = SocketAddr::from(([127, 7, 4, 53], 7453));
    let gateways = Gateways::new();
    for (listen, words) in [(Some(station), "it connected"), (None, "skipped")] {
        let diagnosis = diagnose_at(listen, |fleet| {
            let entry = &mut fleet.clients[0];
            let incoming = Link::Incoming { device: None };
            let Link::Tcp { address } = std::mem::replace(&mut entry.link, incoming) else {
                panic!("a TCP server");
            };
            gateways.add(address.parse().unwrap(), move || listen);
        });
        assert!(diagnosis.is_healthy(), "{diagnosis}");
        assert!(diagnosis.to_string().contains(words), "{diagnosis}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_echo_comes_back_over_a_line_that_is_cut() {
    let scenario = runs::scenario("cre", 1);
    let data = fleet::load_data(&scenario).unwrap();
    let (fleet, _boards) = runs::fleet_file(&scenario, &data);
    let entry = &fleet.clients[1];
    let counters = Arc::new(FaultCounters::default());
    let faults = Faults {
        cut: 0.02,
        seed: 3,
        ..Faults::default()
    };
    let endpoint = Endpoint::new(entry.place().unwrap());
    let store = entry.store(&scenario);
    let identity = Identity {
        client: entry.id,
        endpoint: endpoint.with_faults(faults, Arc::clone(&counters)),
        keys: entry.wire_keys(),
        timing: entry.timing(),
        run: RUN,
        seed: 1,
        store,
        cost: entry.cost_model(&scenario),
        pace: Pace::default(),
        network: gleaner_shared::board::Shape::PAPER,
        shard_crc: None,
    };
    let (events, _heard) = bus::open();
    let board = Handle::spawn(identity, ConfirmedState::new(store.capacity, store), events);
    for piece in 0..3 {
        let echo = board.echo(&[piece; 40_000], Duration::from_secs(120)).await;
        assert!(echo.is_ok(), "{echo:?}");
    }
    let cuts = counters.read()[4];
    assert!(cuts > 0, "{:?}", counters.read());
}
