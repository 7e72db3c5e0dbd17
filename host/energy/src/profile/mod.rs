//! `profile.toml`: what work costs on a measured board, and how sure that is.
//!
//! A profile says what was measured, under which conditions and from which files; whoever uses it
//! asks [`Profile::costs`] for a clock, or [`Profile::draw`] for another board that the measurement
//! allows just as well.

mod costs;
mod draw;
mod error;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use costs::Costs;
pub use error::ProfileError;

use crate::fit::{Coefficients, Fit, Form, HeldOut, SampleCost};

/// What work costs on a measured board.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Whether the marks are an emulated board's.
    pub emulated: bool,
    /// Whether the trace was made up from a known profile.
    pub synthetic: bool,
    /// What was measured, and how.
    pub conditions: Conditions,
    /// From which files.
    pub source: Source,
    /// The coefficients.
    pub coefficients: Coefficients,
    /// How well they fit.
    pub quality: Quality,
    /// The paper's form above idling, where three clocks were measured.
    pub form: Option<Form>,
    /// Cycles of a sample, where training was measured.
    pub sample: Option<SampleCost>,
}

/// The conditions of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// The board's name.
    pub board: String,
    /// What it was supplied with.
    pub voltage_v: Option<f64>,
    /// How warm it was.
    pub temperature_c: Option<f64>,
    /// When, in whatever words the user gave.
    pub date: Option<String>,
    /// Samples a second.
    pub rate_hz: f64,
}

/// The files of a measurement, by their digests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The firmware's version and build, as the board tells it.
    pub firmware: String,
    /// The trace.
    pub trace: String,
    /// The marks.
    pub marks: String,
}

/// How well a profile explains what it was fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Intervals fitted.
    pub intervals: usize,
    /// Squared residuals over what noise allows.
    pub chi_square: f64,
    /// The share by which intervals differ beyond noise.
    pub misfit: f64,
    /// Held-out intervals.
    pub held_out: Option<HeldOut>,
}

impl Profile {
    /// Makes the profile of a fit.
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

    /// Says where its figures come from, for every place that shows them.
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

/// Where figures come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The marks are an emulated board's.
    pub emulated: bool,
    /// The trace was made up.
    pub synthetic: bool,
}
