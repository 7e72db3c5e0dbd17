//! Conversion of a PPK2's converter values to currents.
//!
//! Formula and filter are those of the application's `getAdcResult` (`src/device/serialDevice.ts`)
//! and of `ppk2_api.get_adc_result`, which agree.

use serde_json::Value;

use super::super::error::Kind;

/// Number of measuring ranges.
pub(super) const RANGES: usize = 5;

/// Volts per step of the converter, whose values count four steps.
const STEP_V: f64 = 1.8 / 163_840.0;

/// Weights of the two running means; the second is for the coarsest range.
const MEANS: [f64; 2] = [0.18, 0.06];

/// Number of samples that are smoothed after a change of range.
const SMOOTHED: u8 = 3;

/// Calibration of a PPK2, as the kit sends it in its metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Shunt resistances, in ohms.
    r: [f64; RANGES],
    gs: [f64; RANGES],
    gi: [f64; RANGES],
    o: [f64; RANGES],
    s: [f64; RANGES],
    i: [f64; RANGES],
    ug: [f64; RANGES],
}

impl Default for Calibration {
    /// Returns the values that both programs assume for a kit without calibration.
    fn default() -> Self {
        Self {
            r: [1031.64, 101.65, 10.15, 0.94, 0.043],
            gs: [1.0; RANGES],
            gi: [1.0; RANGES],
            o: [0.0; RANGES],
            s: [0.0; RANGES],
            i: [0.0; RANGES],
            ug: [1.0; RANGES],
        }
    }
}

impl Calibration {
    /// Parses the kit's own lines (`R0: 1031.64`), or the dictionary `modifiers` of `ppk2_api` as
    /// JSON. Missing and zero values keep their default.
    ///
    /// # Errors
    /// Returns [`Kind::Metadata`] if there is no value, or a resistance is not above zero.
    pub fn parse(text: &str) -> Result<Self, Kind> {
        let mut calibration = Self::default();
        let mut known = 0;
        for (key, value) in pairs(text) {
            let Some(place) = calibration.place(&key) else {
                continue;
            };
            known += 1;
            // A kit that was never calibrated sends `-nan` or 0.
            if value.is_finite() && value != 0.0 {
                *place = value;
            }
        }
        if known == 0 {
            return Err(Kind::Metadata(
                "no calibration in it; save what the kit answers to a request for its metadata \
                 (lines `R0: 1031.64`), or `modifiers` of ppk2_api as JSON"
                    .to_owned(),
            ));
        }
        match calibration.r.iter().find(|ohms| **ohms <= 0.0) {
            Some(ohms) => Err(Kind::Metadata(format!("a shunt of {ohms} ohms"))),
            None => Ok(calibration),
        }
    }

    fn place(&mut self, key: &str) -> Option<&mut f64> {
        let range: usize = key.get(key.len().checked_sub(1)?..)?.parse().ok()?;
        let row = match &key[..key.len() - 1] {
            "r" => &mut self.r,
            "gs" => &mut self.gs,
            "gi" => &mut self.gi,
            "o" => &mut self.o,
            "s" => &mut self.s,
            "i" => &mut self.i,
            "ug" => &mut self.ug,
            _ => return None,
        };
        row.get_mut(range)
    }

    /// Returns the current of a converted value, in amperes.
    pub(super) fn current(&self, range: usize, code: u16, volts: f64) -> f64 {
        let plain = (f64::from(code) * 4.0 - self.o[range]) * (STEP_V / self.r[range]);
        let bent = plain * (self.gs[range] * plain + self.gi[range]);
        self.ug[range] * (bent + self.s[range] * volts + self.i[range])
    }

    /// Returns the range and the converter value closest to a current.
    pub(super) fn convert(&self, current_a: f64, volts: f64) -> (usize, u16) {
        let range = [50e-6, 500e-6, 5e-3, 60e-3]
            .iter()
            .take_while(|most| current_a >= **most)
            .count();
        let bent = current_a / self.ug[range] - self.s[range] * volts - self.i[range];
        let (square, line) = (self.gs[range], self.gi[range]);
        let plain = 2.0 * bent / (line + (line * line + 4.0 * square * bent).max(0.0).sqrt());
        let code = (plain * self.r[range] / STEP_V + self.o[range]) / 4.0;
        (range, code.round().clamp(0.0, 16_383.0) as u16)
    }
}

