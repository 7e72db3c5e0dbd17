//! Short traces inside the program; `data/ATTRIBUTION.md` says where they come from.

use super::error::HarvestError;
use super::settings::Source;

/// What stands before the name of a built-in trace where a file is asked for.
const PREFIX: &str = "builtin:";

/// A trace inside the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name, after `builtin:`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The source that reads it.
    pub source: Source,
    /// Its text.
    pub csv: &'static str,
}

macro_rules! builtin {
    ($name:literal, $source:ident, $about:literal) => {
        Builtin {
            name: $name,
            about: $about,
            source: Source::$source,
            csv: include_str!(concat!("../../data/", $name, ".csv")),
        }
    };
}

/// All of them.
pub const ALL: &[Builtin] = &[
    builtin!(
        "greensboro-winter-week",
        Solar,
        "irradiance of a December week at 36 N, hourly; mean 94 W/m^2 (NREL TMY3)"
    ),
    builtin!(
        "greensboro-spring-week",
        Solar,
        "irradiance of an April week at 36 N, hourly; mean 224 W/m^2 (NREL TMY3)"
    ),
    builtin!(
        "greensboro-summer-week",
        Solar,
        "irradiance of a July week at 36 N, hourly; mean 253 W/m^2 (NREL TMY3)"
    ),
    builtin!(
        "greensboro-autumn-week",
        Solar,
        "irradiance of an October week at 36 N, hourly; mean 151 W/m^2 (NREL TMY3)"
    ),
    builtin!(
        "sand-point-winter-week",
        Solar,
        "irradiance of a December week at 55 N, hourly; mean 20 W/m^2 (NREL TMY3)"
    ),
    builtin!(
        "office-day-modelled",
        Trace,
        "modelled: a small cell's power in an office over a day; mean 0.175 mW"
    ),
    builtin!(
        "stairwell-day-modelled",
        Trace,
        "modelled: a small cell's power in a stairwell over a day; mean 1.5 mW"
    ),
];

/// Returns the trace that a file's name stands for; `None` if it is the name of a file.
///
/// # Errors
/// [`HarvestError::Unknown`] lists the names there are.
pub fn named(file: &str) -> Result<Option<&'static Builtin>, HarvestError> {
    let Some(name) = file.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    let found = ALL.iter().find(|trace| trace.name == name);
    found.map(Some).ok_or_else(|| HarvestError::Unknown {
        name: name.to_owned(),
        known: ALL.iter().map(|t| t.name).collect::<Vec<_>>().join(", "),
    })
}
