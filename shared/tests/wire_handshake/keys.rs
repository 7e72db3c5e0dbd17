//! Two generations of a key: which one a session uses, and what the previous one still permits.

use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::{Connect, DeviceId, DeviceToHost, Refusal, Version};
use gleaner_shared::wire::{
    DeviceKeys, DeviceLink, Direction, Event, FrameBuffer, Generation, HostKeys, HostLink,
    HostToDevice, Key, Kind, Timing,
};

use super::{about, hear_device, say_device, say_host, sign};

const OLD: Key = Key::new([5; 32]);
const NEW: Key = Key::new([6; 32]);
const HANDING_OVER: HostKeys = HostKeys {
    key: OLD,
    generation: 0,
    next: Some(NEW),
};
const NOW: Micros = Micros(1);

fn both() -> DeviceKeys {
    DeviceKeys {
        previous: Some(DeviceKeys::from(OLD).newest),
        ..only_new()
    }
}

fn only_new() -> DeviceKeys {
    DeviceKeys {
        newest: Generation {
            number: 1,
            key: NEW,
        },
        previous: None,
    }
}

fn settled(key: Key, generation: u32) -> HostKeys {
    HostKeys {
        generation,
        ..HostKeys::from(key)
    }
}

fn device(keys: impl Into<DeviceKeys>) -> DeviceLink {
    let mut device = DeviceLink::new(keys, Some([1; 32]), DeviceId([3; 12]), Timing::default());
    say_device(&mut device);
    device
}

fn host(keys: HostKeys, boot: u8) -> HostLink<HostKeys> {
    HostLink::new(keys, [boot; 32], Timing::default())
}

/// Opens a session; returns the generation of the host's greeting and of the device's session, or
/// why there is none.
fn connect(host: &mut HostLink<HostKeys>, device: &mut DeviceLink) -> Result<u32, Refusal> {
    hear_device(device, &say_host(host));
    let greeting = say_device(device);
    if let Some(Event::Refused(refusal)) = host.receive(NOW, &mut &greeting[..], &mut []) {
        return Err(refusal);
    }
    assert_eq!(hear_device(device, &say_host(host)), [Event::Connected(())]);
    device.send(DeviceToHost::About(about())).expect("room");
    let introduction = say_device(device);
    let connected = host.receive(NOW, &mut &introduction[..], &mut []);
    let Some(Event::Connected(greeting)) = connected else {
        panic!("{connected:?}");
    };
    assert_eq!(device.generation(), Some(greeting.generation));
    Ok(greeting.generation)
}

#[test]
fn a_session_uses_the_newest_key_that_both_ends_hold() {
    for (host_keys, device_keys, generation) in [
        (settled(OLD, 0), DeviceKeys::from(OLD), Ok(0)),
        (settled(OLD, 0), both(), Ok(0)),
        (settled(OLD, 0), only_new(), Err(Refusal::WrongKey)),
        (HANDING_OVER, DeviceKeys::from(OLD), Ok(0)),
        (HANDING_OVER, both(), Ok(1)),
        (HANDING_OVER, only_new(), Ok(1)),
        (settled(NEW, 1), both(), Ok(1)),
        (settled(NEW, 1), only_new(), Ok(1)),
        (settled(NEW, 1), OLD.into(), Err(Refusal::WrongKey)),
        // Flashed again with the key of a later generation, the board counts from 0.
        (settled(NEW, 7), DeviceKeys::from(NEW), Ok(0)),
    ] {
        let (mut host, mut device) = (host(host_keys, 2), device(device_keys));
        assert_eq!(
            connect(&mut host, &mut device),
            generation,
            "{host_keys:?} {device_keys:?}"
        );
    }
}

/// An attacker with the old key who connects at the last moment gets no session.
#[test]
fn an_offer_under_a_dropped_key_is_taken_back() {
    let (mut owner, mut thief) = (host(HANDING_OVER, 2), host(settled(OLD, 0), 3));
    let mut device = device(both());
    assert_eq!(connect(&mut owner, &mut device), Ok(1));
    hear_device(&mut device, &say_host(&mut thief));
    let greeting = say_device(&mut device);
    assert_eq!(thief.receive(NOW, &mut &greeting[..], &mut []), None);
    let welcome = say_host(&mut thief);
    device.set_keys(only_new());
    assert_eq!(hear_device(&mut device, &welcome), []);
    assert_eq!(device.generation(), Some(1));
}

