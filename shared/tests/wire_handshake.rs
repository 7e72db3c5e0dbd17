//! What the handshake refuses, and what a session does with frames that are not its own.

#[allow(dead_code, reason = "each test program uses some of them")]
#[path = "samples/mod.rs"]
mod samples;

use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::DeviceEnd;
use gleaner_shared::wire::message::{Connect, DeviceToHost, Hello, Refusal, Version, encode};
use gleaner_shared::wire::{
    DeviceLink, Direction, Event, FrameBuffer, Header, HostLink, HostToDevice, Key, Keyring, Kind,
    Timing,
};

const KEY: Key = Key::new([5; 32]);
const OTHER: Version = Version {
    protocol: 9,
    schema: 0xABCD,
};

fn hello() -> Hello {
    let sample = samples::device_to_host()
        .into_iter()
        .find_map(|(_, message)| match message {
            DeviceToHost::Hello(hello) => Some(hello),
            _ => None,
        });
    sample.expect("a greeting among the samples")
}

fn device(boot: u8) -> DeviceLink {
    DeviceLink::new(KEY, [boot; 32], hello(), Timing::default())
}

fn host(boot: u8) -> HostLink<Key> {
    HostLink::new(KEY, [boot; 32], Timing::default())
}

fn seal<T: serde::Serialize>(direction: Direction, kind: Kind, message: &T, key: &Key) -> Vec<u8> {
    let mut frame = FrameBuffer::new();
    let len = encode(message, frame.payload()).expect("it fits");
    let header = Header {
        direction,
        kind,
        session: 0,
        sequence: 0,
    };
    frame.seal(&header, len, key).to_vec()
}

fn say_host<K: Keyring>(host: &mut HostLink<K>) -> Vec<u8> {
    let mut frame = FrameBuffer::new();
    let mut line = Vec::new();
    while let Some(bytes) = host.transmit(Micros(1), &[], &mut frame) {
        line.extend_from_slice(bytes);
    }
    line
}

fn say_device(device: &mut DeviceLink) -> Vec<u8> {
    let mut frame = FrameBuffer::new();
    let mut line = Vec::new();
    while let Some(bytes) = device.transmit(Micros(1), &[], &mut frame) {
        line.extend_from_slice(bytes);
    }
    line
}

fn hear_device(device: &mut DeviceLink, line: &[u8]) -> Vec<Event<DeviceEnd>> {
    let mut rest = line;
    std::iter::from_fn(|| device.receive(Micros(1), &mut rest, &mut [])).collect()
}

/// Opens a session and returns what the host said in it.
fn connect(host: &mut HostLink<Key>, device: &mut DeviceLink) -> Vec<u8> {
    hear_device(device, &say_host(host));
    let greeting = say_device(device);
    let connected = host.receive(Micros(1), &mut &greeting[..], &mut []);
    assert!(
        matches!(connected, Some(Event::Connected(_))),
        "{connected:?}"
    );
    let welcome = say_host(host);
    assert_eq!(hear_device(device, &welcome), [Event::Connected(())]);
    welcome
}

#[test]
fn a_host_names_both_versions_when_they_differ() {
    let mut host = host(1);
    say_host(&mut host);
    let nonce = gleaner_shared::wire::auth::NonceSource::new([1; 32]).draw();
    let hello = Hello {
        version: OTHER,
        host_nonce: nonce,
        ..hello()
    };
    let line = seal(
        Direction::DeviceToHost,
        Kind::Greeting,
        &DeviceToHost::Hello(hello),
        &KEY,
    );
    let Some(Event::Refused(refusal)) = host.receive(Micros(1), &mut &line[..], &mut []) else {
        panic!("not refused");
    };
    assert_eq!(
        refusal,
        Refusal::Version {
            ours: Version::OURS,
            theirs: OTHER
        }
    );
    let said = refusal.to_string();
    assert!(
        said.contains(&Version::OURS.to_string()) && said.contains(&OTHER.to_string()),
        "{said}"
    );
    assert!(!host.is_connected());
}

#[test]
fn a_device_names_both_versions_and_still_greets() {
    let mut device = device(1);
    say_device(&mut device);
    let connect = Connect {
        version: OTHER,
        nonce: [4; 16],
        secure: true,
    };
    let line = seal(
        Direction::HostToDevice,
        Kind::Open,
        &HostToDevice::Connect(connect),
        &Key::PUBLIC,
    );
    let refused = hear_device(&mut device, &line);
    assert_eq!(
        refused,
        [Event::Refused(Refusal::Version {
            ours: Version::OURS,
            theirs: OTHER
        })]
    );
    assert!(say_device(&mut device).len() > 100, "the greeting goes out");
    assert!(!device.is_connected());
}

#[test]
fn a_frame_is_accepted_once() {
    let (mut host, mut device) = (host(1), device(1));
    connect(&mut host, &mut device);
    host.send(HostToDevice::Cancel { round: 3 }).expect("room");
    // The welcome is acknowledged first, then the order goes out.
    let acknowledged = say_device(&mut device);
    host.receive(Micros(1), &mut &acknowledged[..], &mut []);
    let line = say_host(&mut host);
    let order = [Event::Message(HostToDevice::Cancel { round: 3 })];
    assert_eq!(hear_device(&mut device, &line), order);
    assert_eq!(hear_device(&mut device, &line), []);
    assert_eq!(device.counters().replayed, 1);
}

#[test]
fn frames_of_an_old_session_are_refused_in_a_new_one() {
    let (mut first, mut device_link) = (host(1), device(1));
    let recorded = connect(&mut first, &mut device_link);
    let mut second = host(2);
    connect(&mut second, &mut device_link);
    assert_eq!(hear_device(&mut device_link, &recorded), []);
    assert_eq!(device_link.counters().stray, 1);
    // Nor does a restarted device take them, even if the whole handshake is played to it.
    let mut restarted = device(2);
    let mut replayed = host(1);
    hear_device(&mut restarted, &say_host(&mut replayed));
    assert_eq!(hear_device(&mut restarted, &recorded), []);
    assert!(!restarted.is_connected());
}

#[test]
fn someone_without_the_key_cannot_end_a_session() {
    let (mut host, mut device) = (host(1), device(1));
    connect(&mut host, &mut device);
    let connect = Connect {
        version: Version::OURS,
        nonce: [9; 16],
        secure: true,
    };
    let forged = seal(
        Direction::HostToDevice,
        Kind::Open,
        &HostToDevice::Connect(connect),
        &Key::PUBLIC,
    );
    assert_eq!(hear_device(&mut device, &forged), []);
    say_device(&mut device);
    assert!(device.is_connected());
    host.send(HostToDevice::Inspect).expect("room");
    let acknowledged = say_device(&mut device);
    host.receive(Micros(1), &mut &acknowledged[..], &mut []);
    assert!(device.is_connected() && host.is_connected());
}

#[test]
fn only_listed_devices_are_let_in() {
    struct Nobody;
    impl Keyring for Nobody {
        fn key_of(&self, _: &gleaner_shared::wire::message::DeviceId) -> Option<Key> {
            None
        }
    }
    let mut host = HostLink::new(Nobody, [1; 32], Timing::default());
    let mut device = device(1);
    say_device(&mut device);
    hear_device(&mut device, &say_host(&mut host));
    let greeting = say_device(&mut device);
    let refused = host.receive(Micros(1), &mut &greeting[..], &mut []);
    assert_eq!(refused, Some(Event::Refused(Refusal::UnknownDevice)));
    let told = say_host(&mut host);
    assert_eq!(
        hear_device(&mut device, &told),
        [Event::Refused(Refusal::UnknownDevice)]
    );
}
