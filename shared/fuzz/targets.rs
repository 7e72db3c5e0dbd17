//! The fuzz targets. The same functions run under libFuzzer (`fuzz_targets/`), over the committed
//! corpus in `cargo test`, and with mutations of it in `cargo figures fuzz`.

use gleaner_shared::units::Micros;
use gleaner_shared::wire::auth::NonceSource;
use gleaner_shared::wire::message::{
    self, About, Connect, DeviceId, DeviceToHost, Hello, HostToDevice, ModelHash, ModelShape,
    Offer, Payload, ShardStatus, Status, Version,
};
use gleaner_shared::wire::transfer::{Bitmap, Chunk, Receiver, Sender};
use gleaner_shared::wire::{
    Arrival, DeviceLink, Direction, FrameBuffer, FrameDecoder, Header, HostLink, Key, Kind, Nonce,
    SessionKey, Timing,
};

/// The key of device and host under test.
const KEY: Key = Key::new([0x42; 32]);
/// The device under test.
const DEVICE: DeviceId = DeviceId([7; 12]);
/// Entropy of the end under test.
const ENTROPY: [u8; 32] = [1; 32];
/// Nonce of the peer that fuzzes.
const NONCE: Nonce = [2; 16];

/// Feeds any bytes to the frame decoder: every frame it accepts encodes to the same frame.
pub fn frames(data: &[u8]) {
    let mut decoder = FrameDecoder::new();
    let mut rest = data;
    while let Some(arrival) = decoder.next_in(&mut rest) {
        let Arrival::Frame(frame) = arrival else {
            continue;
        };
        let mut buffer = FrameBuffer::new();
        let len = frame.payload().len();
        buffer.payload()[..len].copy_from_slice(frame.payload());
        let wire = buffer.sign(&frame.header, len, &KEY).to_vec();
        let mut again = FrameDecoder::new();
        match again.next_in(&mut &wire[..]) {
            Some(Arrival::Frame(same)) => {
                assert_eq!(
                    (same.header, same.payload()),
                    (frame.header, frame.payload())
                );
            }
            other => panic!("a sealed frame came back as {other:?}"),
        }
    }
}

/// Feeds any bytes to the message parsers: every decoded message encodes to an equal one.
pub fn messages(data: &[u8]) {
    fn round_trip<T>(data: &[u8])
    where
        T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let Ok(first) = message::decode::<T>(data) else {
            return;
        };
        let mut buffer = [0; 1024];
        let len = message::encode(&first, &mut buffer).expect("a decoded message fits a frame");
        let second: T = message::decode(&buffer[..len]).expect("an encoded message decodes");
        assert_eq!(first, second);
    }
    round_trip::<HostToDevice>(data);
    round_trip::<DeviceToHost>(data);
}

/// A reader that returns zeros after its end.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn number(&mut self) -> u32 {
        (0..4).fold(0, |n, _| n << 8 | u32::from(self.byte().unwrap_or(0)))
    }

    /// Reads a length byte, then that many bytes or all that is left.
    fn piece(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte().unwrap_or(0)).min(self.0.len());
        let (piece, rest) = self.0.split_at(len);
        self.0 = rest;
        piece
    }
}

/// Runs a script of offers, chunks and statuses on both transfer state machines.
pub fn transfers(data: &[u8]) {
    let mut script = Script(data);
    let source = [0xA5; 3000];
    let mut store = [0; 2500];
    let mut receiver = Receiver::new();
    let mut sender = None;
    let mut sequence = 0;
    while let Some(step) = script.byte() {
        let offer = |script: &mut Script<'_>, len: u32| Offer {
            transfer: u16::from(step >> 4),
            payload: Payload::Model,
            work: None,
            len,
            hash: match script.byte() {
                Some(wrong @ 128..) => ModelHash([wrong; 16]),
                _ => source
                    .get(..len as usize)
                    .map(ModelHash::of)
                    .unwrap_or_default(),
            },
        };
        match step % 6 {
            0 => {
                let len = script.number() % 3100;
                let _ = receiver.accept(&offer(&mut script, len), &store);
            }
            1 => {
                let len = script.number();
                sender = Sender::new(offer(&mut script, len), u16::from(step));
            }
            2 => {
                if let Some(chunk) = Chunk::parse(script.piece()) {
                    receiver.chunk(&chunk, &mut store);
                }
            }
            // Chunks of the sender reach the receiver or are lost.
            3 => {
                sequence += 1;
                let chunk = sender
                    .as_mut()
                    .and_then(|s: &mut Sender| s.next_chunk(sequence, &source));
                if let (Some(chunk), 0..128) = (chunk, script.byte().unwrap_or(0)) {
                    receiver.chunk(&chunk, &mut store);
                }
            }
            4 => {
                if let (Some(sender), Some(status)) = (&mut sender, receiver.status(sequence)) {
                    sender.heard(&status);
                }
            }
            _ => {
                let mut have = Bitmap::EMPTY;
                for index in script.piece() {
                    have.insert(u16::from(*index));
                }
                let transfer = u16::from(step >> 4);
                let seen = script.number();
                if let Some(sender) = &mut sender {
                    sender.heard(&Status {
                        transfer,
                        seen,
                        have,
                    });
                }
            }
        }
        if let Some(sender) = &sender {
            let (have, of) = sender.progress();
            assert!(have <= of && sender.in_flight() <= of);
        }
        let (have, of) = receiver.progress();
        assert!(have <= of);
    }
}

