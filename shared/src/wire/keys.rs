//! Generations of a device's key: what either end holds, before, while and after it is rotated.
//!
//! `docs/reference/wire.md` has the ceremony, and why no power cut on either side loses both keys.

use super::auth::{Key, Keyring, first};
use super::message::DeviceId;

/// Bytes that tell which key of a shard a history of generations began with.
pub const ORIGIN_BYTES: usize = 12;
/// Derives them.
const ORIGIN_CONTEXT: &[u8; 18] = b"gleaner key origin";

impl Key {
    /// Returns what tells this key from others without giving it away: kept beside the keys that
    /// came after it.
    #[must_use]
    pub fn origin(&self) -> [u8; ORIGIN_BYTES] {
        first(&self.derive(ORIGIN_CONTEXT))
    }
}

/// A key and its number: 0 is the shard's, every rotation counts one up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its number.
    pub number: u32,
    /// The key.
    pub key: Key,
}

/// What a device holds: its newest key, and the one before until a host has used the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceKeys {
    /// The newest key.
    pub newest: Generation,
    /// The key before it, while no host has used the newest.
    pub previous: Option<Generation>,
}

impl DeviceKeys {
    /// Returns the key of a generation, if it is held.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<Key> {
        let held = [Some(self.newest), self.previous].into_iter().flatten();
        held.filter(|it| it.number == number)
            .map(|it| it.key)
            .next()
    }

    /// Returns the generation a host asks for, or the newest.
    #[must_use]
    pub fn choose(&self, wanted: u32) -> Generation {
        match self.get(wanted) {
            Some(key) => Generation {
                number: wanted,
                key,
            },
            None => self.newest,
        }
    }

    /// Tells whether there is a secret at all.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.newest.key.is_secret()
    }
}

/// The shard's key.
impl From<Key> for Generation {
    fn from(key: Key) -> Self {
        Self { number: 0, key }
    }
}

/// A key that is settled: no other is held beside it.
impl From<Generation> for DeviceKeys {
    fn from(newest: Generation) -> Self {
        Self {
            newest,
            previous: None,
        }
    }
}

/// A key that was never rotated.
impl From<Key> for DeviceKeys {
    fn from(key: Key) -> Self {
        Generation::from(key).into()
    }
}

/// What a host holds of one device: its key, and the next one while it is being handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostKeys {
    /// The key both ends have used.
    pub key: Key,
    /// Its generation, as the device counts.
    pub generation: u32,
    /// The key of the generation after it, which the device may or may not hold already.
    pub next: Option<Key>,
}

/// A key that was never rotated.
impl From<Key> for HostKeys {
    fn from(key: Key) -> Self {
        Self {
            key,
            generation: 0,
            next: None,
        }
    }
}

impl HostKeys {
    /// Returns the generation of the next key.
    #[must_use]
    pub const fn next_generation(&self) -> u32 {
        self.generation.saturating_add(1)
    }
}

impl Keyring for HostKeys {
    /// A board that was flashed anew counts from 0 again: any number but the next key's means the
    /// key.
    fn key_of(&self, _: &DeviceId, generation: u32) -> Option<Key> {
        let next = self.next.filter(|_| generation == self.next_generation());
        Some(next.unwrap_or(self.key))
    }

    fn generation(&self) -> u32 {
        match self.next {
            Some(_) => self.next_generation(),
            None => self.generation,
        }
    }

    fn is_secure(&self) -> bool {
        self.key.is_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Key = Key::new([1; 32]);
    const NEW: Key = Key::new([2; 32]);
    const DEVICE: DeviceId = DeviceId([0; 12]);

    #[test]
    fn a_device_uses_what_is_asked_for_if_it_holds_it_and_its_newest_otherwise() {
        let newest = Generation {
            number: 4,
            key: NEW,
        };
        let previous = Generation {
            number: 3,
            key: OLD,
        };
        let both = DeviceKeys {
            newest,
            previous: Some(previous),
        };
        assert_eq!(both.choose(3), previous);
        for wanted in [0, 2, 4, 5, u32::MAX] {
            assert_eq!(both.choose(wanted), newest);
        }
        let one = DeviceKeys {
            previous: None,
            ..both
        };
        assert_eq!(one.choose(3), newest);
    }

    #[test]
    fn a_host_takes_the_next_key_for_the_next_generation_alone() {
        let settled = HostKeys {
            generation: 3,
            ..HostKeys::from(OLD)
        };
        let handing_over = HostKeys {
            next: Some(NEW),
            ..settled
        };
        assert_eq!((settled.generation(), handing_over.generation()), (3, 4));
        assert_eq!(handing_over.key_of(&DEVICE, 4), Some(NEW));
        for generation in [0, 3, 5] {
            assert_eq!(handing_over.key_of(&DEVICE, generation), Some(OLD));
        }
        assert_eq!(settled.key_of(&DEVICE, 4), Some(OLD));
    }

    #[test]
    fn an_origin_tells_keys_apart_and_is_no_part_of_them() {
        assert_ne!(OLD.origin(), NEW.origin());
        assert_ne!(OLD.origin(), [1; ORIGIN_BYTES]);
    }
}
