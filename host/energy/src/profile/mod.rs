//! `profile.toml`: the fitted costs of a measured board and their uncertainty.
//!
//! A profile states what was measured, under which conditions and from which files.
//! [`Profile::costs`] returns the costs at a clock, [`Profile::draw`] a random board within the
//! uncertainty of the measurement.

mod costs;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use costs::Costs;

use serde::Deserialize;

use crate::fit::{Coefficients, Fit, Form, HeldOut, SampleCost};

/// Error of reading or using a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum ProfileError {
    /// The text is not a profile; the problem names the key.
    #[error("{file}, line {line}: {what}")]
    Text {
        file: String,
        line: usize,
        what: String,
    },
    /// The clock is outside the measured range.
    #[error(
        "a clock of {asked} MHz is outside what the profile measured ({measured} MHz); measure it (gleaner measure \
         --plan), or set device.frequency_hz to a clock in between"
    )]
    Clock { asked: String, measured: String },
    /// The named power was not measured.
    #[error("the profile has no {0}; order it in the plan (gleaner measure --plan) and fit again")]
    Unknown(&'static str),
}

/// The fitted costs of a measured board.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Profile {
    /// Whether the marks come from an emulated board.
    pub emulated: bool,
    /// Whether the trace is synthetic.
    pub synthetic: bool,
    pub conditions: Conditions,
    pub source: Source,
    pub coefficients: Coefficients,
    pub quality: Quality,
    /// The paper's form, tested above idling, if three clocks were measured.
    pub form: Option<Form>,
    /// Cycles per sample, if training was measured.
    pub sample: Option<SampleCost>,
}

/// The conditions of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Conditions {
    pub board: String,
    pub voltage_v: Option<f64>,
    pub temperature_c: Option<f64>,
    /// Date as free text of the user.
    pub date: Option<String>,
    /// Samples per second of the trace.
    pub rate_hz: f64,
}

/// The files of a measurement by their digests, and the firmware's version as the board reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Source {
    pub firmware: String,
    pub trace: String,
    pub marks: String,
}

/// Quality of the fit of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Number of fitted intervals.
    pub intervals: usize,
    /// Squared residuals relative to the meter's noise.
    pub chi_square: f64,
    /// Share by which intervals differ from the model beyond noise.
    pub misfit: f64,
    /// Errors of intervals that were not fitted.
    pub held_out: Option<HeldOut>,
}

impl Profile {
    /// Returns the profile of a fit.
    #[must_use]
    pub fn new(fit: &Fit, conditions: Conditions, source: Source, labels: Labels) -> Self {
        Self {
            emulated: labels.emulated,
            synthetic: labels.synthetic,
            conditions,
            source,
            coefficients: fit.coefficients.clone(),
            quality: Quality {
                intervals: fit.used,
                chi_square: fit.chi_square,
                misfit: fit.misfit,
                held_out: fit.held_out,
            },
            form: fit.form,
            sample: fit.sample,
        }
    }

    /// Returns the origin of the figures, to be shown beside them.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match (self.emulated, self.synthetic) {
            (false, false) => "measured",
            (false, true) => "synthetic trace",
            (true, false) => "emulated board",
            (true, true) => "emulated board, synthetic trace",
        }
    }
}

/// Origin of a profile: an emulated board, a synthetic trace, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Labels {
    pub emulated: bool,
    pub synthetic: bool,
}