/// Returns keys in lower case with their numbers, from lines or from JSON.
fn pairs(text: &str) -> Vec<(String, f64)> {
    let Ok(Value::Object(object)) = serde_json::from_str(text) else {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        return lines
            .filter_map(|(key, value)| Some((key.trim().to_lowercase(), number(value)?)))
            .collect();
    };
    let mut found = Vec::new();
    for (key, value) in object {
        let key = key.to_lowercase();
        match value {
            Value::Object(ranges) => {
                let ranges = ranges.into_iter();
                found.extend(
                    ranges.filter_map(|(range, value)| {
                        Some((format!("{key}{range}"), value.as_f64()?))
                    }),
                );
            }
            value => found.extend(value.as_f64().map(|value| (key, value))),
        }
    }
    found
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// Smooths the spikes that changes of range cause, as both programs do.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    means: Option<[f64; 2]>,
    range: Option<usize>,
    in_range: u8,
    left: u8,
}

impl Filter {
    pub(super) fn next(&mut self, range: usize, current_a: f64) -> f64 {
        let before = self.means.unwrap_or([current_a; 2]);
        let mut means = before;
        for (mean, weight) in means.iter_mut().zip(MEANS) {
            *mean = weight * current_a + (1.0 - weight) * *mean;
        }
        let mut shown = current_a;
        let changed = self.range.is_some_and(|last| last != range);
        if changed || self.left > 0 {
            if changed {
                self.in_range = 0;
                self.left = SMOOTHED;
            } else {
                self.in_range = self.in_range.saturating_add(1);
            }
            if range == RANGES - 1 {
                if self.in_range < 2 {
                    means = before;
                }
                shown = means[1];
            } else {
                shown = means[0];
            }
            self.left -= 1;
        }
        self.means = Some(means);
        self.range = Some(range);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_and_back_stay_within_a_step() {
        let calibration = Calibration::default();
        for current_a in [0.3e-6, 20e-6, 80e-6, 2e-3, 12e-3, 0.2] {
            let (range, code) = calibration.convert(current_a, 3.3);
            let back = calibration.current(range, code, 3.3);
            let step = calibration.current(range, code + 1, 3.3) - back;
            assert!(
                (back - current_a).abs() <= 0.51 * step,
                "{current_a}: {back}"
            );
        }
    }

    #[test]
    fn both_forms_of_calibration_agree() {
        let lines = "Calibrated: 0\nR0: 1000.5\nR4: 0.05\nGI1: -nan\nUG2: 1.02\nVDD: 3300\nEND";
        let json = r#"{"Calibrated": null, "R": {"0": 1000.5, "4": 0.05}, "UG": {"2": 1.02}}"#;
        let calibration = Calibration::parse(lines).unwrap();
        assert_eq!(calibration, Calibration::parse(json).unwrap());
        assert_eq!(calibration.r, [1000.5, 101.65, 10.15, 0.94, 0.05]);
        assert_eq!(calibration.gi[1], 1.0);
    }

    #[test]
    fn invalid_calibrations_are_rejected() {
        for text in ["", "{}", "R9: 4", "hello: 3", "[1, 2]", "R0: -5"] {
            let error = Calibration::parse(text).unwrap_err();
            assert!(matches!(error, Kind::Metadata(_)), "{text}: {error}");
        }
    }

    #[test]
    fn a_change_of_range_is_smoothed_for_three_samples() {
        let mut filter = Filter::default();
        assert_eq!(filter.next(0, 1.0), 1.0);
        assert_eq!(filter.next(0, 1.0), 1.0);
        let smoothed: Vec<f64> = (0..4).map(|_| filter.next(1, 2.0)).collect();
        assert!((smoothed[0] - 1.18).abs() < 1e-12, "{smoothed:?}");
        assert!(smoothed[1] < smoothed[2] && smoothed[2] < 2.0);
        assert_eq!(smoothed[3], 2.0);
    }
}
