//! Irradiance files of weather archives, in watts per square metre:
//!
//! - TMY3 (NREL's typical years): a line about the station, then columns `Date (MM/DD/YYYY)`,
//!   `Time (HH:MM)` and `GHI (W/m^2)`; a row stands for the hour that ends at its time;
//! - PVGIS (the Joint Research Centre's hourly and typical years): lines about the place, then
//!   columns `time` or `time(UTC)` and `G(i)`, or its parts `Gb(i)`, `Gd(i)` and `Gr(i)`, or
//!   `G(h)`; lines that explain them at the end;
//! - plain: `t_s,ghi_w_m2`, rows as of a trace of powers.
//!
//! The headings tell the formats apart. The run begins with the first row; rows of an archive have
//! equal durations, and months of a typical year may come from different years.

mod calendar;

use self::calendar::Moment;
use super::curve::{Curve, CurveBuilder, MAX_ROWS};
use super::rows::{Row, at_line, cut, rows, whole};
use super::settings::HarvestError;
use crate::InputError;

/// Largest accepted irradiance: more than the sun at the top of the atmosphere and the edge of a
/// bright cloud together.
const MAX_IRRADIANCE: f64 = 2_000.0;
/// Largest number of lines before the headings.
const PREFACE: usize = 64;

/// Reads the power of a panel that yields `panel_m2` watts per watt per square metre.
pub(super) fn curve(name: &str, bytes: &[u8], panel_m2: f64) -> Result<Curve, HarvestError> {
    let mut rows = rows(name, bytes)?;
    let mut columns = None;
    for row in rows.by_ref().take(PREFACE) {
        columns = Columns::find(&row?);
        if columns.is_some() {
            break;
        }
    }
    let columns = columns.ok_or_else(|| {
        let problem = "no headings of TMY3 (`Date (MM/DD/YYYY)`, `Time (HH:MM)`, `GHI (W/m^2)`), \
                       PVGIS (`time`, `G(i)`) or `t_s,ghi_w_m2` in its first 64 lines; \
                       powers have `t_s,p_w` and harvest.source = \"trace\"";
        whole(name, problem)
    })?;
    let mut builder = CurveBuilder::default();
    let mut clock = Clock::default();
    let mut legend = None;
    for (count, row) in rows.enumerate() {
        let row = row?;
        if columns.is_legend(&row) && count > 0 {
            legend.get_or_insert(row.line);
            continue;
        }
        if let Some(line) = legend {
            return Err(at_line(name, line, "a line that is no row of the table"));
        }
        let mut push = || {
            if count >= MAX_ROWS {
                return Err(InputError(format!(
                    "more than {MAX_ROWS} rows; average to fewer"
                )));
            }
            row.expect_fields(columns.count)?;
            let t_s = columns.time_s(&row, &mut clock)?;
            builder.push(t_s, columns.irradiance(&row)? * panel_m2)
        };
        push().map_err(|problem| at_line(name, row.line, problem.0))?;
    }
    let too_few = "fewer than two rows; at least two times are needed";
    builder.build().ok_or_else(|| whole(name, too_few))
}

/// Indices of the columns that hold the time.
enum Time {
    Seconds(usize),
    DayAndHour(usize, usize),
    /// Date and time of day in one field.
    Stamp(usize),
}

/// Indices of the columns.
struct Columns {
    count: usize,
    time: Time,
    /// Columns whose sum is the irradiance, with their headings.
    parts: Vec<(usize, &'static str)>,
}

impl Columns {
    fn find(row: &Row<'_>) -> Option<Self> {
        let all = |headings: &[&'static str]| -> Option<Vec<(usize, &'static str)>> {
            let column = |&heading| Some((row.column(heading)?, heading));
            headings.iter().map(column).collect()
        };
        let (time, parts) = if let Some(seconds) = row.column("t_s") {
            (Time::Seconds(seconds), all(&["ghi_w_m2"])?)
        } else if let Some(date) = row.column("Date (MM/DD/YYYY)") {
            let of_day = row.column("Time (HH:MM)")?;
            (Time::DayAndHour(date, of_day), all(&["GHI (W/m^2)"])?)
        } else {
            let stamp = row.column("time").or_else(|| row.column("time(UTC)"))?;
            let parts = all(&["G(i)"])
                .or_else(|| all(&["Gb(i)", "Gd(i)", "Gr(i)"]))
                .or_else(|| all(&["G(h)"]))?;
            (Time::Stamp(stamp), parts)
        };
        Some(Self {
            count: row.fields.len(),
            time,
            parts,
        })
    }

    /// Returns whether a row belongs to the legend at the end of a PVGIS file.
    fn is_legend(&self, row: &Row<'_>) -> bool {
        let begins_with_a_letter = row.fields[0].starts_with(|c: char| c.is_alphabetic());
        matches!(self.time, Time::Stamp(_)) && begins_with_a_letter
    }

    fn time_s(&self, row: &Row<'_>, clock: &mut Clock) -> Result<f64, InputError> {
        let text = |column: usize| row.fields[column];
        let moment = match self.time {
            Time::Seconds(column) => return row.number(column, "t_s"),
            Time::DayAndHour(date, of_day) => Moment::american(text(date), text(of_day))
                .ok_or_else(|| {
                    let found = cut(&format!("{} {}", text(date), text(of_day)));
                    InputError(format!("`{found}` is no time MM/DD/YYYY HH:MM"))
                })?,
            Time::Stamp(column) => Moment::stamp(text(column)).ok_or_else(|| {
                InputError(format!("`{}` is no time YYYYMMDD:HHMM", cut(text(column))))
            })?,
        };
        clock.advance(moment)
    }

    fn irradiance(&self, row: &Row<'_>) -> Result<f64, InputError> {
        let mut sum = 0.0;
        for &(column, heading) in &self.parts {
            let part = row.number(column, heading)?;
            if part < 0.0 {
                return Err(InputError(format!(
                    "{heading} {part} is negative, as missing values are; fill the gap"
                )));
            }
            sum += part;
        }
        match sum {
            _ if sum > MAX_IRRADIANCE => Err(InputError(format!(
                "irradiance {sum} W/m^2 is more than the sun gives; is the unit W/m^2?"
            ))),
            _ => Ok(sum),
        }
    }
}

/// Counts seconds from row to row of an archive.
#[derive(Default)]
struct Clock {
    last: Option<Moment>,
    step_min: Option<i64>,
    t_s: f64,
}

impl Clock {
    fn advance(&mut self, now: Moment) -> Result<f64, InputError> {
        if let Some(last) = self.last.replace(now) {
            let (step, in_a_typical_year) = (now.minutes_after(&last), now.minutes_on_from(&last));
            let expected = *self.step_min.get_or_insert(step);
            if expected <= 0 {
                return Err(InputError(format!(
                    "{now} is not after {last}; sort the rows"
                )));
            }
            if step != expected && in_a_typical_year != expected {
                return Err(InputError(format!(
                    "{now} follows {last}, but rows are {expected} minutes apart; fill the gap"
                )));
            }
            self.t_s += expected as f64 * 60.0;
        }
        Ok(self.t_s)
    }
}

#[cfg(test)]
mod tests;
