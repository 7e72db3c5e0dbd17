//! Hostile peers without a key: they send noise and messages that need no key.

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::wire::message::{
    self, DeviceId, DeviceToHost, Hello, HostToDevice, Refusal, Version,
};
use gleaner_shared::wire::{
    Arrival, Direction, FrameBuffer, FrameDecoder, Header, Key, Kind, Nonce,
};

use super::{Attack, BURST, Enemy};

/// Any key but the right one.
const WRONG: Key = Key::new([0xEE; 32]);

/// A peer without a key.
pub(super) struct Stranger {
    attack: Attack,
    device: DeviceId,
    rng: Rng,
    decoder: FrameDecoder,
    /// What the base station wants a greeting to give back.
    nonce: Option<Nonce>,
    hung_up: bool,
}

impl Stranger {
    pub(super) fn new(attack: Attack, number: u32) -> Self {
        Self {
            attack,
            device: DeviceId([number as u8; 12]),
            rng: Rng::stream(1, Purpose::Synthetic, number, attack as u32),
            decoder: FrameDecoder::new(),
            nonce: None,
            hung_up: false,
        }
    }

    /// Says something outside any session.
    fn say(kind: Kind, key: &Key, message: &DeviceToHost, line: &mut Vec<u8>) {
        let mut frame = FrameBuffer::new();
        let len = message::encode(message, frame.payload()).unwrap_or_default();
        let header = Header {
            direction: Direction::DeviceToHost,
            kind,
            session: 0,
            sequence: 0,
        };
        line.extend_from_slice(frame.sign(&header, len, key));
    }
}

impl Enemy for Stranger {
    fn hear(&mut self, mut bytes: &[u8]) {
        self.hung_up = self.attack == Attack::Reconnects;
        while let Some(arrival) = self.decoder.next_in(&mut bytes) {
            if let Arrival::Frame(frame) = arrival
                && let Ok(HostToDevice::Connect(connect)) = message::decode(frame.payload())
            {
                self.nonce = Some(connect.nonce);
            }
        }
    }

    fn speak(&mut self, line: &mut Vec<u8>) {
        match self.attack {
            Attack::Refusals => {
                for _ in 0..BURST {
                    let theirs = Version {
                        protocol: self.rng.next_u32() as u16,
                        schema: self.rng.next_u64(),
                    };
                    let ours = Version::OURS;
                    let refusal = Refusal::Version { ours, theirs };
                    let message = DeviceToHost::Refuse(refusal);
                    Self::say(Kind::Open, &Key::PUBLIC, &message, line);
                }
            }
            Attack::Announces => {
                let device = self.device;
                let message = DeviceToHost::Announce { device };
                for _ in 0..BURST {
                    Self::say(Kind::Open, &Key::PUBLIC, &message, line);
                }
            }
            Attack::Greetings => {
                for host_nonce in self.nonce.into_iter().cycle().take(BURST) {
                    let message = DeviceToHost::Hello(Hello {
                        version: Version::OURS,
                        device: self.device,
                        host_nonce,
                        device_nonce: [self.rng.next_u32() as u8; 16],
                        secure: true,
                        generation: self.rng.below(3),
                    });
                    Self::say(Kind::Greeting, &WRONG, &message, line);
                }
            }
            Attack::Endless => line.resize(4096, 0x55),
            Attack::Garbage => line.extend((0..4096).map(|_| self.rng.next_u32() as u8)),
            _ => {}
        }
    }

    fn hangs_up(&self) -> bool {
        self.hung_up
    }
}
