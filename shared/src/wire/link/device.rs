//! A board's end: greets when asked, and follows into the session the host proves to know.

use super::channel::Channel;
use super::session::Session;
use super::timing::Timing;
use super::{DeviceEnd, Event, SendError};
use crate::units::Micros;
use crate::wire::auth::{Key, Nonce, NonceSource};
use crate::wire::decoder::{Arrival, FrameDecoder};
use crate::wire::frame::{DELIMITER, Direction, Frame, FrameBuffer, Header, Kind};
use crate::wire::message::{
    self, Counters, DeviceToHost, Hello, HostToDevice, Offer, Payload, Refusal, RejectReason,
    Version,
};
use crate::wire::transfer::{Accepted, Receiver};

/// What is to be said outside a session.
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
    key: Key,
    nonces: NonceSource,
    hello: Hello,
    /// Offered to the host in the last greeting; taken up by its first authentic frame.
    pending: Option<Session>,
    opening: Option<Opening>,
    /// A lone delimiter goes first, so that noise on the line does not cost the greeting.
    delimited: bool,
    /// Before this time the device does not announce itself again.
    quiet_until: Micros,
}

impl DeviceLink {
    /// Announces itself at once. `entropy` must be unpredictable and differ at every start;
    /// [`Key::PUBLIC`] makes a device for insecure hosts only.
    #[must_use]
    pub fn new(key: Key, entropy: [u8; 32], hello: Hello, timing: Timing) -> Self {
        Self {
            decoder: FrameDecoder::new(),
            channel: Channel::new(timing),
            key,
            nonces: NonceSource::new(entropy),
            hello,
            pending: None,
            opening: Some(Opening::Announce),
            delimited: false,
            quiet_until: Micros::ZERO,
        }
    }

    /// What the next greeting will say; version, nonces and `secure` are filled in by the link.
    pub const fn hello_mut(&mut self) -> &mut Hello {
        &mut self.hello
    }

    /// Takes bytes from the line until something happened, leaving the rest in `bytes`; chunks
    /// of an accepted transfer are written into `store`.
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
                    let parts = Parts {
                        channel: &mut self.channel,
                        key: &self.key,
                        nonces: &mut self.nonces,
                        hello: &mut self.hello,
                        pending: &mut self.pending,
                        opening: &mut self.opening,
                        quiet_until: self.quiet_until,
                    };
                    match frame.header.session {
                        0 => parts.take_open(&frame),
                        _ => parts.take_in_session(now, &frame, store),
                    }
                }
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Returns what time brought.
    pub fn poll(&mut self, now: Micros) -> Option<Event<DeviceEnd>> {
        let event = self.channel.expire(now);
        if matches!(event, Some(Event::Lost(_))) {
            self.opening = Some(Opening::Announce);
        }
        event
    }

    /// Returns the next bytes to put on the line; `source` holds the bytes last offered.
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
        let (kind, key, message) = match opening {
            Opening::Announce => {
                self.quiet_until = now.saturating_add(self.channel.timing().retry);
                let device = self.hello.device;
                (Kind::Open, &Key::PUBLIC, DeviceToHost::Announce { device })
            }
            Opening::Refuse(refusal) => (Kind::Open, &Key::PUBLIC, DeviceToHost::Refuse(refusal)),
            Opening::Greet => (
                Kind::Greeting,
                &self.key,
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
        Some(frame.seal(&header, len, key))
    }

    /// Returns when to call `poll` and `transmit` next; a time that has passed means now.
    #[must_use]
    pub fn next_wake(&self) -> Option<Micros> {
        match self.opening {
            Some(_) => Some(Micros::ZERO),
            None => self.channel.next_wake(),
        }
    }
}

super::end_methods!(DeviceLink, DeviceEnd, DeviceToHost);

/// The parts of a link an incoming frame may touch.
struct Parts<'a> {
    channel: &'a mut Channel<DeviceEnd>,
    key: &'a Key,
    nonces: &'a mut NonceSource,
    hello: &'a mut Hello,
    pending: &'a mut Option<Session>,
    opening: &'a mut Option<Opening>,
    quiet_until: Micros,
}

impl Parts<'_> {
    fn take_open(self, frame: &Frame<'_>) -> Option<Event<DeviceEnd>> {
        if frame.header.kind != Kind::Open || !frame.is_authentic(&Key::PUBLIC) {
            let forged = &mut self.channel.counters_mut().forged;
            *forged = forged.saturating_add(1);
            return None;
        }
        // The host's version comes first in every version, so that a mismatch can be named.
        const CONNECT: u32 = 1;
        let start = postcard::take_from_bytes::<(u32, Version, Nonce)>(frame.payload);
        if let Ok(((CONNECT, theirs, nonce), _)) = start
            && theirs != Version::OURS
        {
            self.greet(&nonce, None);
            return Some(Event::Refused(Refusal::Version {
                ours: Version::OURS,
                theirs,
            }));
        }
        match message::decode(frame.payload).ok()? {
            HostToDevice::Connect(connect) if self.key.is_secret() && !connect.secure => {
                *self.opening = Some(Opening::Refuse(Refusal::KeyRequired));
                Some(Event::Refused(Refusal::KeyRequired))
            }
            HostToDevice::Connect(connect) => self.answer(&connect.nonce),
            HostToDevice::Refuse(refusal) if self.pending.is_some() => {
                *self.pending = None;
                Some(Event::Refused(refusal))
            }
            _ => None,
        }
    }

    fn answer(self, nonce: &Nonce) -> Option<Event<DeviceEnd>> {
        let is_current = |session: &Session| session.host_nonce() == nonce;
        if self.channel.session().is_some_and(is_current) {
            // A late duplicate of the request that opened this session.
            return None;
        }
        if self.pending.as_ref().is_some_and(is_current) {
            *self.opening = Some(Opening::Greet);
            return None;
        }
        let device_nonce = self.nonces.draw();
        let session = Session::new(self.key, nonce, &device_nonce);
        self.hello.device_nonce = device_nonce;
        self.greet(nonce, Some(session));
        None
    }

    fn greet(self, nonce: &Nonce, session: Option<Session>) {
        self.hello.version = Version::OURS;
        self.hello.host_nonce = *nonce;
        self.hello.secure = self.key.is_secret();
        *self.pending = session;
        *self.opening = Some(Opening::Greet);
    }

    fn take_in_session(
        self,
        now: Micros,
        frame: &Frame<'_>,
        store: &mut [u8],
    ) -> Option<Event<DeviceEnd>> {
        let id = frame.header.session;
        let proven =
            |session: &mut Session| session.id() == id && frame.is_authentic(session.key());
        if let Some(session) = self.pending.take_if(proven) {
            self.channel.open(now, session);
        }
        if self.channel.session().map(Session::id) == Some(id) {
            return match self.channel.take(now, frame, store) {
                Some(Event::Message(HostToDevice::Welcome { .. })) => Some(Event::Connected(())),
                event => event,
            };
        }
        let stray = &mut self.channel.counters_mut().stray;
        *stray = stray.saturating_add(1);
        // The host speaks of a session this device does not know: it should connect again.
        let unconnected = self.channel.session().is_none() && self.pending.is_none();
        if unconnected && self.opening.is_none() && now >= self.quiet_until {
            *self.opening = Some(Opening::Announce);
        }
        None
    }
}
