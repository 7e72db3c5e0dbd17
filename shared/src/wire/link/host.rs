//! The base station's end of a link: requests a greeting, verifies it, opens the session.

use super::channel::Channel;
use super::inquiry::Claim;
use super::session::Session;
use super::timing::{Retry, Timing};
use super::{Event, Greeting, HostEnd, SendError};
use crate::units::Micros;
use crate::wire::auth::{Key, Keyring, Nonce, NonceSource};
use crate::wire::decoder::{Arrival, FrameDecoder};
use crate::wire::frame::{DELIMITER, Direction, Frame, FrameBuffer, Header, Kind};
use crate::wire::keys::Generation;
use crate::wire::message::{
    self, Connect, Counters, DeviceToHost, Hello, HostToDevice, Offer, Payload, Refusal,
    RejectReason, Version, WorkMark,
};
use crate::wire::transfer::{Accepted, Receiver};

/// An attempt to connect.
#[derive(Clone, Debug)]
struct Attempt {
    nonce: Nonce,
    retry: Retry,
    /// Whether to request the generation before the newest: the device may hold another key under
    /// the newest number.
    older: bool,
    /// Whether the last greeting was signed with another key.
    misjudged: bool,
    /// A delimiter is sent first, so that noise on the line does not damage the request.
    delimited: bool,
}

impl Attempt {
    const fn new(nonce: Nonce, retry: Retry) -> Self {
        Self {
            nonce,
            retry,
            older: false,
            misjudged: false,
            delimited: false,
        }
    }
}

/// The host's state machine for one device.
#[derive(Debug)]
pub struct HostLink<K> {
    decoder: FrameDecoder,
    channel: Channel<HostEnd>,
    keys: K,
    nonces: NonceSource,
    attempt: Option<Attempt>,
    refusal_due: Option<Refusal>,
    /// The greeting that opened the session, until the device has described itself.
    greeted: Option<Hello>,
}

impl<K: Keyring> HostLink<K> {
    /// Starts connecting at once. `entropy` must be unpredictable and differ at every start.
    pub fn new(keys: K, entropy: [u8; 32], timing: Timing) -> Self {
        let mut link = Self {
            decoder: FrameDecoder::new(),
            channel: Channel::new(timing),
            keys,
            nonces: NonceSource::new(entropy),
            attempt: None,
            refusal_due: None,
            greeted: None,
        };
        link.connect();
        link
    }

    /// Requests a new session; an open one continues until the new one is open.
    pub fn connect(&mut self) {
        let retry = Retry::at_once(self.channel.timing().retry);
        self.attempt = Some(Attempt::new(self.nonces.draw(), retry));
    }

    /// Replaces the keys, from the next attempt to connect on.
    pub fn set_keys(&mut self, keys: K) {
        self.keys = keys;
    }

    /// Stops connecting, for instance after a permanent refusal.
    pub fn give_up(&mut self) {
        self.attempt = None;
    }

    /// Takes bytes of the line until an event occurs, leaving the rest in `bytes`; chunks of an
    /// accepted transfer are written into `store`.
    pub fn receive(
        &mut self,
        now: Micros,
        bytes: &mut &[u8],
        store: &mut [u8],
    ) -> Option<Event<HostEnd>> {
        while let Some(arrival) = self.decoder.next_in(bytes) {
            let event = match arrival {
                Arrival::Damaged(_) => {
                    self.channel.damaged(now);
                    continue;
                }
                Arrival::Frame(frame) if frame.header.direction != Direction::DeviceToHost => None,
                Arrival::Frame(frame) if frame.header.session == 0 => {
                    let handshake = Handshake {
                        channel: &mut self.channel,
                        keys: &self.keys,
                        nonces: &mut self.nonces,
                        attempt: &mut self.attempt,
                        refusal_due: &mut self.refusal_due,
                        greeted: &mut self.greeted,
                    };
                    handshake.take(now, &frame)
                }
                Arrival::Frame(frame)
                    if self.channel.session().map(Session::id) == Some(frame.header.session) =>
                {
                    let event = self.channel.take(now, frame, store);
                    introduced(event, &mut self.greeted)
                }
                Arrival::Frame(_) => {
                    let stray = &mut self.channel.counters_mut().stray;
                    *stray = stray.saturating_add(1);
                    None
                }
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Returns the event of an expired timer; after a loss the link reconnects by itself.
    pub fn poll(&mut self, now: Micros) -> Option<Event<HostEnd>> {
        let event = self.channel.expire(now);
        if matches!(event, Some(Event::Lost(_))) {
            self.connect();
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
        if let Some(refusal) = self.refusal_due.take() {
            return open_frame(&HostToDevice::Refuse(refusal), frame);
        }
        let longest = self.channel.timing().retry_max;
        match &mut self.attempt {
            Some(attempt) if attempt.retry.is_due(now) => {
                attempt.delimited = !attempt.delimited;
                if attempt.delimited {
                    return Some(&[DELIMITER]);
                }
                attempt.retry.back_off(now, longest);
                // Not at once: a sender of forged greetings would keep the true one out.
                if core::mem::take(&mut attempt.misjudged) {
                    attempt.nonce = self.nonces.draw();
                    attempt.older = !attempt.older;
                }
                let newest = self.keys.generation();
                let connect = Connect {
                    version: Version::OURS,
                    nonce: attempt.nonce,
                    secure: self.keys.is_secure(),
                    generation: newest.saturating_sub(attempt.older.into()),
                };
                open_frame(&HostToDevice::Connect(connect), frame)
            }
            _ => self
                .channel
                .transmit(now, source, frame, self.decoder.counters()),
        }
    }

    /// Returns when to call `poll` and `transmit` next; a time in the past means now.
    pub fn next_wake(&self) -> Option<Micros> {
        if self.refusal_due.is_some() {
            return Some(Micros::ZERO);
        }
        let attempt = self
            .attempt
            .as_ref()
            .and_then(|attempt| attempt.retry.due());
        [attempt, self.channel.next_wake()]
            .into_iter()
            .flatten()
            .min()
    }
}

super::end_methods!(HostLink<K: Keyring>, HostEnd, HostToDevice);

/// Opens the session for the application when the device has described itself, and drops all events
/// before that.
fn introduced(
    event: Option<Event<HostEnd>>,
    greeted: &mut Option<Hello>,
) -> Option<Event<HostEnd>> {
    match (event?, greeted.take()) {
        (Event::Message(DeviceToHost::About(about)), Some(hello)) => {
            Some(Event::Connected(Greeting {
                device: hello.device,
                secure: hello.secure,
                generation: hello.generation,
                about,
            }))
        }
        (Event::Message(DeviceToHost::About(_)), None) => None,
        (event, None) => Some(event),
        (_, early) => {
            *greeted = early;
            None
        }
    }
}

/// Encodes a message outside any session.
pub(super) fn open_frame<'f>(
    message: &HostToDevice,
    frame: &'f mut FrameBuffer,
) -> Option<&'f [u8]> {
    let len = message::encode(message, frame.payload()).ok()?;
    let header = Header {
        direction: Direction::HostToDevice,
        kind: Kind::Open,
        session: 0,
        sequence: 0,
    };
    Some(frame.sign(&header, len, &Key::PUBLIC))
}

/// The parts of a link that a frame outside any session may change.
struct Handshake<'a, K> {
    channel: &'a mut Channel<HostEnd>,
    keys: &'a K,
    nonces: &'a mut NonceSource,
    attempt: &'a mut Option<Attempt>,
    refusal_due: &'a mut Option<Refusal>,
    greeted: &'a mut Option<Hello>,
}

impl<K: Keyring> Handshake<'_, K> {
    fn take(self, now: Micros, frame: &Frame<'_>) -> Option<Event<HostEnd>> {
        match frame.header.kind {
            Kind::Open if frame.is_signed_by(&Key::PUBLIC) => self.take_open(now, frame.payload()),
            Kind::Greeting => self.take_greeting(now, frame),
            _ => {
                let forged = &mut self.channel.counters_mut().forged;
                *forged = forged.saturating_add(1);
                None
            }
        }
    }

