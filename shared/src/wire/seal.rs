//! Encryption of a session's frames with Ascon-AEAD128 (NIST SP 800-232): without the key no frame
//! can be read, forged or changed.
//!
//! The nonce is the frame's header and seven zero bytes. A header never occurs twice under one key:
//! the key is the session's, bit 7 of the header is the direction, and the sequence number
//! increases with every frame of a direction. Ascon was chosen over ChaCha20-Poly1305, which is
//! slower on an ARMv6-M without long multiplication.

use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};

use super::auth::{Key, Tag, first};
use super::frame::HEADER_BYTES;

/// Context of the session number.
const NUMBER_CONTEXT: &[u8; 18] = b"gleaner session id";
/// Context of the key of frames.
const FRAMES_CONTEXT: &[u8; 22] = b"gleaner session frames";

/// Bytes of the cipher's key.
const CIPHER_KEY_BYTES: usize = 16;
/// Bytes of the cipher's nonce.
const CIPHER_NONCE_BYTES: usize = 16;

/// The key with which both ends of a session seal and open frames.
#[derive(Clone)]
pub struct SessionKey {
    id: u32,
    frames: [u8; CIPHER_KEY_BYTES],
}

impl SessionKey {
    /// Derives number and key of the frames from a session's secret.
    pub(super) fn new(secret: &Key) -> Self {
        let id = u32::from_le_bytes(first(&secret.derive(NUMBER_CONTEXT)));
        Self {
            // Zero means "no session".
            id: id.max(1),
            frames: first(&secret.derive(FRAMES_CONTEXT)),
        }
    }

    /// Returns the session number in the frames; never zero.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Returns the cipher; its set-up copies the key.
    fn cipher(&self) -> AsconAead128 {
        AsconAead128::new(&self.frames.into())
    }

    /// Encrypts a payload in place and returns the tag of header and payload.
    pub fn seal(&self, header: &[u8; HEADER_BYTES], payload: &mut [u8]) -> Tag {
        let nonce = nonce(header).into();
        let sealed = self
            .cipher()
            .encrypt_inout_detached(&nonce, header, payload.into());
        match sealed {
            Ok(tag) => tag.into(),
            Err(_) => unreachable!("the cipher takes payloads of any length"),
        }
    }

    /// Decrypts a payload in place and returns whether header, payload and tag are unchanged;
    /// otherwise the payload must not be used.
    pub fn open(&self, header: &[u8; HEADER_BYTES], payload: &mut [u8], tag: &Tag) -> bool {
        self.cipher()
            .decrypt_inout_detached(&nonce(header).into(), header, payload.into(), tag.into())
            .is_ok()
    }
}

impl core::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SessionKey({:08x}, ..)", self.id)
    }
}

fn nonce(header: &[u8; HEADER_BYTES]) -> [u8; CIPHER_NONCE_BYTES] {
    let mut nonce = [0; CIPHER_NONCE_BYTES];
    nonce[..HEADER_BYTES].copy_from_slice(header);
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u8; HEADER_BYTES] = [2, 1, 2, 3, 4, 5, 0, 0, 0];

    fn key() -> SessionKey {
        Key::new([7; 32]).session(&[1; 16], &[2; 16])
    }

    #[test]
    fn a_sealed_payload_is_unreadable_and_opens_to_the_original() {
        for len in [0, 1, 15, 16, 17, 63, 64, 65, 964, 1024] {
            let plain: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let mut line = plain.clone();
            let tag = key().seal(&HEADER, &mut line);
            assert!(len < 8 || line != plain);
            assert!(key().open(&HEADER, &mut line, &tag), "{len} bytes");
            assert_eq!(line, plain);
        }
    }

    #[test]
    fn any_flipped_bit_of_header_payload_or_tag_is_refused() {
        let plain = [0xA5; 33];
        let mut sealed = plain;
        let tag = key().seal(&HEADER, &mut sealed);
        for bit in 0..(HEADER_BYTES + plain.len() + tag.len()) * 8 {
            let (mut header, mut payload, mut flipped) = (HEADER, sealed, tag);
            let all = header.iter_mut().chain(&mut payload).chain(&mut flipped);
            if let Some(byte) = all.into_iter().nth(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            assert!(!key().open(&header, &mut payload, &flipped), "bit {bit}");
        }
    }

    #[test]
    fn directions_and_frames_have_different_key_streams() {
        let seal = |first: u8, sequence: u8| {
            let mut header = HEADER;
            (header[0], header[5]) = (first, sequence);
            let mut zeros = [0; 32];
            let _ = key().seal(&header, &mut zeros);
            zeros
        };
        let streams = [seal(2, 1), seal(0x82, 1), seal(2, 2), seal(3, 1)];
        for (at, stream) in streams.iter().enumerate() {
            assert!(!streams[at + 1..].contains(stream));
        }
    }

    #[test]
    fn no_log_shows_a_key() {
        let shown = format!("{:?}", key());
        assert!(shown.ends_with(", ..)") && shown.len() < 26, "{shown}");
    }
}
