//! A hash of every message's shape, computed by the compiler.
//!
//! Names, types and order of all fields and variants go into it, through nested types as well,
//! so two builds that would misread each other disagree in their greeting. The messages are
//! declared with `wire_struct!` and `wire_enum!`, which write the type and its hash from the
//! same text.

use crate::energy::{ComputeModel, CostModel, Phase, RadioModel, Shortfall, Snapshot, Spent};
// The hash contains the names of types: this one keeps the name of protocol version 1.
use crate::energy::EnergyStore as Reservoir;
use crate::units::{Cycles, HertzInt, Micros, NanoWatts, PicoJoules};

/// A type with a place in the schema.
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
// Units are their 64-bit number on the wire, but a change of unit changes the meaning.
primitive!(bool u8 u16 u32 u64 i32 Cycles HertzInt Micros NanoWatts PicoJoules);

// A phase is its code.
impl Schema for Phase {
    const HASH: u64 = number(text(BASIS, "phase"), Self::COUNT as u64);
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

/// Writes the schema of a struct; with a full list of its fields, which the compiler checks.
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

/// Declares a struct that travels, with its schema.
#[macro_export]
#[doc(hidden)]
macro_rules! wire_struct {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident : $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub struct $name { $($(#[$field_meta])* pub $field: $type),* }
        $crate::describe_struct!($name { $($field: $type),* });
    };
}

/// Declares an enum that travels, with its schema. Each variant holds nothing, one unnamed
/// value, or named fields.
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
});
describe_struct!(Reservoir {
    capacity: PicoJoules,
    charge_permille: u16,
    leakage: NanoWatts,
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
    clock: HertzInt,
});

#[cfg(test)]
mod tests {
    use super::Schema;

    /// One type per module, so that only what is said to differ differs.
    macro_rules! variant {
        ($module:ident, $macro:ident, $($item:tt)*) => {
            mod $module {
                $macro! { $($item)* }
            }
        };
    }
    variant!(
        base,
        wire_struct,
        #[doc = "a"]
        pub struct T {
            #[doc = "x"]
            pub x: u8,
            #[doc = "y"]
            pub y: u16,
        }
    );
    variant!(
        documented,
        wire_struct,
        #[doc = "b"]
        pub struct T {
            #[doc = "z"]
            pub x: u8,
            #[doc = "z"]
            pub y: u16,
        }
    );
    variant!(
        renamed,
        wire_struct,
        #[doc = "a"]
        pub struct T {
            #[doc = "x"]
            pub z: u8,
            #[doc = "y"]
            pub y: u16,
        }
    );
    variant!(
        retyped,
        wire_struct,
        #[doc = "a"]
        pub struct T {
            #[doc = "x"]
            pub x: u8,
            #[doc = "y"]
            pub y: u32,
        }
    );
    variant!(
        swapped,
        wire_struct,
        #[doc = "a"]
        pub struct T {
            #[doc = "y"]
            pub y: u16,
            #[doc = "x"]
            pub x: u8,
        }
    );
    variant!(
        shorter,
        wire_struct,
        #[doc = "a"]
        pub struct T {
            #[doc = "x"]
            pub x: u8,
        }
    );

    #[test]
    fn every_change_of_a_struct_changes_its_hash_but_its_docs_do_not() {
        assert_eq!(base::T::HASH, documented::T::HASH);
        for other in [
            renamed::T::HASH,
            retyped::T::HASH,
            swapped::T::HASH,
            shorter::T::HASH,
        ] {
            assert_ne!(base::T::HASH, other);
        }
    }

    variant!(
        plain,
        wire_enum,
        #[doc = "a"]
        pub enum E {
            #[doc = "a"]
            A,
            #[doc = "b"]
            B(u8),
            #[doc = "c"]
            C {
                #[doc = "x"]
                x: u8,
            },
        }
    );
    variant!(
        appended,
        wire_enum,
        #[doc = "a"]
        pub enum E {
            #[doc = "a"]
            A,
            #[doc = "b"]
            B(u8),
            #[doc = "c"]
            C {
                #[doc = "x"]
                x: u8,
            },
            #[doc = "d"]
            D,
        }
    );
    variant!(
        reordered,
        wire_enum,
        #[doc = "a"]
        pub enum E {
            #[doc = "b"]
            B(u8),
            #[doc = "a"]
            A,
            #[doc = "c"]
            C {
                #[doc = "x"]
                x: u8,
            },
        }
    );
    variant!(
        widened,
        wire_enum,
        #[doc = "a"]
        pub enum E {
            #[doc = "a"]
            A,
            #[doc = "b"]
            B(u16),
            #[doc = "c"]
            C {
                #[doc = "x"]
                x: u8,
            },
        }
    );
    variant!(
        field,
        wire_enum,
        #[doc = "a"]
        pub enum E {
            #[doc = "a"]
            A,
            #[doc = "b"]
            B(u8),
            #[doc = "c"]
            C {
                #[doc = "x"]
                x: u16,
            },
        }
    );

    #[test]
    fn every_change_of_an_enum_changes_its_hash() {
        let hashes = [
            plain::E::HASH,
            appended::E::HASH,
            reordered::E::HASH,
            widened::E::HASH,
            field::E::HASH,
        ];
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[at + 1..].contains(hash), "{hashes:x?}");
        }
    }

    #[test]
    fn a_change_deep_inside_reaches_the_outer_hash() {
        mod deep {
            pub type Narrow = super::base::T;
            pub type Wide = super::retyped::T;
        }
        assert_ne!(
            <[Option<deep::Narrow>; 4]>::HASH,
            <[Option<deep::Wide>; 4]>::HASH
        );
        assert_ne!(<[u8; 4]>::HASH, <[u8; 5]>::HASH);
        assert_ne!(heapless::Vec::<u8, 4>::HASH, heapless::Vec::<u8, 8>::HASH);
    }
}
