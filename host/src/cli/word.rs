//! Options whose values are the words of an enum: `--help` lists them with their meanings.

use std::ffi::OsStr;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use strum::{EnumMessage, VariantArray};

/// An enum whose variants are option values, documented by their doc comments.
pub trait Word:
    VariantArray + EnumMessage + FromStr<Err = strum::ParseError> + Copy + Into<&'static str>
{
}

impl<T> Word for T where
    T: VariantArray + EnumMessage + FromStr<Err = strum::ParseError> + Copy + Into<&'static str>
{
}

/// Returns a parser that accepts the words of an enum.
pub fn parser<T: Word + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let words = T::VARIANTS.iter().map(|&choice| {
        let word = PossibleValue::new(choice.into()).aliases(choice.get_serializations());
        word.help(choice.get_documentation().unwrap_or_default())
    });
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>())
}

/// Returns a parser that accepts any text and suggests words to the shell.
pub fn suggesting(
    words: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = String> {
    Suggesting(words.into_iter().map(PossibleValue::new).collect())
}

/// Returns the words to suggest.
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

/// Parses one of an enum's words.
///
/// # Errors
/// An unknown word; the error lists the accepted ones.
pub fn parse<T: Word>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| {
        let words: Vec<&str> = T::VARIANTS.iter().map(|&choice| choice.into()).collect();
        format!("`{text}` is not one of {}", words.join(", "))
    })
}
