//! Options whose values are words of the domain: `--help` lists them, a wrong one is refused.

use std::ffi::OsStr;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use strum::{EnumMessage, VariantArray};

/// An enum of the domain: its variants are words, their documentation the meanings.
pub trait Word:
    VariantArray + EnumMessage + FromStr<Err = strum::ParseError> + Copy + Into<&'static str>
{
}

impl<T> Word for T where
    T: VariantArray + EnumMessage + FromStr<Err = strum::ParseError> + Copy + Into<&'static str>
{
}

/// Parses an option that is one of an enum's words.
pub fn parser<T: Word + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let words = T::VARIANTS.iter().map(|&choice| {
        let word = PossibleValue::new(choice.into()).aliases(choice.get_serializations());
        word.help(choice.get_documentation().unwrap_or_default())
    });
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>())
}

/// Parses a text, for which a shell suggests words: others are as good.
pub fn suggesting(
    words: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = String> {
    Suggesting(words.into_iter().map(PossibleValue::new).collect())
}

/// The words to suggest.
#[derive(Clone)]
struct Suggesting(Vec<PossibleValue>);

impl TypedValueParser for Suggesting {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        option: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().cloned()))
    }
}

/// Parses one of an enum's words; a wrong one is refused with the right ones.
///
/// # Errors
/// Names the word and all that would do.
pub fn parse<T: Word>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| {
        let words: Vec<&str> = T::VARIANTS.iter().map(|&choice| choice.into()).collect();
        format!("`{text}` is none of {}", words.join(", "))
    })
}
