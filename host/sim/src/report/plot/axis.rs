//! Axes: round numbers at even steps, and where a value lands.

use super::svg::{Anchor, Svg};
use super::theme::{AXIS, GRID, INK, LEFT, PLOT_HEIGHT, RIGHT, SOFT_INK, TEXT, WIDTH};

/// Maps values to positions.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Scale {
    /// Covers `low..=high` and ends on round numbers, with about `ticks` of them.
    #[must_use]
    pub fn round(low: f64, high: f64, ticks: usize) -> Self {
        let step = round_step(low, high, ticks);
        Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
        }
    }

    /// Covers exactly `low..=high`, with round numbers inside.
    #[must_use]
    pub fn exact(low: f64, high: f64, ticks: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self {
            low,
            high,
            step: round_step(low, high, ticks),
        }
    }

    /// Covers exactly `low..=high` with ticks at whole numbers only, for rounds.
    #[must_use]
    pub fn whole(low: f64, high: f64, ticks: usize) -> Self {
        let margin = if high > low { 0.0 } else { 0.5 };
        let (low, high) = (low - margin, high + margin);
        Self {
            low,
            high,
            step: round_step(low, high, ticks).max(1.0),
        }
    }

    /// Returns where `value` lies between the ends, 0 to 1.
    #[must_use]
    pub fn part(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Returns the round numbers within the scale.
    #[must_use]
    pub fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step - 1e-9).ceil() as i64;
        let last = (self.high / self.step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * self.step).collect()
    }

    /// Writes a tick with as many decimals as the step needs; more than four would not fit beside
    /// the axis.
    #[must_use]
    pub fn label(&self, tick: f64) -> String {
        if self.step < 1e-4 {
            return match tick {
                0.0 => "0".to_owned(),
                _ => format!("{tick:.1e}"),
            };
        }
        let decimals = (-self.step.log10().floor()).clamp(0.0, 4.0) as usize;
        format!("{tick:.decimals$}")
    }
}

/// Returns 1, 2 or 5 times a power of ten that splits `low..high` into about `ticks` parts.
fn round_step(low: f64, high: f64, ticks: usize) -> f64 {
    let raw = ((high - low) / ticks.max(1) as f64).max(1e-12);
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|m| m * power >= raw * 0.999)
        .unwrap_or(10.0);
    step * power
}

/// Writes a number with four significant digits and no needless zeros.
#[must_use]
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The plotted area and its two scales.
pub(super) struct Frame {
    pub(super) top: f64,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Frame {
    pub(super) fn bottom(&self) -> f64 {
        self.top + PLOT_HEIGHT
    }

    /// Returns where a point of the data lies on the page.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            LEFT + self.x.part(x) * (WIDTH - LEFT - RIGHT),
            self.bottom() - self.y.part(y).clamp(0.0, 1.0) * PLOT_HEIGHT,
        )
    }

    /// Draws grid, ticks and the label of the vertical axis.
    pub(super) fn draw_y(&self, svg: &mut Svg, label: &str) {
        for tick in self.y.ticks() {
            let y = self.at(0.0, tick).1;
            svg.line((LEFT, y), (WIDTH - RIGHT, y), GRID, 1.0);
            svg.text(
                (LEFT - 8.0, y + 4.0),
                Anchor::End,
                TEXT,
                SOFT_INK,
                &self.y.label(tick),
            );
        }
        svg.vertical_text((18.0, self.top + PLOT_HEIGHT / 2.0), TEXT, INK, label);
    }

    /// Draws ticks and the label of the horizontal axis.
    pub(super) fn draw_x(&self, svg: &mut Svg, label: &str) {
        let bottom = self.bottom();
        svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), AXIS, 1.2);
        for tick in self.x.ticks() {
            let x = LEFT + self.x.part(tick) * (WIDTH - LEFT - RIGHT);
            svg.line((x, bottom), (x, bottom + 5.0), AXIS, 1.2);
            svg.text(
                (x, bottom + 19.0),
                Anchor::Middle,
                TEXT,
                SOFT_INK,
                &self.x.label(tick),
            );
        }
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
        svg.text((middle, bottom + 40.0), Anchor::Middle, TEXT, INK, label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale::round(3.0, 97.0, 5);
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(scale.label(20.0), "20");
        assert_eq!(
            Scale::exact(1.0, 200.0, 8).ticks(),
            [50.0, 100.0, 150.0, 200.0]
        );
        assert_eq!(Scale::round(0.0, 0.8, 4).label(0.2), "0.2");
    }

    #[test]
    fn rounds_are_never_split() {
        assert_eq!(Scale::whole(1.0, 3.0, 10).ticks(), [1.0, 2.0, 3.0]);
        assert_eq!(Scale::whole(30.0, 30.0, 10).ticks(), [30.0]);
        assert_eq!(
            Scale::whole(1.0, 200.0, 4).ticks(),
            [50.0, 100.0, 150.0, 200.0]
        );
    }

    #[test]
    fn labels_of_tiny_steps_stay_short() {
        let scale = Scale::round(0.0, 8.6e-6, 5);
        let labels: Vec<String> = scale
            .ticks()
            .iter()
            .map(|&tick| scale.label(tick))
            .collect();
        assert_eq!(labels[..3], ["0", "2.0e-6", "4.0e-6"]);
    }

    #[test]
    fn a_flat_series_still_has_a_scale() {
        let scale = Scale::exact(1.0, 1.0, 5);
        assert!(scale.part(1.0).is_finite());
    }

    #[test]
    fn numbers_keep_four_significant_digits() {
        assert_eq!(number(2.716_49), "2.716");
        assert_eq!(number(0.0001750), "0.000175");
        assert_eq!(number(123456.0), "123456");
        assert_eq!(number(0.0), "0");
    }
}
