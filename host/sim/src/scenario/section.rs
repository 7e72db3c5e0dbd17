//! The macro behind every `[section]`: one declaration gives the struct, its defaults, its
//! ranges and the documentation that `gleaner config explain` prints, so they cannot drift apart.

/// Declares one section of the scenario: every key with its default, unit and ranges.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident as $section:literal {
            $(
                $(#[doc = $doc:literal])+
                $key:ident: $type:ty = $default:expr, $unit:literal $(, $range:expr)*;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[doc = $doc])+
                pub $key: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl $name {
            pub(super) const KEYS: &'static [$crate::scenario::keys::Key] = &[
                $($crate::scenario::keys::Key {
                    section: $section,
                    name: stringify!($key),
                    unit: $unit,
                    // A doc line starts with the space that follows its slashes.
                    doc: concat!($($doc),+).trim_ascii(),
                    kind: <$type as $crate::scenario::value::Value>::KIND,
                    choices: <$type as $crate::scenario::value::Value>::choices,
                    accepts_others: <$type as $crate::scenario::value::Value>::accepts_others,
                    ranges: &[$($range),*],
                },)+
            ];
        }
    };
}

pub(crate) use section;
