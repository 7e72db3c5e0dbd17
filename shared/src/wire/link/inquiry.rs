//! Identifies the device on an unknown line: requests a greeting and reads the claimed device
//! number. Opens no session; needs memory for one frame.

use super::host::open_frame;
use crate::wire::auth::{Key, Nonce};
use crate::wire::decoder::{Arrival, FrameDecoder};
use crate::wire::frame::{Direction, Frame, FrameBuffer, Kind};
use crate::wire::message::{Connect, DeviceId, HostToDevice, Refusal, Version};

/// The start of a greeting, unverified until its tag is checked.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Claim<'a> {
    pub version: Version,
    /// The device number it claims.
    pub device: DeviceId,
    /// The host's nonce that it answers.
    pub(super) nonce: Nonce,
    frame: &'a Frame<'a>,
}

impl<'a> Claim<'a> {
    /// Reads the first fields of a greeting of any version, so that a mismatch can be reported.
    pub(super) fn read(frame: &'a Frame<'a>) -> Option<Self> {
        type Start = (u32, Version, DeviceId, Nonce);
        let ((_, version, device, nonce), _) =
            postcard::take_from_bytes::<Start>(frame.payload()).ok()?;
        Some(Self {
            version,
            device,
            nonce,
            frame,
        })
    }

    /// Returns whether the greeting was made with this key.
    pub fn is_proved_by(&self, key: &Key) -> bool {
        self.frame.is_signed_by(key)
    }
}

/// The outcome of an inquiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// A greeting to this inquiry, and the result of `judge`.
    Greeted(T),
    /// A greeting to another inquiry: recorded, or late.
    Stale,
}

/// A request for a greeting.
#[derive(Debug)]
pub struct Inquiry {
    decoder: FrameDecoder,
    nonce: Nonce,
}

impl Inquiry {
    /// Starts an inquiry with an unpredictable nonce that was never used before.
    pub const fn new(nonce: Nonce) -> Self {
        Self {
            decoder: FrameDecoder::new(),
            nonce,
        }
    }

    /// Returns the request, which may be repeated. Devices without a key answer it, too.
    pub fn request<'f>(&self, frame: &'f mut FrameBuffer) -> Option<&'f [u8]> {
        let connect = Connect {
            version: Version::OURS,
            nonce: self.nonce,
            secure: true,
            // Requests the highest generation, which makes the device use its newest.
            generation: u32::MAX,
        };
        open_frame(&HostToDevice::Connect(connect), frame)
    }

    /// Writes a refusal, which reveals nothing.
    pub fn refusal(frame: &mut FrameBuffer, refusal: Refusal) -> Option<&[u8]> {
        open_frame(&HostToDevice::Refuse(refusal), frame)
    }

    /// Takes bytes of the line until a greeting is complete, leaving the rest in `bytes`. All other
    /// frames are skipped.
    pub fn receive<T>(
        &mut self,
        bytes: &mut &[u8],
        judge: impl FnOnce(&Claim<'_>) -> T,
    ) -> Option<Answer<T>> {
        while let Some(arrival) = self.decoder.next_in(bytes) {
            let Arrival::Frame(frame) = arrival else {
                continue;
            };
            let header = &frame.header;
            let outside = header.direction == Direction::DeviceToHost && header.session == 0;
            if !outside || header.kind != Kind::Greeting {
                continue;
            }
            let Some(claim) = Claim::read(&frame) else {
                continue;
            };
            return Some(match claim.nonce == self.nonce {
                true => Answer::Greeted(judge(&claim)),
                false => Answer::Stale,
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceLink, Timing};
    use super::*;
    use crate::units::Micros;

    const KEY: Key = Key::new([5; 32]);
    const DEVICE: DeviceId = DeviceId([3; 12]);

    /// Returns the device's answer to `request`.
    fn answer(key: Key, request: &[u8]) -> Vec<u8> {
        let mut device = DeviceLink::new(key, Some([8; 32]), DEVICE, Timing::default());
        let mut said = Vec::new();
        let mut frame = FrameBuffer::new();
        let mut request = request;
        // Skips the announcement.
        for _ in 0..2 {
            while let Some(bytes) = device.transmit(Micros::ZERO, &[], &mut frame) {
                said.extend_from_slice(bytes);
            }
            device.receive(Micros::ZERO, &mut request, &mut []);
        }
        said
    }

    fn ask(nonce: u8) -> (Inquiry, Vec<u8>) {
        let inquiry = Inquiry::new([nonce; 16]);
        let mut frame = FrameBuffer::new();
        let request = inquiry.request(&mut frame).unwrap().to_vec();
        (inquiry, request)
    }

    #[test]
    fn a_greeting_identifies_the_device_and_later_bytes_are_left() {
        for key in [KEY, Key::PUBLIC] {
            let (mut inquiry, request) = ask(1);
            let mut said = answer(key, &request);
            said.extend([1, 2, 3]);
            let mut bytes = &said[..];
            let judged = inquiry.receive(&mut bytes, |claim| {
                assert_eq!((claim.device, claim.version), (DEVICE, Version::OURS));
                [KEY, Key::PUBLIC, Key::new([6; 32])].map(|key| claim.is_proved_by(&key))
            });
            let expected = [key == KEY, key == Key::PUBLIC, false];
            assert_eq!(judged, Some(Answer::Greeted(expected)));
            assert_eq!(bytes, [1, 2, 3]);
        }
    }

    #[test]
    fn a_recorded_greeting_is_stale() {
        let (_, request) = ask(1);
        let recorded = answer(KEY, &request);
        let (mut inquiry, _) = ask(2);
        let judged = inquiry.receive(&mut &recorded[..], |_| panic!("it answers another nonce"));
        assert_eq!(judged, Some(Answer::Stale));
    }

    #[test]
    fn noise_and_frames_of_other_kinds_are_no_greeting() {
        let (mut inquiry, request) = ask(1);
        let noise = [[0x55; 3000].as_slice(), &[0], &request].concat();
        assert_eq!(inquiry.receive(&mut &noise[..], |_| ()), None);
        let said = answer(KEY, &request);
        assert!(inquiry.receive(&mut &said[..], |_| ()).is_some());
    }
}
