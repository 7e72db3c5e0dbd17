//! Keys, nonces and tags: keyed BLAKE3 throughout.
//!
//! A device and its host share one 32-byte key. Each session has its own key, derived from that
//! key and a fresh nonce of either side, so a recorded session cannot be played back to anyone.

use super::message::DeviceId;

/// Bytes of a frame's tag: the first eight of the keyed BLAKE3 hash.
pub const TAG_BYTES: usize = 8;
/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 16;

/// Separates the derivation of session keys from other uses of a device key.
const SESSION_KEY_CONTEXT: &[u8; 15] = b"gleaner session";
/// Separates the derivation of session numbers from tags.
const SESSION_ID_CONTEXT: &[u8; 18] = b"gleaner session id";

/// A number used once.
pub type Nonce = [u8; NONCE_BYTES];

/// A 32-byte secret; it prints as `Key(..)` so that no log shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The key everyone knows: it tags what comes before a session, and everything in a fleet
    /// that runs without keys.
    pub const PUBLIC: Self = Self([0; 32]);

    /// Wraps 32 secret bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Tells whether this is a secret at all.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        *self != Self::PUBLIC
    }

    /// Returns the tag of `bytes` under this key.
    #[must_use]
    pub fn tag(&self, bytes: &[u8]) -> [u8; TAG_BYTES] {
        first(blake3::keyed_hash(&self.0, bytes).as_bytes())
    }

    /// Compares a tag in time that does not depend on where it differs.
    #[must_use]
    pub fn accepts(&self, bytes: &[u8], tag: &[u8]) -> bool {
        let expected = self.tag(bytes);
        tag.len() == TAG_BYTES
            && expected
                .iter()
                .zip(tag)
                .fold(0, |difference, (a, b)| difference | (a ^ b))
                == 0
    }

    /// Derives the key of the session both nonces belong to.
    #[must_use]
    pub fn session(&self, host: &Nonce, device: &Nonce) -> Self {
        let mut input = [0; SESSION_KEY_CONTEXT.len() + 2 * NONCE_BYTES];
        let (context, nonces) = input.split_at_mut(SESSION_KEY_CONTEXT.len());
        context.copy_from_slice(SESSION_KEY_CONTEXT);
        nonces[..NONCE_BYTES].copy_from_slice(host);
        nonces[NONCE_BYTES..].copy_from_slice(device);
        Self(*blake3::keyed_hash(&self.0, &input).as_bytes())
    }

    /// Returns the number frames of this session carry; never zero, which means "no session".
    #[must_use]
    pub fn session_id(&self) -> u32 {
        let id = first(blake3::keyed_hash(&self.0, SESSION_ID_CONTEXT).as_bytes());
        u32::from_le_bytes(id).max(1)
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

/// Who may connect: the host looks a device up by the name it gives in its greeting.
///
/// Default deny: no key, no session.
pub trait Keyring {
    /// Returns the key of a device, or `None` to refuse it.
    fn key_of(&self, device: &DeviceId) -> Option<Key>;

    /// Tells whether devices must prove a key; told to the device when connecting.
    fn is_secure(&self) -> bool {
        true
    }
}

/// A fleet of one's own: every device is let in without a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Insecure;

impl Keyring for Insecure {
    fn key_of(&self, _: &DeviceId) -> Option<Key> {
        Some(Key::PUBLIC)
    }

    fn is_secure(&self) -> bool {
        false
    }
}

/// The one device expected on a link of its own.
impl Keyring for (DeviceId, Key) {
    fn key_of(&self, device: &DeviceId) -> Option<Key> {
        (self.0 == *device).then_some(self.1)
    }
}

/// Whatever device is on this link, if it knows this key.
impl Keyring for Key {
    fn key_of(&self, _: &DeviceId) -> Option<Key> {
        Some(*self)
    }

    fn is_secure(&self) -> bool {
        self.is_secret()
    }
}

/// Nonces from one seed that must differ at every start.
#[derive(Clone, Debug)]
pub struct NonceSource {
    seed: [u8; 32],
    drawn: u64,
}

impl NonceSource {
    /// Starts from 32 unpredictable bytes, fresh at every start of the program.
    #[must_use]
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
        let base = key.session(&[1; 16], &[2; 16]);
        assert_eq!(base, key.session(&[1; 16], &[2; 16]));
        assert_ne!(base, key.session(&[3; 16], &[2; 16]));
        assert_ne!(base, key.session(&[1; 16], &[3; 16]));
        assert_ne!(base, key.session(&[2; 16], &[1; 16]));
        assert_ne!(base, Key::new([8; 32]).session(&[1; 16], &[2; 16]));
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
        assert!(!key.accepts(b"frame", &tag[..7]));
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
