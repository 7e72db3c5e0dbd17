//! Parser of profiles, which rejects unknown keys and implausible values.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::costs::correlation;
use super::{Conditions, Profile, ProfileError, Quality, Source};
use crate::fit::matrix::Square;
use crate::fit::{Coefficients, Form, HeldOut, Kind, SampleCost, Term};

const FORMAT: u32 = 1;
/// Largest accepted coefficient in watts, joules per cycle and joules per byte.
const MAX: f64 = 1e3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<u32>,
    emulated: bool,
    synthetic: bool,
    conditions: FileConditions,
    source: Source,
    quality: FileQuality,
    form: Option<Form>,
    cycles_per_sample: Option<Spanned<SampleCost>>,
    coefficient: Vec<FileCoefficient>,
    covariance: FileCovariance,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileConditions {
    board: String,
    voltage_v: Option<Spanned<f64>>,
    temperature_c: Option<f64>,
    date: Option<String>,
    rate_hz: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileQuality {
    intervals: usize,
    freedom: Spanned<f64>,
    chi_square: f64,
    misfit: f64,
    held_out: Option<HeldOut>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCoefficient {
    name: Spanned<String>,
    clock_hz: Option<Spanned<u32>>,
    unit: Spanned<String>,
    value: Spanned<f64>,
    low: Spanned<f64>,
    high: Spanned<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCovariance {
    rows: Spanned<Vec<Vec<f64>>>,
}

/// The place and the text of a problem.
type Wrong = (Range<usize>, String);

impl Profile {
    /// Parses a profile; error messages call it `file`.
    ///
    /// # Errors
    /// Returns [`ProfileError::Text`] with the line and the invalid key.
    pub fn parse(text: &str, file: &str) -> Result<Self, ProfileError> {
        let at = |place: usize, what: String| ProfileError::Text {
            file: file.to_owned(),
            line: 1 + text.as_bytes()[..place.min(text.len())]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count(),
            what,
        };
        let parsed: File = toml::from_str(text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            at(place, error.message().to_owned())
        })?;
        parsed.check().map_err(|(span, what)| at(span.start, what))
    }
}

impl File {
    fn check(self) -> Result<Profile, Wrong> {
        if *self.format.get_ref() != FORMAT {
            let what = format!(
                "format = {}; this build reads {FORMAT}",
                self.format.get_ref()
            );
            return Err((self.format.span(), what));
        }
        let check = |value: &Spanned<f64>, key| positive(value.span(), *value.get_ref(), key);
        check(&self.conditions.rate_hz, "conditions.rate_hz")?;
        if let Some(voltage_v) = &self.conditions.voltage_v {
            check(voltage_v, "conditions.voltage_v")?;
        }
        check(&self.quality.freedom, "quality.freedom")?;
        if let Some(sample) = &self.cycles_per_sample {
            positive(
                sample.span(),
                sample.get_ref().mean,
                "cycles_per_sample.mean",
            )?;
        }
        let (terms, values) = terms(&self.coefficient, &self.covariance.rows.span())?;
        let covariance = covariance(&self.covariance.rows, terms.len())?;
        Ok(Profile {
            emulated: self.emulated,
            synthetic: self.synthetic,
            conditions: Conditions {
                board: self.conditions.board,
                voltage_v: self.conditions.voltage_v.map(Spanned::into_inner),
                temperature_c: self.conditions.temperature_c,
                date: self.conditions.date,
                rate_hz: self.conditions.rate_hz.into_inner(),
            },
            source: self.source,
            quality: Quality {
                intervals: self.quality.intervals,
                chi_square: self.quality.chi_square,
                misfit: self.quality.misfit,
                held_out: self.quality.held_out,
            },
            coefficients: Coefficients {
                terms,
                values,
                covariance,
                freedom: self.quality.freedom.into_inner(),
            },
            form: self.form,
            sample: self.cycles_per_sample.map(Spanned::into_inner),
        })
    }
}

fn positive(place: Range<usize>, number: f64, key: &str) -> Result<(), Wrong> {
    match number.is_finite() && number > 0.0 {
        true => Ok(()),
        false => Err((place, format!("{key} = {number}; must be a number above 0"))),
    }
}

fn terms(listed: &[FileCoefficient], end: &Range<usize>) -> Result<(Vec<Term>, Vec<f64>), Wrong> {
    let mut seen = BTreeSet::new();
    let (mut terms, mut values) = (Vec::new(), Vec::new());
    for entry in listed {
        let term = entry.term()?;
        if !seen.insert(term) {
            return Err((
                entry.name.span(),
                format!("coefficient {term} is there twice"),
            ));
        }
        terms.push(term);
        values.push(entry.checked_value(&term)?);
    }
    if terms.iter().all(|term| term.kind != Kind::Cycle) {
        return Err((end.clone(), "no coefficient is named \"cycle\"".to_owned()));
    }
    Ok((terms, values))
}

impl FileCoefficient {
    fn term(&self) -> Result<Term, Wrong> {
        let name = self.name.get_ref();
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) else {
            let names = Kind::ALL.map(Kind::name).join(", ");
            return Err((
                self.name.span(),
                format!("coefficient name = {name:?}; use {names}"),
            ));
        };
        if self.unit.get_ref() != kind.unit() {
            let what = format!(
                "coefficient {name} has unit = {:?}; it must be {:?}",
                self.unit.get_ref(),
                kind.unit()
            );
            return Err((self.unit.span(), what));
        }
        match &self.clock_hz {
            Some(clock_hz) if *clock_hz.get_ref() == 0 => Err((
                clock_hz.span(),
                format!("coefficient {name} has clock_hz = 0; it must be above 0"),
            )),
            Some(clock_hz) => Ok(Term::at(kind, *clock_hz.get_ref())),
            None if kind == Kind::Cycle => Err((
                self.name.span(),
                "coefficient cycle needs clock_hz beside it".to_owned(),
            )),
            None => Ok(Term::any(kind)),
        }
    }

    fn checked_value(&self, term: &Term) -> Result<f64, Wrong> {
        for (key, value) in [
            ("value", &self.value),
            ("low", &self.low),
            ("high", &self.high),
        ] {
            let number = *value.get_ref();
            if !number.is_finite() || number.abs() > MAX {
                let what =
                    format!("{key} = {number} of coefficient {term}; use a number up to {MAX:e}");
                return Err((value.span(), what));
            }
        }
        let (low, value, high) = (
            self.low.get_ref(),
            self.value.get_ref(),
            self.high.get_ref(),
        );
        if !(low <= value && value <= high) {
            let what =
                format!("coefficient {term} is {value}, outside its own interval {low} to {high}");
            return Err((self.value.span(), what));
        }
        Ok(*value)
    }
}

fn covariance(rows: &Spanned<Vec<Vec<f64>>>, size: usize) -> Result<Square, Wrong> {
    let wrong = |what: String| (rows.span(), format!("covariance.rows {what}"));
    let matrix = Square::from_rows(rows.get_ref())
        .filter(|matrix| matrix.size() == size)
        .ok_or_else(|| {
            wrong(format!(
                "must be {size} rows of {size} numbers, one for each coefficient"
            ))
        })?;
    for row in 0..size {
        for column in 0..size {
            let (cell, mirror) = (matrix.at(row, column), matrix.at(column, row));
            let scale = (matrix.at(row, row) * matrix.at(column, column)).sqrt();
            if !cell.is_finite() || (row == column && cell < 0.0) {
                return Err(wrong(format!(
                    "has {cell} in row {}, column {}",
                    row + 1,
                    column + 1
                )));
            }
            if (cell - mirror).abs() > 1e-6 * scale {
                return Err(wrong(format!(
                    "is not symmetric in row {}, column {}",
                    row + 1,
                    column + 1
                )));
            }
        }
    }
    if correlation(&matrix).is_none() {
        return Err(wrong(
            "is no covariance: some combination would have a negative variance".to_owned(),
        ));
    }
    Ok(matrix)
}
