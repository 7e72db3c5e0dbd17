//! What only a Pico has, in its emulator: two ports at once, and a boot ROM that makes it a drive.

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{
    BootselRefusal, Counters, DeviceToHost, HostToDevice, Payload, Refusal,
};
use gleaner_station::device::image::Program;
use gleaner_tests::emulated::{on_m4, on_rp2040, on_rp2040_usb};
use gleaner_tests::reference::{exact, initial};
use gleaner_tests::reset;
use gleaner_tests::station::Station;
use gleaner_tests::wire::{LockstepWire, Wire};

const KEY: [u8; 32] = [3; 32];

/// A Pico on USB whose UART hears what nobody says.
struct Noisy {
    wire: LockstepWire,
    noise: Rng,
}

impl Wire for Noisy {
    fn now(&self) -> Micros {
        self.wire.now()
    }

    fn exchange(&mut self, to_device: &[u8], until: Micros) -> Vec<u8> {
        // Delimiters among them, as a pin that floats makes as well.
        let noise: Vec<u8> = (0..48).map(|_| self.noise.below(16) as u8).collect();
        self.wire.noise(&noise);
        self.wire.exchange(to_device, until)
    }

    fn reset(&mut self) {
        self.wire.reset();
    }
}

#[test]
fn a_pico_on_usb_keeps_its_session_while_its_uart_hears_noise() {
    let Some(wire) = on_rp2040_usb(Some(&reset::shard())) else {
        return;
    };
    let noise = Rng::stream(7, Purpose::Synthetic, 0, 0);
    let mut station = Station::new(Noisy { wire, noise });
    station.connect();
    station.deliver(Payload::Model, &exact(&initial(7)));
    station.say(HostToDevice::Inspect);
    let counters: Counters = station.expect(|message| match message {
        DeviceToHost::Counters(counters) => Some(*counters),
        _ => None,
    });
    assert_eq!(counters.sessions, 1, "{counters:?}");
    // What came before the first whole frame is all that noise could damage.
    assert!(
        counters.repeated <= 2 && counters.timeouts <= 2,
        "{counters:?}"
    );
}

#[test]
fn a_pico_becomes_a_drive_for_whoever_holds_its_key_and_for_nobody_else() {
    let digits = reset::digits();
    let client = Program::Client;
    let Some(wire) = on_rp2040(client, Some(&digits.shard(3, Some(KEY)))) else {
        return;
    };
    // Without the key there is no session to say it in.
    let mut stranger = Station::new(wire);
    let refused = stranger.run_until(Micros(2_000_000), |_, event| match event {
        Event::Refused(refusal) => Some(*refusal),
        _ => None,
    });
    assert_eq!(refused, Some(Refusal::KeyRequired));
    assert!(stranger.link.send(HostToDevice::Bootsel).is_err());

    let mut owner = Station::with_keys(stranger.wire, Key::new(KEY));
    owner.connect();
    assert!(!owner.wire.stat().bootsel);
    owner.say(HostToDevice::Bootsel);
    let soon = owner.wire.now().saturating_add(Micros(500_000));
    owner.run_until(soon, |station, _| station.wire.stat().bootsel.then_some(()));
    assert!(owner.wire.stat().bootsel, "it is a drive");
}

#[test]
fn boards_without_a_key_or_without_a_drive_say_why_they_stay() {
    fn refusal<W: Wire, K: gleaner_shared::wire::Keyring>(
        mut station: Station<W, K>,
    ) -> BootselRefusal {
        station.connect();
        station.say(HostToDevice::Bootsel);
        station.expect(|message| match message {
            DeviceToHost::BootselRefused(reason) => Some(*reason),
            _ => None,
        })
    }
    let client = Program::Client;
    if let Some(wire) = on_rp2040(client, Some(&reset::shard())) {
        assert_eq!(refusal(Station::new(wire)), BootselRefusal::NoKey);
    }
    let shard = reset::digits().shard(3, Some(KEY));
    if let Some(wire) = on_m4(client, Some(&shard)) {
        let station = Station::with_keys(wire, Key::new(KEY));
        assert_eq!(refusal(station), BootselRefusal::NoDrive);
    }
}
