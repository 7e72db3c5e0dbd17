//! The board's end of a link: it answers a connection request with a greeting and joins the session
//! of a host that proves the key.

use super::channel::Channel;
use super::session::Session;
use super::timing::Timing;
use super::{DeviceEnd, Event, SendError};
use crate::units::Micros;
use crate::wire::auth::{Key, Nonce, NonceSource};
use crate::wire::decoder::{Arrival, FrameDecoder};
use crate::wire::frame::{DELIMITER, Direction, Frame, FrameBuffer, Header, Kind};
use crate::wire::keys::DeviceKeys;
use crate::wire::message::{
    self, Connect, Counters, DeviceId, DeviceToHost, Hello, HostToDevice, Offer, Payload, Refusal,
    RejectReason, Version, WorkMark,
};
use crate::wire::transfer::{Accepted, Receiver};

/// Frames to send outside a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Announce,
    Greet,
    Refuse(Refusal),
}

/// The device's state machine.
#[derive(Debug)]
pub struct DeviceLink {
    decoder: FrameDecoder,
    channel: Channel<DeviceEnd>,
    keys: DeviceKeys,
    /// `None` without a trusted source of randomness.
    nonces: Option<NonceSource>,
    hello: Hello,
    /// The session offered in the last greeting; opened by its first authentic frame.
    pending: Option<Session>,
    opening: Option<Opening>,
    /// A delimiter is sent first, so that noise on the line does not damage the greeting.
    delimited: bool,
    /// The device does not announce itself again before this time.
    quiet_until: Micros,
    /// Number of complete frames received.
    whole_frames: u32,
}

impl DeviceLink {
    /// Announces itself at once. `entropy` must be unpredictable and differ at every start; a
    /// device with a key and without entropy opens no session. [`Key::PUBLIC`] makes a device for
    /// insecure hosts only, whose sessions protect nothing and need no entropy.
    pub fn new(
        keys: impl Into<DeviceKeys>,
        entropy: Option<[u8; 32]>,
        device: DeviceId,
        timing: Timing,
    ) -> Self {
        let keys = keys.into();
        let entropy = entropy.or_else(|| (!keys.is_secret()).then_some([0; 32]));
        Self {
            decoder: FrameDecoder::new(),
            channel: Channel::new(timing),
            keys,
            nonces: entropy.map(NonceSource::new),
            hello: Hello {
                version: Version::OURS,
                device,
                host_nonce: [0; 16],
                device_nonce: [0; 16],
                secure: keys.is_secret(),
                generation: keys.newest.number,
            },
            pending: None,
            opening: Some(Opening::Announce),
            delimited: false,
            quiet_until: Micros::ZERO,
            whole_frames: 0,
        }
    }

    /// Returns the number of complete frames received from any sender; noise adds none.
    pub const fn whole_frames(&self) -> u32 {
        self.whole_frames
    }

    /// Replaces the keys: a pending greeting or session of a key that is no longer held is
    /// withdrawn; an open session continues.
    pub fn set_keys(&mut self, keys: DeviceKeys) {
        let offered = self.hello.generation;
        if keys.get(offered) != self.keys.get(offered) {
            self.pending = None;
            if self.opening == Some(Opening::Greet) {
                self.opening = None;
            }
        }
        self.keys = keys;
    }

    /// Returns the generation of the key of the open session.
    pub fn generation(&self) -> Option<u32> {
        self.channel.session().map(Session::generation)
    }

    /// Takes bytes of the line until an event occurs, leaving the rest in `bytes`; chunks of an
    /// accepted transfer are written into `store`.
    pub fn receive(
        &mut self,
        now: Micros,
        bytes: &mut &[u8],
        store: &mut [u8],
    ) -> Option<Event<DeviceEnd>> {
        while let Some(arrival) = self.decoder.next_in(bytes) {
            let event = match arrival {
                Arrival::Damaged(_) => {
                    self.channel.damaged(now);
                    continue;
                }
                Arrival::Frame(frame) if frame.header.direction != Direction::HostToDevice => None,
                Arrival::Frame(frame) => {
                    self.whole_frames = self.whole_frames.wrapping_add(1);
                    let parts = Parts {
                        channel: &mut self.channel,
                        keys: &self.keys,
                        nonces: &mut self.nonces,
                        hello: &mut self.hello,
                        pending: &mut self.pending,
                        opening: &mut self.opening,
                        quiet_until: self.quiet_until,
                    };
                    match frame.header.session {
                        0 => parts.take_open(&frame),
                        _ => parts.take_in_session(now, frame, store),
                    }
                }
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Returns the event of an expired timer.
    pub fn poll(&mut self, now: Micros) -> Option<Event<DeviceEnd>> {
        let event = self.channel.expire(now);
        if matches!(event, Some(Event::Lost(_))) {
            self.opening = Some(Opening::Announce);
        }
        event
    }

    /// Returns the next bytes for the line; `source` holds the bytes of the current offer.
    pub fn transmit<'f>(
        &mut self,
        now: Micros,
        source: &[u8],
        frame: &'f mut FrameBuffer,
    ) -> Option<&'f [u8]> {
        let Some(opening) = self.opening else {
            return self
                .channel
                .transmit(now, source, frame, self.decoder.counters());
        };
        self.delimited = !self.delimited;
        if self.delimited {
            return Some(&[DELIMITER]);
        }
        self.opening = None;
        let greeting_key = self.keys.choose(self.hello.generation).key;
        let (kind, key, message) = match opening {
            Opening::Announce => {
                self.quiet_until = now.saturating_add(self.channel.timing().retry);
                let device = self.hello.device;
                (Kind::Open, &Key::PUBLIC, DeviceToHost::Announce { device })
            }
            Opening::Refuse(refusal) => (Kind::Open, &Key::PUBLIC, DeviceToHost::Refuse(refusal)),
            Opening::Greet => (
                Kind::Greeting,
                &greeting_key,
                DeviceToHost::Hello(self.hello.clone()),
            ),
        };
        let len = message::encode(&message, frame.payload()).ok()?;
        let header = Header {
            direction: Direction::DeviceToHost,
            kind,
            session: 0,
            sequence: 0,
        };
        Some(frame.sign(&header, len, key))
    }

    /// Returns when to call `poll` and `transmit` next; a time in the past means now.
    pub fn next_wake(&self) -> Option<Micros> {
        match self.opening {
            Some(_) => Some(Micros::ZERO),
            None => self.channel.next_wake(),
        }
    }
}

super::end_methods!(DeviceLink, DeviceEnd, DeviceToHost);

/// The parts of a link that an incoming frame may change.
struct Parts<'a> {
    channel: &'a mut Channel<DeviceEnd>,
    keys: &'a DeviceKeys,
    nonces: &'a mut Option<NonceSource>,
    hello: &'a mut Hello,
    pending: &'a mut Option<Session>,
    opening: &'a mut Option<Opening>,
    quiet_until: Micros,
}

