//! Built-in traces; `data/ATTRIBUTION.md` states their sources.

use super::settings::{HarvestError, Source};

/// Prefix of the name of a built-in trace in the setting `harvest.file`.
const PREFIX: &str = "builtin:";

/// A trace that is part of the program, with the source that reads it and its CSV text.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Builtin {
    pub name: &'static str,
    pub about: &'static str,
    pub source: Source,
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

/// All traces that are part of the program.
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

/// Returns the built-in trace of `builtin:NAME`, or `None` if `file` is a path.
///
/// # Errors
/// Returns an error with all names if there is no trace of that name.
pub fn named(file: &str) -> Result<Option<&'static Builtin>, HarvestError> {
    let Some(name) = file.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    let found = ALL.iter().find(|trace| trace.name == name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|trace| trace.name).collect();
        HarvestError::Setting {
            key: "file",
            value: file.to_owned(),
            demand: format!("no built-in trace has this name; use {}", names.join(", ")),
        }
    })
}
