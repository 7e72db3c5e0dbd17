//! Options whose values are words of the domain: `--help` lists them, a wrong one is refused.

use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

/// Parses one of an enum's words.
pub fn parser<T>() -> impl TypedValueParser<Value = T>
where
    T: VariantNames + FromStr<Err = strum::ParseError> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).try_map(|word| word.parse::<T>())
}