    fn take_open(self, now: Micros, payload: &[u8]) -> Option<Event<HostEnd>> {
        match message::decode(payload) {
            // Sent before the device learned of the session that has just been opened.
            Ok(DeviceToHost::Announce { .. }) if self.channel.is_new(now) => None,
            // Unauthenticated: an open session continues.
            Ok(DeviceToHost::Announce { .. }) => {
                let retry = Retry::at_once(self.channel.timing().retry);
                match self.attempt {
                    Some(attempt) => attempt.retry = retry,
                    None => {
                        *self.attempt = Some(Attempt::new(self.nonces.draw(), retry));
                    }
                }
                None
            }
            Ok(DeviceToHost::Refuse(refusal)) if self.attempt.is_some() => {
                Some(Event::Refused(refusal))
            }
            _ => None,
        }
    }

    fn take_greeting(self, now: Micros, frame: &Frame<'_>) -> Option<Event<HostEnd>> {
        let attempt = self.attempt.as_mut()?;
        let claim = Claim::read(frame)?;
        if claim.nonce != attempt.nonce {
            let replayed = &mut self.channel.counters_mut().replayed;
            *replayed = replayed.saturating_add(1);
            return None;
        }
        // A greeting of another version cannot be read further: any available key may have signed
        // it.
        let newest = self.keys.generation();
        let (hello, generations) = match message::decode(frame.payload()) {
            _ if claim.version != Version::OURS => (None, [newest, newest.wrapping_sub(1)]),
            Ok(DeviceToHost::Hello(hello)) => {
                let said = hello.generation;
                (Some(hello), [said, said])
            }
            _ => {
                let malformed = &mut self.channel.counters_mut().malformed;
                *malformed = malformed.saturating_add(1);
                return None;
            }
        };
        let held = generations.map(|generation| self.keys.key_of(&claim.device, generation));
        let signer = held
            .into_iter()
            .flatten()
            .find(|key| claim.is_proved_by(key));
        let refusal = match (signer, hello, held[0]) {
            (Some(key), Some(hello), _) => return self.open(now, key, hello),
            (Some(_), None, _) => Refusal::Version {
                ours: Version::OURS,
                theirs: claim.version,
            },
            (None, _, None) => Refusal::UnknownDevice,
            (None, _, Some(_)) if claim.is_proved_by(&Key::PUBLIC) => Refusal::KeyMissing,
            (None, _, Some(key)) if key.is_secret() => {
                attempt.misjudged = true;
                Refusal::WrongKey
            }
            (None, _, Some(_)) => Refusal::KeyRequired,
        };
        *self.refusal_due = Some(refusal);
        Some(Event::Refused(refusal))
    }

    fn open(self, now: Micros, key: Key, hello: Hello) -> Option<Event<HostEnd>> {
        let number = hello.generation;
        let session = Session::new(
            &Generation { number, key },
            &hello.host_nonce,
            &hello.device_nonce,
        );
        let welcome = HostToDevice::Welcome {
            session: session.id(),
        };
        self.channel.open(now, session);
        self.channel.send(welcome).ok()?;
        *self.attempt = None;
        *self.greeted = Some(hello);
        None
    }
}
