//! Transceivers that cannot be, each refused with the way out.

use super::require;
use crate::scenario::{RateRule, Scenario, ScenarioError};

/// Most entries of a list: each is tried for every client and channel of a round.
const MOST: usize = 256;
/// Powers and sensitivities in dBm are within this of 0.
const MOST_DBM: f64 = 300.0;

/// Checks the lists of a transceiver.
pub(super) fn check(s: &Scenario) -> Result<(), ScenarioError> {
    let radio = &s.radio;
    if radio.rate != RateRule::Gfsk {
        return Ok(());
    }
    let levels: Vec<f64> = radio.levels.iter().map(|level| level[0]).collect();
    check_rising("radio.levels", &levels, "level", "dBm")?;
    for (at, &[dbm, drawn_w]) in radio.levels.iter().enumerate() {
        check_dbm(format!("radio.levels[{at}]"), dbm)?;
        let drawn = drawn_w > 0.0 && drawn_w <= 1000.0;
        require(drawn, format!("radio.levels[{at}]"), drawn_w, || {
            "the power drawn at a level must be above 0 and at most 1000 W".to_owned()
        })?;
    }
    let lowest = levels.first().copied().unwrap_or_default();
    let max_dbm = radio.max_power_dbm;
    require(lowest <= max_dbm, "radio.max_power_dbm", max_dbm, || {
        format!("is below the lowest of radio.levels, {lowest} dBm; raise it")
    })?;
    let rates: Vec<f64> = radio.bit_rates.iter().map(|rate| rate[0]).collect();
    check_rising("radio.bit_rates", &rates, "bit rate", "bit/s")?;
    for (at, &[bps, dbm]) in radio.bit_rates.iter().enumerate() {
        require(bps > 0.0, format!("radio.bit_rates[{at}]"), bps, || {
            "a bit rate must be above 0 bit/s".to_owned()
        })?;
        check_dbm(format!("radio.bit_rates[{at}]"), dbm)?;
    }
    Ok(())
}

/// Checks that a list has entries, not too many, and that they are finite and rise.
fn check_rising(key: &str, values: &[f64], what: &str, unit: &str) -> Result<(), ScenarioError> {
    let count = values.len();
    require(
        (1..=MOST).contains(&count),
        key,
        format!("{count} entries"),
        || {
            format!(
                "radio.rate = \"gfsk\" needs 1 to {MOST}; leave the key out for those of an SX1262"
            )
        },
    )?;
    for (at, &value) in values.iter().enumerate() {
        require(value.is_finite(), format!("{key}[{at}]"), value, || {
            format!("a {what} must be a finite number of {unit}")
        })?;
        let rises = at == 0 || values[at - 1] < value;
        require(rises, format!("{key}[{at}]"), value, || {
            format!(
                "must be above the {what} before, {} {unit}; sort the list",
                values[at - 1]
            )
        })?;
    }
    Ok(())
}

fn check_dbm(key: String, dbm: f64) -> Result<(), ScenarioError> {
    require(dbm.abs() <= MOST_DBM, key, dbm, || {
        format!("must lie in [-{MOST_DBM}, {MOST_DBM}] dBm")
    })
}
