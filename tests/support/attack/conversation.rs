//! A host and a device in one recorded conversation, and forged frames made from recorded ones, with
//! a valid checksum.

use crc::{CRC_32_ISO_HDLC, Crc, Table};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::frame::{CRC_BYTES, DELIMITER, HEADER_BYTES};
use gleaner_shared::wire::link::{DeviceEnd, HostEnd};
use gleaner_shared::wire::message::{DeviceId, DeviceToHost, HostToDevice, LinkMessage, Payload};
use gleaner_shared::wire::{DeviceLink, Event, FrameBuffer, HostLink, Key, Timing};

use crate::pair::{BIT_RATE, about};

const CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// Bytes of the transfers on record: a few chunks.
const TRANSFER: usize = 3_000;

/// Limit on the time to open a session after any attack.
const PATIENCE: Micros = Micros(120_000_000);

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Host,
    Device,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Host => Self::Device,
            Self::Device => Self::Host,
        }
    }
}

/// Frames that one end sent, before checksum and stuffing.
pub(super) type Record = Vec<Vec<u8>>;

/// Two ends, their clock and the frames they sent.
pub(super) struct Conversation {
    pub(super) host: HostLink<Key>,
    pub(super) device: DeviceLink,
    pub(super) said: [Record; 2],
    /// Messages for the application at host and device.
    pub(super) heard: [u32; 2],
    now: Micros,
    store: Vec<u8>,
    source: Vec<u8>,
}

impl Conversation {
    /// Creates two ends with `key` and no session; `boot` seeds their randomness.
    pub(super) fn new(key: Key, boot: u64) -> Self {
        let timing = Timing::for_bit_rate(BIT_RATE);
        let mut entropy = [0x5A; 32];
        entropy[..8].copy_from_slice(&boot.to_le_bytes());
        Self {
            host: HostLink::new(key, entropy, timing),
            device: DeviceLink::new(key, Some(entropy), DeviceId([7; 12]), timing),
            said: [Vec::new(), Vec::new()],
            heard: [0; 2],
            now: Micros::ZERO,
            store: vec![0; 2 * TRANSFER],
            source: (0..TRANSFER).map(|at| at as u8).collect(),
        }
    }

    /// Creates two ends in an open session, after a frame of every kind in both directions.
    pub(super) fn held(key: Key, boot: u64) -> Self {
        let mut talk = Self::new(key, boot);
        talk.agree();
        talk.chat();
        talk
    }

    /// Exchanges frames until a session is open and both ends are idle.
    pub(super) fn agree(&mut self) {
        while !(self.host.is_connected() && self.device.is_connected() && self.host.is_idle()) {
            assert!(self.now < PATIENCE, "honest ends agree on a session");
            self.exchange();
            self.now = self.now.saturating_add(Micros(10_000));
        }
        self.exchange();
    }

    /// Sends a frame of every kind in both directions.
    pub(super) fn chat(&mut self) {
        let ping = |token| LinkMessage::Ping { token };
        self.host.notify(HostToDevice::Link(ping(5)));
        self.device.notify(DeviceToHost::Link(ping(6)));
        self.say();
        let offered = self
            .host
            .offer(self.now, Payload::Echo, None, &self.source)
            .is_ok()
            && self
                .device
                .offer(self.now, Payload::Echo, None, &self.source)
                .is_ok();
        assert!(offered, "nothing else is on offer");
        self.exchange();
    }

    /// Sends one reliable message in each direction.
    pub(super) fn say(&mut self) {
        let sent = self.host.send(HostToDevice::Inspect).is_ok()
            && self
                .device
                .send(DeviceToHost::Counters(self.device.counters()))
                .is_ok();
        assert!(sent, "an open session has room");
        self.exchange();
    }

    /// Exchanges frames until neither end has one to send now.
    pub(super) fn exchange(&mut self) {
        loop {
            let down = self.next_line(Side::Host);
            let up = self.next_line(Side::Device);
            if down.is_none() && up.is_none() {
                return;
            }
            for (side, line) in [(Side::Device, down), (Side::Host, up)] {
                if let Some(line) = line {
                    self.deliver(side, &line);
                }
            }
            let _ = (self.host.poll(self.now), self.device.poll(self.now));
        }
    }

    /// Returns and records the next frame of an end.
    pub(super) fn next_line(&mut self, from: Side) -> Option<Vec<u8>> {
        let mut frame = FrameBuffer::new();
        let (now, source) = (self.now, &self.source);
        let line = match from {
            Side::Host => self.host.transmit(now, source, &mut frame),
            Side::Device => self.device.transmit(now, source, &mut frame),
        }?;
        let line = line.to_vec();
        if line.len() > 1 {
            self.said[from as usize].push(body_of(&line));
        }
        Some(line)
    }

