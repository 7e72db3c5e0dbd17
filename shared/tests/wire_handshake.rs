//! Refusals of the handshake, and frames that do not belong to the session.

#[allow(dead_code, reason = "each test program uses some of them")]
#[path = "samples/mod.rs"]
mod samples;

#[path = "wire_handshake/keys.rs"]
mod keys;

use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::DeviceEnd;
use gleaner_shared::wire::message::{
    About, Connect, DeviceId, DeviceToHost, Hello, Refusal, Version, encode,
};
use gleaner_shared::wire::{
    DeviceLink, Direction, Event, FrameBuffer, Header, HostLink, HostToDevice, Key, Keyring, Kind,
    Nonce, Timing,
};

const KEY: Key = Key::new([5; 32]);
const OTHER: Version = Version {
    protocol: 9,
    schema: 0xABCD,
};

const DEVICE: DeviceId = DeviceId([3; 12]);

fn about() -> About {
    let sample = samples::device_to_host()
        .into_iter()
        .find_map(|(_, message)| match message {
            DeviceToHost::About(about) => Some(about),
            _ => None,
        });
    sample.expect("what a device says of itself among the samples")
}

fn device(boot: u8) -> DeviceLink {
    DeviceLink::new(KEY, Some([boot; 32]), DEVICE, Timing::default())
}

fn host(boot: u8) -> HostLink<Key> {
    HostLink::new(KEY, [boot; 32], Timing::default())
}

fn sign<T: serde::Serialize>(direction: Direction, kind: Kind, message: &T, key: &Key) -> Vec<u8> {
    let mut frame = FrameBuffer::new();
    let len = encode(message, frame.payload()).expect("it fits");
    let header = Header {
        direction,
        kind,
        session: 0,
        sequence: 0,
    };
    frame.sign(&header, len, key).to_vec()
}

/// Returns a request for a greeting, which anybody can make.
fn request(version: Version, nonce: Nonce) -> Vec<u8> {
    let connect = Connect {
        version,
        nonce,
        secure: true,
        generation: 0,
    };
    sign(
        Direction::HostToDevice,
        Kind::Open,
        &HostToDevice::Connect(connect),
        &Key::PUBLIC,
    )
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

/// Opens a session and returns the host's bytes.
fn connect(host: &mut HostLink<Key>, device: &mut DeviceLink) -> Vec<u8> {
    hear_device(device, &say_host(host));
    let greeting = say_device(device);
    assert_eq!(host.receive(Micros(1), &mut &greeting[..], &mut []), None);
    let welcome = say_host(host);
    assert_eq!(hear_device(device, &welcome), [Event::Connected(())]);
    device.send(DeviceToHost::About(about())).expect("room");
    let introduction = say_device(device);
    let connected = host.receive(Micros(1), &mut &introduction[..], &mut []);
    let Some(Event::Connected(greeting)) = connected else {
        panic!("{connected:?}");
    };
    assert_eq!((greeting.device, greeting.about), (DEVICE, about()));
    assert_eq!(hear_device(device, &say_host(host)), []);
    welcome
}

#[test]
fn a_host_names_both_versions_when_they_differ() {
    let mut host = host(1);
    say_host(&mut host);
    let nonce = gleaner_shared::wire::auth::NonceSource::new([1; 32]).draw();
    let hello = Hello {
        version: OTHER,
        device: DEVICE,
        host_nonce: nonce,
        device_nonce: [8; 16],
        secure: true,
        generation: 0,
    };
    let line = sign(
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
    let line = request(OTHER, [4; 16]);
    let refused = hear_device(&mut device, &line);
    assert_eq!(
        refused,
        [Event::Refused(Refusal::Version {
            ours: Version::OURS,
            theirs: OTHER
        })]
    );
    assert!(say_device(&mut device).len() > 80, "the greeting goes out");
    assert!(!device.is_connected());
}

#[test]
fn a_frame_is_accepted_once() {
    let (mut host, mut device) = (host(1), device(1));
    connect(&mut host, &mut device);
    host.send(HostToDevice::Inspect).expect("room");
    // The welcome is acknowledged first, then the order is sent.
    let acknowledged = say_device(&mut device);
    host.receive(Micros(1), &mut &acknowledged[..], &mut []);
    let line = say_host(&mut host);
    let order = [Event::Message(HostToDevice::Inspect)];
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
    // A restarted device refuses them as well, even if the whole handshake is replayed.
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
    let forged = request(Version::OURS, [9; 16]);
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
        fn key_of(&self, _: &DeviceId, _: u32) -> Option<Key> {
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

#[test]
fn a_stranger_learns_a_devices_number_and_nonce_and_nothing_else() {
    let mut device = device(1);
    let announced = say_device(&mut device);
    let line = request(Version::OURS, [4; 16]);
    hear_device(&mut device, &line);
    let greeting = say_device(&mut device);
    // Version, number, both nonces, one bit and a generation; a frame, its stuffing and two delimiters.
    assert!(announced.len() < 50 && greeting.len() < 100);
    let heard = [announced, greeting].concat();
    for secret in ["rp2040", "1f2e3d4"] {
        let shown = heard
            .windows(secret.len())
            .any(|at| at == secret.as_bytes());
        assert!(!shown, "{secret}");
    }
}

#[test]
fn messages_of_a_session_are_unreadable_on_the_line() {
    let (mut host, mut device) = (host(1), device(1));
    hear_device(&mut device, &say_host(&mut host));
    let greeting = say_device(&mut device);
    host.receive(Micros(1), &mut &greeting[..], &mut []);
    hear_device(&mut device, &say_host(&mut host));
    device.send(DeviceToHost::About(about())).expect("room");
    let line = say_device(&mut device);
    let board = about().board;
    assert!(line.len() > board.len());
    assert!(!line.windows(board.len()).any(|at| at == board.as_bytes()));
}

#[test]
fn events_of_a_device_are_held_back_until_it_has_described_itself() {
    let (mut host, mut device) = (host(1), device(1));
    hear_device(&mut device, &say_host(&mut host));
    let greeting = say_device(&mut device);
    host.receive(Micros(1), &mut &greeting[..], &mut []);
    hear_device(&mut device, &say_host(&mut host));
    let early = samples::device_to_host()
        .into_iter()
        .find_map(|(name, message)| (name == "report").then_some(message));
    device.send(early.clone().expect("a report")).expect("room");
    let line = say_device(&mut device);
    assert_eq!(host.receive(Micros(1), &mut &line[..], &mut []), None);
}

#[test]
fn a_device_with_a_key_and_without_randomness_opens_no_session() {
    let mut broken = DeviceLink::new(KEY, None, DEVICE, Timing::default());
    say_device(&mut broken);
    let mut host = host(1);
    let refused = hear_device(&mut broken, &say_host(&mut host));
    assert_eq!(refused, [Event::Refused(Refusal::NoRandomness)]);
    let told = say_device(&mut broken);
    assert_eq!(
        host.receive(Micros(1), &mut &told[..], &mut []),
        Some(Event::Refused(Refusal::NoRandomness))
    );
    let open = DeviceLink::new(Key::PUBLIC, None, DEVICE, Timing::default());
    let mut insecure = HostLink::new(Key::PUBLIC, [1; 32], Timing::default());
    let mut open = open;
    say_device(&mut open);
    assert_eq!(hear_device(&mut open, &say_host(&mut insecure)), []);
}
