//! Settings of an income source, the forecast of its income, and the errors of both.

use std::io;

use gleaner_shared::units::PicoJoules;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::Harvest;

/// Error of an income source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum HarvestError {
    /// A setting is out of its range.
    #[error("harvest.{key} = {value}: {demand}")]
    Setting {
        key: &'static str,
        value: String,
        demand: String,
    },
    /// The number of incomes differs from the number of clients.
    #[error("{given} incomes for {clients} clients: one each is needed")]
    Incomes { given: usize, clients: usize },
    /// The operating system could not read the file.
    #[error("{name}: {source}")]
    Read { name: String, source: io::Error },
    /// The file, or the given line of it, is malformed.
    #[error("{name}{}: {problem}", line.map_or(String::new(), |line| format!(":{line}")))]
    File {
        name: String,
        /// The number of the line, from 1.
        line: Option<usize>,
        problem: String,
    },
}

/// The forecast that a base station uses for a client's income before the round begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Forecast {
    /// the mean of the client's rounds so far, in round 1 that of its source
    #[default]
    Mean,
    /// what the round before brought, in round 1 the mean of the source
    Last,
    /// what the round will bring
    Oracle,
}

impl Forecast {
    /// Returns the income that is forecast for a client in a round, counted from 1.
    #[must_use]
    pub fn expect(self, harvest: &Harvest, client: usize, round: usize) -> PicoJoules {
        let known = round.saturating_sub(1);
        match self {
            Self::Oracle => harvest.income(client, round),
            _ if known == 0 => harvest.mean(client),
            Self::Last => harvest.income(client, known),
            Self::Mean => harvest.mean_of(client, known),
        }
    }
}

/// The kind of an income source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// `device.harvest_j` in every round, as in the paper
    #[default]
    Constant,
    /// powers of a CSV file `t_s,p_w`
    Trace,
    /// irradiance of a weather file on a panel
    Solar,
    /// all or nothing in every round, `device.harvest_j` on average
    Bernoulli,
    /// spells of rounds with and without, `device.harvest_j` on average
    Markov,
}

impl Source {
    /// Returns whether the source reads a file.
    #[must_use]
    pub const fn has_file(self) -> bool {
        matches!(self, Self::Trace | Self::Solar)
    }
}

/// Settings of an income source. A source ignores the settings of other kinds of sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The kind of source.
    pub source: Source,
    /// Path of the file, or `builtin:` and the name of a built-in trace.
    pub file: String,
    /// Time from the start of a round to the start of the next.
    pub period_s: f64,
    /// Whether a trace starts again after its end; otherwise the income is then zero.
    pub looping: bool,
    /// Time in the trace at which the first round begins.
    pub start_s: f64,
    /// Time by which each client is ahead of the previous client in the trace.
    pub offset_s: f64,
    /// Factor on every power of a trace.
    pub scale: f64,
    /// Spread between clients: each has a factor between 1 - spread and 1 + spread on its trace,
    /// drawn once.
    pub spread: f64,
    /// Area of the solar panel.
    pub panel_cm2: f64,
    /// Share of the light on the panel that becomes electricity behind the charger's input.
    pub panel_efficiency: f64,
    /// Share of the irradiance outdoors that reaches the panel.
    pub shade: f64,
    /// Probability of an income in a round.
    pub probability: f64,
    /// Mean number of consecutive rounds with income.
    pub on_rounds: f64,
    /// Mean number of consecutive rounds without income.
    pub off_rounds: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            source: Source::Constant,
            file: String::new(),
            period_s: 1.0,
            looping: true,
            start_s: 0.0,
            offset_s: 0.0,
            scale: 1.0,
            spread: 0.0,
            panel_cm2: 10.0,
            panel_efficiency: 0.2,
            shade: 1.0,
            probability: 0.5,
            on_rounds: 10.0,
            off_rounds: 10.0,
        }
    }
}

/// The longest period, start or offset: some 30 years.
const MAX_S: f64 = 1e9;

impl Settings {
    /// Checks every setting, those of other kinds of sources too.
    ///
    /// # Errors
    /// Returns [`HarvestError::Setting`] for the first setting that is out of its range.
    pub fn check(&self) -> Result<(), HarvestError> {
        let positive = f64::MIN_POSITIVE;
        for (key, value, min, max) in [
            ("period_s", self.period_s, 1e-6, MAX_S),
            ("start_s", self.start_s, 0.0, MAX_S),
            ("offset_s", self.offset_s, 0.0, MAX_S),
            ("scale", self.scale, 0.0, f64::MAX),
            ("spread", self.spread, 0.0, 1.0),
            ("panel_cm2", self.panel_cm2, 0.0, f64::MAX),
            ("panel_efficiency", self.panel_efficiency, 0.0, 1.0),
            ("shade", self.shade, 0.0, 1.0),
            ("probability", self.probability, positive, 1.0),
            ("on_rounds", self.on_rounds, 1.0, f64::MAX),
            ("off_rounds", self.off_rounds, 1.0, f64::MAX),
        ] {
            if !(min..=max).contains(&value) {
                let demand = match (min, max) {
                    (_, f64::MAX) => format!("must be finite and at least {min}"),
                    (f64::MIN_POSITIVE, _) => format!("must be above 0 and at most {max}"),
                    _ => format!("must lie between {min} and {max}"),
                };
                return Err(HarvestError::Setting {
                    key,
                    value: value.to_string(),
                    demand,
                });
            }
        }
        if self.source.has_file() && self.file.is_empty() {
            return Err(HarvestError::Setting {
                key: "file",
                value: "\"\"".to_owned(),
                demand: format!("source `{}` needs a file or builtin:NAME", self.source),
            });
        }
        Ok(())
    }

    /// Returns the watts that one watt per square metre outdoors brings.
    pub(super) fn panel_m2(&self) -> f64 {
        self.panel_cm2 * 1e-4 * self.panel_efficiency * self.shade * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_out_of_range_is_named_with_its_value_and_what_it_must_be() {
        type Set = fn(&mut Settings, f64);
        let bad: [(&str, Set); 11] = [
            ("period_s", |s, v| s.period_s = v),
            ("start_s", |s, v| s.start_s = v),
            ("offset_s", |s, v| s.offset_s = v),
            ("scale", |s, v| s.scale = v),
            ("spread", |s, v| s.spread = v),
            ("panel_cm2", |s, v| s.panel_cm2 = v),
            ("panel_efficiency", |s, v| s.panel_efficiency = v),
            ("shade", |s, v| s.shade = v),
            ("probability", |s, v| s.probability = v),
            ("on_rounds", |s, v| s.on_rounds = v),
            ("off_rounds", |s, v| s.off_rounds = v),
        ];
        for (key, set) in bad {
            for value in [-1.0, f64::NAN, f64::INFINITY] {
                let mut settings = Settings::default();
                settings.check().unwrap();
                set(&mut settings, value);
                let error = settings.check().unwrap_err().to_string();
                assert!(error.starts_with(&format!("harvest.{key} = ")), "{error}");
                assert!(error.contains("must"), "{error}");
            }
        }
    }

    #[test]
    fn a_source_without_its_file_is_refused() {
        let settings = Settings {
            source: Source::Solar,
            ..Settings::default()
        };
        let error = settings.check().unwrap_err().to_string();
        assert!(error.contains("source `solar` needs a file"), "{error}");
    }
}
