//! A profile from text: strict, since a wrong joule is worse than none.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::draw::correlation;
use super::{Conditions, Profile, ProfileError, Quality, Source};
use crate::fit::matrix::Square;
use crate::fit::{Coefficients, Form, HeldOut, Kind, SampleCost, Term};

const FORMAT: u32 = 1;
/// No board of this kind draws more, and no cycle or byte costs as much.
const MOST: f64 = 1e3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<u32>,
    emulated: bool,
    synthetic: bool,
    conditions: FileConditions,
    source: FileSource,
    quality: FileQuality,
    form: Option<FileForm>,
    cycles_per_sample: Option<FileSample>,
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
struct FileSource {
    firmware: String,
    trace: String,
    marks: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileQuality {
    intervals: usize,
    freedom: Spanned<f64>,
    chi_square: f64,
    misfit: f64,
    held_out: Option<FileHeldOut>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileHeldOut {
    intervals: usize,
    median: f64,
    worst: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    clocks: usize,
    exponent: f64,
    low: f64,
    high: f64,
    alpha: f64,
    alpha_low: f64,
    alpha_high: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSample {
    marks: usize,
    mean: Spanned<f64>,
    deviation: f64,
    least: f64,
    most: f64,
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

/// Where something is wrong, and what.
type Wrong = (Range<usize>, String);

impl Profile {
    /// Reads a profile; `file` is its name in messages.
    ///
    /// # Errors
    /// The line and the key that is wrong.
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
        positive(&self.conditions.rate_hz, "conditions.rate_hz")?;
        if let Some(voltage_v) = &self.conditions.voltage_v {
            positive(voltage_v, "conditions.voltage_v")?;
        }
        positive(&self.quality.freedom, "quality.freedom")?;
        if let Some(sample) = &self.cycles_per_sample {
            positive(&sample.mean, "cycles_per_sample.mean")?;
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
            source: Source {
                firmware: self.source.firmware,
                trace: self.source.trace,
                marks: self.source.marks,
            },
            quality: Quality {
                intervals: self.quality.intervals,
                chi_square: self.quality.chi_square,
                misfit: self.quality.misfit,
                held_out: self.quality.held_out.map(|it| HeldOut {
                    intervals: it.intervals,
                    median: it.median,
                    worst: it.worst,
                }),
            },
            coefficients: Coefficients {
                terms,
                values,
                covariance,
                freedom: self.quality.freedom.into_inner(),
            },
            form: self.form.map(|it| Form {
                clocks: it.clocks,
                exponent: it.exponent,
                low: it.low,
                high: it.high,
                alpha: it.alpha,
                alpha_low: it.alpha_low,
                alpha_high: it.alpha_high,
            }),
            sample: self.cycles_per_sample.map(|it| SampleCost {
                marks: it.marks,
                mean: it.mean.into_inner(),
                deviation: it.deviation,
                least: it.least,
                most: it.most,
            }),
        })
    }
}

fn positive(value: &Spanned<f64>, key: &str) -> Result<(), Wrong> {
    let number = *value.get_ref();
    if number.is_finite() && number > 0.0 {
        return Ok(());
    }
    Err((
        value.span(),
        format!("{key} = {number}; it must be a number above 0"),
    ))
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
            if !number.is_finite() || number.abs() > MOST {
                let what =
                    format!("{key} = {number} of coefficient {term}; use a number up to {MOST:e}");
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
