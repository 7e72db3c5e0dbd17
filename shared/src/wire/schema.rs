//! A hash of all message definitions, computed by the compiler.
//!
//! It covers names, types and order of all fields and variants, nested types included, so two
//! builds that would misread each other disagree in their greeting. Messages are declared with
//! `wire_struct!` and `wire_enum!`, which define the type and its hash from the same text.

use crate::energy::{
    ComputeModel, CostModel, EnergyStore, Pace, Phase, RadioModel, Shortfall, Snapshot, Spent,
};
use crate::mlp::UploadCode;
use crate::units::{Cycles, HertzInt, Micros, NanoWatts, PicoJoules};

/// A type with a schema hash.
pub trait Schema {
    /// Changes whenever the encoding of the type changes.
    const HASH: u64;
}

/// The start of every hash: the offset basis of 64-bit FNV-1a.
pub const BASIS: u64 = 0xCBF2_9CE4_8422_2325;

/// Continues a 64-bit FNV-1a hash with a text and an end mark.
#[must_use]
pub const fn text(mut hash: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        hash = byte(hash, bytes[at]);
        at += 1;
    }
    byte(hash, 0)
}

/// Continues a hash with a number.
#[must_use]
pub const fn number(mut hash: u64, number: u64) -> u64 {
    let bytes = number.to_le_bytes();
    let mut at = 0;
    while at < bytes.len() {
        hash = byte(hash, bytes[at]);
        at += 1;
    }
    hash
}

const fn byte(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01B3)
}

macro_rules! primitive {
    ($($type:ident)*) => {
        $(impl Schema for $type {
            const HASH: u64 = text(BASIS, stringify!($type));
        })*
    };
}
// Units are 64-bit numbers on the wire, but another unit is another meaning.
primitive!(bool u8 u16 u32 u64 i32 Cycles HertzInt Micros NanoWatts PicoJoules);

// A phase is encoded as its code.
impl Schema for Phase {
    const HASH: u64 = number(text(BASIS, "phase"), Self::COUNT as u64);
}

// A code is encoded as its number.
impl Schema for UploadCode {
    const HASH: u64 = number(text(BASIS, "upload code"), Self::ALL.len() as u64);
}

// Amounts by phase, in the order of the phases' codes.
impl Schema for Spent {
    const HASH: u64 = number(text(PicoJoules::HASH, "spent"), Phase::COUNT as u64);
}

impl<T: Schema, const N: usize> Schema for [T; N] {
    const HASH: u64 = number(text(T::HASH, "array"), N as u64);
}

impl<T: Schema> Schema for Option<T> {
    const HASH: u64 = text(T::HASH, "option");
}

impl<T: Schema, const N: usize> Schema for heapless::Vec<T, N> {
    const HASH: u64 = number(text(T::HASH, "list"), N as u64);
}

impl<const N: usize> Schema for heapless::String<N> {
    const HASH: u64 = number(text(BASIS, "string"), N as u64);
}

/// Defines the schema of a struct from a full list of its fields, which the compiler checks.
#[macro_export]
#[doc(hidden)]
macro_rules! describe_struct {
    ($name:ident { $($field:ident : $type:ty),* $(,)? }) => {
        impl $crate::wire::schema::Schema for $name {
            const HASH: u64 = {
                let hash = $crate::wire::schema::text($crate::wire::schema::BASIS, stringify!($name));
                $(let hash = $crate::wire::schema::text(hash, stringify!($field));
                let hash = $crate::wire::schema::number(
                    hash,
                    <$type as $crate::wire::schema::Schema>::HASH,
                );)*
                hash
            };
        }
        const _: fn(&$name) = |value| {
            let $name { $($field),* } = value;
            $(let _: &$type = $field;)*
        };
    };
}

/// Declares a struct of a message, with its schema.
#[macro_export]
#[doc(hidden)]
macro_rules! wire_struct {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident : $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[allow(missing_docs)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type),* }
        $crate::describe_struct!($name { $($field: $type),* });
    };
}