/// Runs a script of authentic frames, raw bytes and time on a connected device and a connected
/// host: the worst that a peer with the right key can do.
pub fn sessions(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let mut script = Script(rest);
    let mut now = Micros(1);
    let mut store = [0; 2500];
    let mut frame = FrameBuffer::new();
    let own = NonceSource::new(ENTROPY).draw();
    let timing = Timing::for_bit_rate(921_600);
    // The two ends have the same methods but no common type.
    macro_rules! drive {
        ($link:ident, $peer:ident, $outgoing:expr) => {
            while let Some(step) = script.byte() {
                match step % 8 {
                    0 => feed!($link, $peer.seal(Kind::Message, script.piece())),
                    1 => feed!($link, $peer.seal(Kind::Reliable, script.piece())),
                    2 => feed!($link, $peer.seal(Kind::Chunk, script.piece())),
                    3 => feed!($link, script.piece()),
                    4 => now = now.saturating_add(Micros(timing.retry.0 * u64::from(step / 8))),
                    5 => {
                        let _ = $link.accept(&store);
                    }
                    6 => {
                        let _ = $link.offer(now, Payload::Echo, None, &[step; 2000]);
                        let _ = $link.send($outgoing);
                    }
                    _ => $peer.skip(u32::from(step)),
                }
                while $link.poll(now).is_some() {}
                let mut sent = 0;
                while $link.transmit(now, &[0; 2000], &mut frame).is_some() {
                    sent += 1;
                    assert!(sent < 100, "an end must not talk without limit");
                }
                if let Some(wake) = $link.next_wake() {
                    assert!(wake > now, "all that was due has been done");
                }
            }
        };
    }
    macro_rules! feed {
        ($link:ident, $bytes:expr) => {{
            let mut bytes: &[u8] = &$bytes;
            while $link.receive(now, &mut bytes, &mut store).is_some() {}
        }};
    }
    if first % 2 == 0 {
        let mut peer = Peer::new(Direction::HostToDevice, &NONCE, &own);
        let mut link = DeviceLink::new(KEY, Some(ENTROPY), DEVICE, timing);
        let connect = Connect {
            version: Version::OURS,
            nonce: NONCE,
            secure: true,
            generation: 0,
        };
        feed!(
            link,
            open(
                Direction::HostToDevice,
                Kind::Open,
                &HostToDevice::Connect(connect),
                &Key::PUBLIC
            )
        );
        feed!(link, peer.seal(Kind::Reliable, &[0, 0, 2, 0]));
        assert!(link.is_connected());
        drive!(
            link,
            peer,
            DeviceToHost::Link(message::LinkMessage::Ping { token: 1 })
        );
    } else {
        let mut peer = Peer::new(Direction::DeviceToHost, &own, &NONCE);
        let mut link = HostLink::new(KEY, ENTROPY, timing);
        let hello = Hello {
            version: Version::OURS,
            device: DEVICE,
            host_nonce: own,
            device_nonce: NONCE,
            secure: true,
            generation: 0,
        };
        feed!(
            link,
            open(
                Direction::DeviceToHost,
                Kind::Greeting,
                &DeviceToHost::Hello(hello),
                &KEY
            )
        );
        assert!(link.is_connected());
        feed!(link, peer.introduce());
        drive!(link, peer, HostToDevice::Inspect);
    }
}

/// The peer that fuzzes: it holds the session key and may send anything.
struct Peer {
    header: Header,
    key: SessionKey,
}

impl Peer {
    fn new(direction: Direction, host: &Nonce, device: &Nonce) -> Self {
        let key = KEY.session(host, device);
        let session = key.id();
        let header = Header {
            direction,
            kind: Kind::Message,
            session,
            sequence: 0,
        };
        Self { header, key }
    }

    fn skip(&mut self, frames: u32) {
        self.header.sequence = self.header.sequence.saturating_add(frames);
    }

    /// Describes the device, so that the host accepts further messages.
    fn introduce(&mut self) -> Vec<u8> {
        let mut payload = [0; 256];
        let about = DeviceToHost::About(about());
        let len = message::encode(&about, &mut payload).expect("it fits");
        self.seal(Kind::Message, &payload[..len])
    }

    fn seal(&mut self, kind: Kind, payload: &[u8]) -> Vec<u8> {
        self.skip(1);
        self.header.kind = kind;
        let mut buffer = FrameBuffer::new();
        buffer.payload()[..payload.len()].copy_from_slice(payload);
        buffer.seal(&self.header, payload.len(), &self.key).to_vec()
    }
}

fn open<T: serde::Serialize>(direction: Direction, kind: Kind, said: &T, key: &Key) -> Vec<u8> {
    let mut buffer = FrameBuffer::new();
    let len = message::encode(said, buffer.payload()).expect("it fits");
    let header = Header {
        direction,
        kind,
        session: 0,
        sequence: 0,
    };
    buffer.sign(&header, len, key).to_vec()
}

fn about() -> About {
    About {
        build: heapless::String::new(),
        board: heapless::String::new(),
        shape: ModelShape {
            inputs: 784,
            hidden: 50,
            outputs: 10,
        },
        largest_transfer: 2500,
        shard: ShardStatus::Absent,
        codes: u8::MAX,
        exact: true,
        ledger: None,
        last_round: None,
    }
}