    /// Delivers bytes to an end, which reacts to them.
    pub(super) fn deliver(&mut self, to: Side, line: &[u8]) {
        let mut rest = line;
        match to {
            Side::Host => {
                while let Some(event) = self.host.receive(self.now, &mut rest, &mut self.store) {
                    self.heard[0] += u32::from(matches!(event, Event::Message(_)));
                    if matches!(event, Event::Offered(_)) {
                        let _ = self.host.accept(&self.store);
                    }
                }
            }
            Side::Device => {
                while let Some(event) = self.device.receive(self.now, &mut rest, &mut self.store) {
                    self.heard[1] += u32::from(matches!(event, Event::Message(_)));
                    match event {
                        Event::Offered(_) => drop(self.device.accept(&self.store)),
                        Event::Connected(()) => {
                            let _ = self.device.send(DeviceToHost::About(about()));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Delivers forged bytes to an end and returns its reaction.
    pub(super) fn strike(&mut self, at: Side, line: &[u8]) -> Reaction {
        let mut rest = line;
        let counters = |talk: &Self| match at {
            Side::Host => talk.host.counters(),
            Side::Device => talk.device.counters(),
        };
        let before = counters(self);
        let mut struck = Reaction::default();
        while let Some(refused) = match at {
            Side::Host => self
                .host
                .receive(self.now, &mut rest, &mut self.store)
                .map(|event: Event<HostEnd>| matches!(event, Event::Refused(_))),
            Side::Device => self
                .device
                .receive(self.now, &mut rest, &mut self.store)
                .map(|event: Event<DeviceEnd>| matches!(event, Event::Refused(_))),
        } {
            struck.refused |= refused;
            struck.accepted |= !refused;
        }
        let after = counters(self);
        struck.accepted |= (after.received, after.sessions) != (before.received, before.sessions);
        struck.forged = after.forged != before.forged;
        struck.replayed = after.replayed != before.replayed;
        struck.stray = after.stray != before.stray;
        struck.damaged = (after.damaged, after.oversized, after.malformed)
            != (before.damaged, before.oversized, before.malformed);
        struck
    }
}

/// Reaction of an end to a forged frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reaction {
    pub(super) accepted: bool,
    pub(super) refused: bool,
    pub(super) forged: bool,
    pub(super) replayed: bool,
    pub(super) stray: bool,
    pub(super) damaged: bool,
}

/// Returns a frame as it was before checksum and stuffing.
fn body_of(line: &[u8]) -> Vec<u8> {
    let (mut body, mut rest) = (Vec::with_capacity(line.len()), line);
    while let Some((&code, tail)) = rest.split_first().filter(|(code, _)| **code != DELIMITER) {
        let (run, tail) = tail.split_at((code as usize - 1).min(tail.len()));
        body.extend_from_slice(run);
        if code != 0xFF {
            body.push(0);
        }
        rest = tail;
    }
    // The zero that stuffing takes behind the last run.
    body.pop();
    body.truncate(body.len().saturating_sub(CRC_BYTES));
    body
}

/// Returns the bytes on the line for a frame, with a valid checksum.
pub(super) fn line_of(body: &[u8]) -> Vec<u8> {
    let mut whole = body.to_vec();
    whole.extend_from_slice(&CRC.checksum(body).to_le_bytes());
    let mut line = Vec::with_capacity(whole.len() + 8);
    let pieces = whole.split(|byte| *byte == 0);
    let count = pieces.clone().count();
    for (at, piece) in pieces.enumerate() {
        let mut runs = piece.chunks_exact(0xFE);
        for run in &mut runs {
            line.push(0xFF);
            line.extend_from_slice(run);
        }
        let rest = runs.remainder();
        // A run of 254 at the very end needs no empty one behind it.
        if at + 1 < count || !rest.is_empty() || piece.is_empty() {
            line.push(rest.len() as u8 + 1);
            line.extend_from_slice(rest);
        }
    }
    line.push(DELIMITER);
    line
}

/// Writes session and sequence into a frame's header.
pub(super) fn readdress(body: &mut [u8], session: Option<[u8; 4]>, sequence: Option<u32>) {
    let Some(header) = body.first_chunk_mut::<HEADER_BYTES>() else {
        return;
    };
    if let Some(session) = session {
        header[1..5].copy_from_slice(&session);
    }
    if let Some(sequence) = sequence {
        header[5..].copy_from_slice(&sequence.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_taken_apart_and_put_together_is_the_same_on_the_line() {
        let mut talk = Conversation::held(Key::new([1; 32]), 1);
        // Bytes the device does not hold yet.
        talk.source.reverse();
        let source = talk.source.clone();
        let offered = talk.host.offer(talk.now, Payload::Model, None, &source);
        assert!(offered.is_ok());
        let mut lines = 0;
        while let Some(line) = talk.next_line(Side::Host) {
            assert_eq!(line_of(&body_of(&line)), line);
            lines += 1;
            talk.deliver(Side::Device, &line);
            while let Some(line) = talk.next_line(Side::Device) {
                assert_eq!(line_of(&body_of(&line)), line);
                talk.deliver(Side::Host, &line);
            }
        }
        assert!(lines > 4, "{lines} frames");
        for len in [0, 1, 253, 254, 255, 508, 509] {
            let body = vec![7; len];
            assert_eq!(body_of(&line_of(&body)), body, "{len} bytes");
        }
    }

    #[test]
    fn a_genuine_frame_is_seen_to_be_taken_once() {
        let mut talk = Conversation::held(Key::new([1; 32]), 1);
        for (from, ping) in [(Side::Host, 1), (Side::Device, 2)] {
            let ping = LinkMessage::Ping { token: ping };
            match from {
                Side::Host => talk.host.notify(ping.into()),
                Side::Device => talk.device.notify(ping.into()),
            }
            let line = talk.next_line(from).unwrap();
            assert!(talk.strike(from.other(), &line).accepted);
            let again = talk.strike(from.other(), &line);
            assert!(again.replayed && !again.accepted, "{again:?}");
        }
    }
}
