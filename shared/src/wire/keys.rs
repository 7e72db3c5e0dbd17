//! Generations of a device's key, as held by both ends before, during and after a rotation.
//!
//! `docs/reference/wire.md` specifies the rotation, and why no power cut on either side loses both keys.

use super::auth::{Key, Keyring, first};
use super::message::DeviceId;

/// Length of the identifier of the shard key that a history of generations begins with.
pub const ORIGIN_BYTES: usize = 12;
const ORIGIN_CONTEXT: &[u8; 18] = b"gleaner key origin";

impl Key {
    /// Returns an identifier of this key that does not reveal it; stored beside later keys.
    pub fn origin(&self) -> [u8; ORIGIN_BYTES] {
        first(&self.derive(ORIGIN_CONTEXT))
    }
}

/// A key and its number: 0 is the shard's, every rotation increments it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Generation {
    pub number: u32,
    pub key: Key,
}

/// The keys of a device: the newest, and the previous one until a host has used the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DeviceKeys {
    pub newest: Generation,
    /// The previous key, while no host has used the newest.
    pub previous: Option<Generation>,
}

impl DeviceKeys {
    /// Returns the key of a generation, if it is held.
    pub fn get(&self, number: u32) -> Option<Key> {
        let held = [Some(self.newest), self.previous].into_iter().flatten();
        held.filter(|it| it.number == number)
            .map(|it| it.key)
            .next()
    }

    /// Returns the generation a host asks for, or the newest.
    pub fn choose(&self, wanted: u32) -> Generation {
        match self.get(wanted) {
            Some(key) => Generation {
                number: wanted,
                key,
            },
            None => self.newest,
        }
    }

    /// Returns whether the newest key is secret.
    pub fn is_secret(&self) -> bool {
        self.newest.key.is_secret()
    }
}

/// A shard key is generation 0.
impl From<Key> for Generation {
    fn from(key: Key) -> Self {
        Self { number: 0, key }
    }
}

/// A single key, without a previous one.
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

/// The keys that a host holds for one device, including the next one during a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct HostKeys {
    /// The key that both ends have used.
    pub key: Key,
    pub generation: u32,
    /// The key of the next generation, which the device may or may not hold already.
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
    /// Returns the number of the next key.
    pub const fn next_generation(&self) -> u32 {
        self.generation.saturating_add(1)
    }
}

impl Keyring for HostKeys {
    /// A board that was flashed again counts from 0: any number but the next key's refers to the
    /// current key.
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
    fn a_device_uses_the_requested_generation_or_its_newest() {
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
    fn a_host_uses_the_next_key_for_the_next_generation_alone() {
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
    fn an_origin_identifies_a_key_and_reveals_no_part_of_it() {
        assert_ne!(OLD.origin(), NEW.origin());
        assert_ne!(OLD.origin(), [1; ORIGIN_BYTES]);
    }
}
