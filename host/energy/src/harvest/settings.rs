//! Where income comes from, as a scenario says it.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::error::HarvestError;

/// Where income comes from.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize
)]
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
    /// Says whether it needs a file.
    #[must_use]
    pub const fn has_file(self) -> bool {
        matches!(self, Self::Trace | Self::Solar)
    }
}

/// Everything a source depends on beside the seed and the file; a source ignores what is not its
/// own.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where income comes from.
    pub source: Source,
    /// The file, or `builtin:` and the name of a trace in the program.
    pub file: String,
    /// From the start of a round to the start of the next.
    pub period_s: f64,
    /// Whether a trace starts anew after its end; nothing comes after it otherwise.
    pub looping: bool,
    /// Where in a trace the first round begins.
    pub start_s: f64,
    /// How much further on in a trace each client is than the one before it.
    pub offset_s: f64,
    /// What every power of a trace is multiplied with.
    pub scale: f64,
    /// How much clients differ: each has a factor between 1 - spread and 1 + spread on its trace,
    /// drawn once.
    pub spread: f64,
    /// Area of the panel.
    pub panel_cm2: f64,
    /// Share of the light on the panel that becomes electricity behind the charger's input.
    pub panel_efficiency: f64,
    /// Share of the irradiance outdoors that reaches the panel.
    pub shade: f64,
    /// Probability that anything comes in a round.
    pub probability: f64,
    /// Mean length of a spell with income.
    pub on_rounds: f64,
    /// Mean length of a spell without.
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
    /// Checks every setting, those of other sources too.
    ///
    /// # Errors
    /// Names the first that is out of its range.
    pub fn check(&self) -> Result<(), HarvestError> {
        let check = |key, value: f64, holds: bool, demand: &str| match holds {
            true => Ok(()),
            false => Err(HarvestError::Setting {
                key,
                value: value.to_string(),
                demand: demand.to_owned(),
            }),
        };
        let share = |key, value| {
            let holds = (0.0..=1.0).contains(&value);
            check(key, value, holds, "must lie between 0 and 1")
        };
        let time = |key, value| {
            let holds = (0.0..=MAX_S).contains(&value);
            check(key, value, holds, "must lie between 0 and 1e9 seconds")
        };
        let factor = |key, value: f64| {
            let holds = value.is_finite() && value >= 0.0;
            check(key, value, holds, "must be finite and 0 or more")
        };
        let spell = |key, value: f64| {
            let holds = value.is_finite() && value >= 1.0;
            check(key, value, holds, "must be finite and at least 1 round")
        };
        let period = (1e-6..=MAX_S).contains(&self.period_s);
        let demand = "must lie between 1e-6 and 1e9 seconds";
        check("period_s", self.period_s, period, demand)?;
        time("start_s", self.start_s)?;
        time("offset_s", self.offset_s)?;
        factor("scale", self.scale)?;
        share("spread", self.spread)?;
        factor("panel_cm2", self.panel_cm2)?;
        share("panel_efficiency", self.panel_efficiency)?;
        share("shade", self.shade)?;
        let chance = self.probability > 0.0 && self.probability <= 1.0;
        let demand = "must be above 0 and at most 1";
        check("probability", self.probability, chance, demand)?;
        spell("on_rounds", self.on_rounds)?;
        spell("off_rounds", self.off_rounds)?;
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
