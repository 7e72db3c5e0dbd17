//! Keys, nonces and tags, all with keyed BLAKE3.
//!
//! A device and its host share one 32-byte key. Each session has its own keys, derived from that
//! key and a fresh nonce of either side, so a recorded session cannot be replayed. Every use of a
//! key hashes a different context text first, so that no hash of one use is a hash of another.

use super::message::DeviceId;
use super::schema::{BASIS, Schema, number, text};
use super::seal::SessionKey;

/// Bytes of a frame's tag.
pub const TAG_BYTES: usize = 16;
/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 16;

/// The proof that a frame was made with a key.
pub type Tag = [u8; TAG_BYTES];

/// Derives the key of greetings' tags.
const GREETING_CONTEXT: &[u8; 16] = b"gleaner greeting";
/// Derives the secret of a session, with both nonces behind it.
const SESSION_CONTEXT: &[u8; 15] = b"gleaner session";

/// A number used once.
pub type Nonce = [u8; NONCE_BYTES];

/// A 32-byte secret; it prints as `Key(..)` so that no log shows it.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Key([u8; 32]);

impl Key {
    /// The public key: it tags frames before a session, and all frames of a fleet without keys.
    pub const PUBLIC: Self = Self([0; 32]);

    /// Wraps 32 secret bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the secret bytes; store them where only their owner can read.
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns whether the key is secret, that is, not [`Key::PUBLIC`].
    pub fn is_secret(&self) -> bool {
        *self != Self::PUBLIC
    }

    /// Returns the tag of a frame outside any session, over all bytes before the tag.
    pub fn tag(&self, bytes: &[u8]) -> Tag {
        let key = self.derive(GREETING_CONTEXT);
        first(blake3::keyed_hash(&key, bytes).as_bytes())
    }

    /// Compares a tag in constant time.
    pub fn accepts(&self, bytes: &[u8], tag: &Tag) -> bool {
        let expected = self.tag(bytes);
        let pairs = expected.iter().zip(tag);
        pairs.fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }

    /// Derives the keys of the session of both nonces.
    pub fn session(&self, host: &Nonce, device: &Nonce) -> SessionKey {
        let mut input = [0; SESSION_CONTEXT.len() + 2 * NONCE_BYTES];
        let (context, nonces) = input.split_at_mut(SESSION_CONTEXT.len());
        context.copy_from_slice(SESSION_CONTEXT);
        nonces[..NONCE_BYTES].copy_from_slice(host);
        nonces[NONCE_BYTES..].copy_from_slice(device);
        SessionKey::new(&Self(self.derive(&input)))
    }

    /// Derives the secret for one context.
    pub(super) fn derive(&self, context: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.0, context).as_bytes()
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(if self.is_secret() {
            "Key(..)"
        } else {
            "Key(public)"
        })
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Key {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Key(..)");
    }
}

impl Schema for Key {
    const HASH: u64 = number(text(BASIS, "Key"), 32);
}

/// The keys of the devices that may connect; the host looks a device up by its number.
///
/// Default deny: without a key there is no session.
pub trait Keyring {
    /// Returns the key of a device for a generation, or `None` to refuse the device.
    fn key_of(&self, device: &DeviceId, generation: u32) -> Option<Key>;

    /// Returns the newest generation with a key; requested when connecting.
    fn generation(&self) -> u32 {
        0
    }

    /// Returns whether devices must prove a key; sent to the device when connecting.
    fn is_secure(&self) -> bool {
        true
    }
}

/// A keyring that accepts every device without a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Insecure;

impl Keyring for Insecure {
    fn key_of(&self, _: &DeviceId, _: u32) -> Option<Key> {
        Some(Key::PUBLIC)
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// Accepts the one device expected on a link.
impl Keyring for (DeviceId, Key) {
    fn key_of(&self, device: &DeviceId, _: u32) -> Option<Key> {
        (self.0 == *device).then_some(self.1)
    }
}

/// Accepts any device on the link that knows the key.
impl Keyring for Key {
    fn key_of(&self, _: &DeviceId, _: u32) -> Option<Key> {
        Some(*self)
    }

    fn is_secure(&self) -> bool {
        self.is_secret()
    }
}

/// A source of nonces from one seed, which must differ at every start.
#[derive(Clone, Debug)]
pub struct NonceSource {
    seed: [u8; 32],
    drawn: u64,
}

impl NonceSource {
    /// Starts from 32 unpredictable bytes, fresh at every start of the program.
    pub const fn new(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Draws the next nonce.
    pub fn draw(&mut self) -> Nonce {
        self.drawn = self.drawn.wrapping_add(1);
        first(blake3::keyed_hash(&self.seed, &self.drawn.to_le_bytes()).as_bytes())
    }
}

/// Returns the first `N` bytes of a hash.
pub(super) fn first<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    core::array::from_fn(|i| hash.get(i).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_keys_depend_on_the_key_and_on_both_nonces() {
        let key = Key::new([7; 32]);
        let tag = |key: Key, host, device| {
            let session = key.session(&[host; 16], &[device; 16]);
            (session.id(), session.seal(&[0; 9], &mut [7; 20]))
        };
        let base = tag(key, 1, 2);
        assert_eq!(base, tag(key, 1, 2));
        for other in [tag(key, 3, 2), tag(key, 1, 3), tag(key, 2, 1)] {
            assert_ne!(base, other);
        }
        assert_ne!(base, tag(Key::new([8; 32]), 1, 2));
    }

    #[test]
    fn rejects_any_flipped_bit_of_a_tag() {
        let key = Key::new([7; 32]);
        let tag = key.tag(b"frame");
        assert!(key.accepts(b"frame", &tag));
        for bit in 0..TAG_BYTES * 8 {
            let mut damaged = tag;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.accepts(b"frame", &damaged));
        }
        assert!(!key.accepts(b"frane", &tag));
    }

    #[test]
    fn no_log_shows_a_key() {
        assert_eq!(format!("{:?}", Key::new([0xAB; 32])), "Key(..)");
    }

    #[test]
    fn nonces_do_not_repeat() {
        let mut source = NonceSource::new([1; 32]);
        let drawn: std::collections::HashSet<Nonce> = (0..1000).map(|_| source.draw()).collect();
        assert_eq!(drawn.len(), 1000);
    }
}
