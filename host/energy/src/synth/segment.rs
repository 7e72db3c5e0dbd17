//! A board's marks as stretches of constant power on the meter's clock.

use super::Recipe;

/// A stretch of constant power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    /// When it ends, by the meter.
    pub(super) end_s: f64,
    /// What is drawn.
    pub(super) watts: f64,
    /// What the pins show.
    pub(super) code: u8,
}

impl Segment {
    /// What follows the last mark's end.
    pub(super) const SILENCE: Self = Self {
        end_s: f64::INFINITY,
        watts: 0.0,
        code: 0,
    };
}

/// All stretches in order, the sleep before the first mark included.
pub(super) fn of(recipe: &Recipe) -> Vec<Segment> {
    let truth = &recipe.truth;
    let lead = Segment {
        end_s: recipe.lead_s,
        watts: truth.power_w.sleep,
        code: 0,
    };
    let ends = recipe.marks.iter().skip(1).map(|mark| mark.t_us);
    let marks = recipe.marks.iter().zip(ends.map(Some).chain([None]));
    let played = marks.map(|(mark, end)| {
        let from_s = recipe.meter_s(mark.t_us);
        let end_s = end.map_or(from_s + recipe.tail_s, |t_us| recipe.meter_s(t_us));
        let seconds = end_s - from_s;
        // What lasts no time is never reached, whatever its power.
        let watts = truth.energy_j(mark, seconds) / seconds;
        Segment {
            end_s,
            watts: if watts.is_finite() { watts } else { 0.0 },
            code: mark.phase.code(),
        }
    });
    std::iter::once(lead).chain(played).collect()
}