impl Parts<'_> {
    fn take_open(self, frame: &Frame<'_>) -> Option<Event<DeviceEnd>> {
        if frame.header.kind != Kind::Open || !frame.is_signed_by(&Key::PUBLIC) {
            let forged = &mut self.channel.counters_mut().forged;
            *forged = forged.saturating_add(1);
            return None;
        }
        // The host's version comes first in every version, so that a mismatch can be reported.
        const CONNECT: u32 = 1;
        let start = postcard::take_from_bytes::<(u32, Version, Nonce)>(frame.payload());
        if let Ok(((CONNECT, theirs, nonce), _)) = start
            && theirs != Version::OURS
        {
            self.hello.generation = self.keys.newest.number;
            self.greet(&nonce, None);
            return Some(Event::Refused(Refusal::Version {
                ours: Version::OURS,
                theirs,
            }));
        }
        match message::decode(frame.payload()).ok()? {
            HostToDevice::Connect(connect) if self.keys.is_secret() && !connect.secure => {
                self.refuse(Refusal::KeyRequired)
            }
            HostToDevice::Connect(connect) => self.answer(&connect),
            HostToDevice::Refuse(refusal) if self.pending.is_some() => {
                *self.pending = None;
                Some(Event::Refused(refusal))
            }
            _ => None,
        }
    }

    fn answer(self, connect: &Connect) -> Option<Event<DeviceEnd>> {
        let nonce = &connect.nonce;
        let is_current = |session: &Session| session.host_nonce() == nonce;
        if self.channel.session().is_some_and(is_current) {
            // A late duplicate of the request that opened this session.
            return None;
        }
        if self.pending.as_ref().is_some_and(is_current) {
            *self.opening = Some(Opening::Greet);
            return None;
        }
        let Some(nonces) = self.nonces else {
            return self.refuse(Refusal::NoRandomness);
        };
        let device_nonce = nonces.draw();
        let key = self.keys.choose(connect.generation);
        let session = Session::new(&key, nonce, &device_nonce);
        self.hello.device_nonce = device_nonce;
        self.hello.generation = key.number;
        self.greet(nonce, Some(session));
        None
    }

    fn refuse(self, refusal: Refusal) -> Option<Event<DeviceEnd>> {
        *self.opening = Some(Opening::Refuse(refusal));
        Some(Event::Refused(refusal))
    }

    fn greet(self, nonce: &Nonce, session: Option<Session>) {
        self.hello.host_nonce = *nonce;
        *self.pending = session;
        *self.opening = Some(Opening::Greet);
    }

    fn take_in_session(
        self,
        now: Micros,
        frame: Frame<'_>,
        store: &mut [u8],
    ) -> Option<Event<DeviceEnd>> {
        let id = frame.header.session;
        if self.pending.as_ref().map(Session::id) == Some(id) {
            let mut session = self.pending.take()?;
            return match session.admit(frame) {
                Ok(opened) => {
                    self.channel.open(now, session);
                    welcomed(self.channel.take_opened(now, opened, store))
                }
                Err(rejected) => {
                    *self.pending = Some(session);
                    self.channel.count(rejected);
                    None
                }
            };
        }
        if self.channel.session().map(Session::id) == Some(id) {
            return welcomed(self.channel.take(now, frame, store));
        }
        let stray = &mut self.channel.counters_mut().stray;
        *stray = stray.saturating_add(1);
        // The host uses a session that this device does not know: it should reconnect.
        let unconnected = self.channel.session().is_none() && self.pending.is_none();
        if unconnected && self.opening.is_none() && now >= self.quiet_until {
            *self.opening = Some(Opening::Announce);
        }
        None
    }
}

/// Makes the host's first message open the session for the application.
fn welcomed(event: Option<Event<DeviceEnd>>) -> Option<Event<DeviceEnd>> {
    match event {
        Some(Event::Message(HostToDevice::Welcome { .. })) => Some(Event::Connected(())),
        event => event,
    }
}