/// Declares an enum of a message, with its schema. Each variant holds nothing, one unnamed value,
/// or named fields.
#[macro_export]
#[doc(hidden)]
macro_rules! wire_enum {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident
            $(($inner:ty))?
            $({ $($(#[$field_meta:meta])* $field:ident : $type:ty),* $(,)? })?
        ),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[allow(missing_docs)]
        #[allow(clippy::large_enum_variant, reason = "a message is decoded in place, without a heap")]
        pub enum $name {
            $($(#[$variant_meta])* $variant
                $(($inner))?
                $({ $($(#[$field_meta])* $field: $type),* })?
            ),*
        }
        impl $crate::wire::schema::Schema for $name {
            const HASH: u64 = {
                let hash = $crate::wire::schema::text($crate::wire::schema::BASIS, stringify!($name));
                $(let hash = $crate::wire::schema::text(hash, stringify!($variant));
                $(let hash = $crate::wire::schema::number(
                    hash,
                    <$inner as $crate::wire::schema::Schema>::HASH,
                );)?
                $($(let hash = $crate::wire::schema::text(hash, stringify!($field));
                let hash = $crate::wire::schema::number(
                    hash,
                    <$type as $crate::wire::schema::Schema>::HASH,
                );)*)?)*
                hash
            };
        }
    };
}

describe_struct!(Snapshot {
    initial: PicoJoules,
    stored: PicoJoules,
    harvested: PicoJoules,
    conversion: PicoJoules,
    overflow: PicoJoules,
    leaked: PicoJoules,
    spent: Spent,
    rounds: u32,
    off: bool,
});
describe_struct!(EnergyStore {
    capacity: PicoJoules,
    charge_permille: u16,
    leakage: NanoWatts,
    restart: PicoJoules,
});
describe_struct!(Pace {
    epoch: Cycles,
    evaluate: Cycles,
    apply_change: Cycles,
    apply_whole: Cycles,
    encode: Cycles,
    open_change: Cycles,
    open_whole: Cycles,
    seal: Cycles,
});
describe_struct!(Shortfall {
    needed: PicoJoules,
    available: PicoJoules
});
describe_struct!(ComputeModel {
    femtojoules_per_cycle: u64,
    per_epoch: PicoJoules
});
describe_struct!(RadioModel {
    efficiency_permille: u16,
    circuit: NanoWatts,
    per_upload: PicoJoules,
});
describe_struct!(CostModel {
    compute: ComputeModel,
    radio: RadioModel,
    receive: NanoWatts,
    idle: NanoWatts,
    sleep: NanoWatts,
    save: PicoJoules,
    boot: PicoJoules,
    clock: HertzInt,
});

#[cfg(test)]
#[allow(dead_code, reason = "types declared for their hash alone")]
mod tests {
    use super::Schema;

    /// Returns the hash of the type `T` that `$macro` declares.
    macro_rules! hash {
        ($macro:ident: $($item:tt)*) => {{
            $macro! { $($item)* }
            <T as Schema>::HASH
        }};
    }

    #[test]
    fn every_change_of_a_struct_changes_its_hash_but_its_docs_do_not() {
        let base = hash!(wire_struct: pub struct T { pub x: u8, pub y: u16 });
        let documented =
            hash!(wire_struct: #[doc = "b"] pub struct T { #[doc = "z"] pub x: u8, pub y: u16 });
        assert_eq!(base, documented);
        for changed in [
            hash!(wire_struct: pub struct T { pub z: u8, pub y: u16 }),
            hash!(wire_struct: pub struct T { pub x: u8, pub y: u32 }),
            hash!(wire_struct: pub struct T { pub y: u16, pub x: u8 }),
            hash!(wire_struct: pub struct T { pub x: u8 }),
        ] {
            assert_ne!(base, changed);
        }
    }

    #[test]
    fn every_change_of_an_enum_changes_its_hash() {
        let hashes = [
            hash!(wire_enum: pub enum T { A, B(u8), C { x: u8 } }),
            hash!(wire_enum: pub enum T { A, B(u8), C { x: u8 }, D }),
            hash!(wire_enum: pub enum T { B(u8), A, C { x: u8 } }),
            hash!(wire_enum: pub enum T { A, B(u16), C { x: u8 } }),
            hash!(wire_enum: pub enum T { A, B(u8), C { x: u16 } }),
        ];
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[at + 1..].contains(hash), "{hashes:x?}");
        }
    }

    #[test]
    fn a_change_deep_inside_reaches_the_outer_hash() {
        assert_ne!(<[Option<u8>; 4]>::HASH, <[Option<u16>; 4]>::HASH);
        assert_ne!(<[u8; 4]>::HASH, <[u8; 5]>::HASH);
        assert_ne!(heapless::Vec::<u8, 4>::HASH, heapless::Vec::<u8, 8>::HASH);
    }
}
