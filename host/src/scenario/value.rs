//! What a scenario value may be: numbers, text, and choices that list themselves.

/// A type a scenario key can have.
pub trait Value {
    /// How the type is called in `gleaner config explain`.
    const KIND: &'static str;
    /// The words it accepts and what each means; empty for numbers and free text.
    #[must_use]
    fn choices() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// Lets enums of the domain be values: variants are words, their documentation the meanings.
macro_rules! values {
    ($($name:ty),+ $(,)?) => {$(
        impl Value for $name {
            const KIND: &'static str = "choice";

            fn choices() -> Vec<(&'static str, &'static str)> {
                let all = <$name as strum::VariantArray>::VARIANTS.iter();
                all.map(|choice| {
                    let meaning = strum::EnumMessage::get_documentation(choice);
                    (<&'static str>::from(choice), meaning.unwrap_or_default())
                })
                .collect()
            }
        }
    )+};
}

values!(gleaner_cre::optim::Solver);

impl Value for f64 {
    const KIND: &'static str = "number";
}

impl Value for u64 {
    const KIND: &'static str = "whole number";
}

impl Value for usize {
    const KIND: &'static str = "whole number";
}

impl Value for String {
    const KIND: &'static str = "text";
}

/// Declares an enum whose variants have a spelling and a meaning, both readable at run time.
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $name:ident {
            $( $variant:ident = $word:literal, $meaning:literal; )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(
                #[doc = $meaning]
                #[serde(rename = $word)]
                $variant,
            )+
        }

        impl $name {
            /// Every variant, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the spelling used in scenarios and on the command line.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl $crate::scenario::value::Value for $name {
            const KIND: &'static str = "choice";

            fn choices() -> Vec<(&'static str, &'static str)> {
                vec![$(($word, $meaning)),+]
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|choice| choice.word() == text).ok_or_else(|| {
                    let words: Vec<&str> = Self::ALL.iter().map(|choice| choice.word()).collect();
                    format!("`{text}` is none of {}", words.join(", "))
                })
            }
        }
    };
}

pub(crate) use choice;
