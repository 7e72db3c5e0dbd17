//! What is claimed of a setting; everything else is in the tables alone.

use super::Measured;
use super::grid::ROWS;

/// Returns the claims that do not hold.
pub fn failures(measured: &Measured, harmless: u32) -> Vec<String> {
    let setting = measured.setting;
    let mut failures = Vec::new();
    let [mean, bounded] = [ROWS[0], ROWS[1]];
    let pairs = measured.of(mean, None).iter();
    let mut pairs = pairs.zip(measured.of(bounded, None));
    if pairs.any(|(one, other)| one.model != other.model) {
        failures.push(format!("{setting:?}: the bound changes an honest run"));
    }
    failures
}