#[test]
fn a_greeting_under_a_dropped_key_is_not_sent() {
    let (mut thief, mut device) = (host(settled(OLD, 0), 3), device(both()));
    hear_device(&mut device, &say_host(&mut thief));
    device.set_keys(only_new());
    assert_eq!(say_device(&mut device), []);
}

#[test]
fn an_offer_under_a_key_that_stays_is_kept() {
    let (mut owner, mut device) = (host(HANDING_OVER, 2), device(both()));
    hear_device(&mut device, &say_host(&mut owner));
    let greeting = say_device(&mut device);
    owner.receive(NOW, &mut &greeting[..], &mut []);
    device.set_keys(only_new());
    let heard = hear_device(&mut device, &say_host(&mut owner));
    assert_eq!(heard, [Event::Connected(())]);
}

#[test]
fn a_recorded_rekey_frame_is_accepted_once() {
    let rekey = HostToDevice::Rekey {
        generation: 1,
        key: NEW,
    };
    let (mut owner, mut device) = (host(settled(OLD, 0), 2), device(OLD));
    assert_eq!(connect(&mut owner, &mut device), Ok(0));
    owner.send(rekey.clone()).expect("room");
    let recorded = say_host(&mut owner);
    let heard = hear_device(&mut device, &recorded);
    assert_eq!(heard, [Event::Message(rekey)]);
    let replayed = device.counters().replayed;
    assert_eq!(hear_device(&mut device, &recorded), []);
    assert!(device.counters().replayed > replayed);
    // Nor in another session of the same key.
    owner.connect();
    assert_eq!(connect(&mut owner, &mut device), Ok(0));
    let stray = device.counters().stray;
    assert_eq!(hear_device(&mut device, &recorded), []);
    assert!(device.counters().stray > stray);
}

#[test]
fn a_rekey_frame_does_not_show_the_new_key_on_the_line_or_in_a_log() {
    let (mut owner, mut device) = (host(settled(OLD, 0), 2), device(OLD));
    assert_eq!(connect(&mut owner, &mut device), Ok(0));
    let rekey = HostToDevice::Rekey {
        generation: 1,
        key: NEW,
    };
    assert!(format!("{rekey:?}").contains("Key(..)"));
    owner.send(rekey).expect("room");
    let line = say_host(&mut owner);
    assert!(line.len() > 60 && !line.windows(4).any(|at| at == [6; 4]));
}

/// Anyone may request any generation; the host's key decides about the session.
#[test]
fn asking_for_another_generation_proves_nothing() {
    let mut device = device(both());
    for generation in [0, 1, 9] {
        let connect = Connect {
            version: Version::OURS,
            nonce: [generation as u8; 16],
            secure: true,
            generation,
        };
        let message = HostToDevice::Connect(connect);
        let line = sign(Direction::HostToDevice, Kind::Open, &message, &Key::PUBLIC);
        assert_eq!(hear_device(&mut device, &line), []);
        say_device(&mut device);
    }
    assert_eq!(device.generation(), None);
    assert_eq!(connect(&mut host(HANDING_OVER, 2), &mut device), Ok(1));
}

/// A host that lost the next key sends another; the device loses power while it erases the first,
/// and the next number still refers to the first.
#[test]
fn a_device_that_holds_another_next_key_is_reached_with_the_key_before() {
    let forgotten = DeviceKeys {
        newest: Generation {
            number: 1,
            key: Key::new([9; 32]),
        },
        ..both()
    };
    let (mut owner, mut device) = (host(HANDING_OVER, 2), device(forgotten));
    assert_eq!(connect(&mut owner, &mut device), Err(Refusal::WrongKey));
    let told = say_host(&mut owner);
    hear_device(&mut device, &told);
    let mut frame = FrameBuffer::new();
    let later = owner.next_wake().expect("it asks again");
    let mut line = Vec::new();
    while let Some(bytes) = owner.transmit(later, &[], &mut frame) {
        line.extend_from_slice(bytes);
    }
    hear_device(&mut device, &line);
    let greeting = say_device(&mut device);
    assert_eq!(owner.receive(later, &mut &greeting[..], &mut []), None);
    let heard = hear_device(&mut device, &say_host(&mut owner));
    assert_eq!(heard, [Event::Connected(())]);
    assert_eq!(device.generation(), Some(0));
}
