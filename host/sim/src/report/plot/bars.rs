//! Stacked bars with an optional reference mark each.

use super::axis::{Frame, Scale};
use super::line::{Mark, Series, draw_legend, wrap};
use super::svg::{Anchor, Svg};
use super::theme::{
    AXIS, INK, LEFT, PLOT_HEIGHT, RIGHT, SOFT_INK, TEXT, TITLE, WIDTH, colour, text_width,
};

/// Labels below bars may shrink to this size.
const SMALLEST_LABEL: f64 = 10.0;
/// Lines that names may take turns on.
const MOST_LABEL_LINES: f64 = 3.0;
/// Distance between two lines of names.
const LABEL_LINE: f64 = 15.0;

/// One bar of stacked parts.
#[derive(Clone, Debug)]
pub struct BarGroup {
    /// Its label on the horizontal axis.
    pub label: String,
    /// The stacked parts, lowest first.
    pub parts: Vec<f64>,
    /// A reference drawn as a line across the bar.
    pub reference: Option<f64>,
}

/// A chart of stacked bars.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// Title above the plot.
    pub title: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis, with unit.
    pub y_label: String,
    /// Names of the parts, lowest first.
    pub parts: Vec<String>,
    /// Name of the reference; empty when there is none.
    pub reference: String,
    /// The bars, left to right.
    pub bars: Vec<BarGroup>,
    /// Text below the chart; may be empty.
    pub note: String,
}

impl BarChart {
    /// Returns the chart as SVG text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut svg = Svg::new();
        svg.title((LEFT, 24.0), TITLE, &self.title);
        let top = draw_legend(&mut svg, 46.0, &self.legend()) + 12.0;
        let highest = self
            .bars
            .iter()
            .map(|bar| {
                bar.parts
                    .iter()
                    .sum::<f64>()
                    .max(bar.reference.unwrap_or(0.0))
            })
            .fold(0.0, f64::max);
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let frame = Frame {
            top,
            x: Scale::exact(0.0, 1.0, 1),
            y: Scale::round(0.0, highest, 5),
        };
        frame.draw_y(&mut svg, &self.y_label);
        let slot = (WIDTH - LEFT - RIGHT) / self.bars.len().max(1) as f64;
        let widest = self
            .bars
            .iter()
            .map(|bar| text_width(&bar.label, TEXT))
            .fold(0.0, f64::max);
        // Names shrink a little, then take turns on a few lines, before any is left out.
        let size = (TEXT * (slot - 8.0) / widest).clamp(SMALLEST_LABEL, TEXT);
        let slots = (widest * size / TEXT + 8.0) / slot - 1e-9;
        let lines = if slots <= MOST_LABEL_LINES {
            slots.ceil().max(1.0) as usize
        } else {
            1
        };
        let label_every = (slots / lines as f64).ceil().max(1.0) as usize;
        for (n, bar) in self.bars.iter().enumerate() {
            self.draw_bar(&mut svg, &frame, bar, LEFT + n as f64 * slot, slot);
            if n % label_every == 0 {
                let middle = LEFT + (n as f64 + 0.5) * slot;
                let below = frame.bottom() + 19.0 + LABEL_LINE * (n % lines) as f64;
                svg.text((middle, below), Anchor::Middle, size, SOFT_INK, &bar.label);
            }
        }
        svg.line(
            (LEFT, frame.bottom()),
            (WIDTH - RIGHT, frame.bottom()),
            AXIS,
            1.2,
        );
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
        let more = LABEL_LINE * (lines - 1) as f64;
        svg.text(
            (middle, frame.bottom() + 40.0 + more),
            Anchor::Middle,
            TEXT,
            INK,
            &self.x_label,
        );
        let mut height = top + PLOT_HEIGHT + 54.0 + more;
        for line in wrap(&self.note, WIDTH - LEFT - RIGHT) {
            svg.text((LEFT, height + 6.0), Anchor::Start, TEXT, SOFT_INK, &line);
            height += 18.0;
        }
        svg.finish(WIDTH, height + 6.0, &self.title)
    }

    fn draw_bar(&self, svg: &mut Svg, frame: &Frame, bar: &BarGroup, left: f64, slot: f64) {
        let width = (slot * 0.7).min(54.0);
        let x = left + (slot - width) / 2.0;
        let mut base = 0.0;
        for (n, part) in bar.parts.iter().enumerate() {
            let (upper, lower) = (frame.at(0.0, base + part).1, frame.at(0.0, base).1);
            let name = self.parts.get(n).map_or("", String::as_str);
            let hint = format!(
                "{} {}: {name} {}",
                self.x_label,
                bar.label,
                super::number(*part)
            );
            svg.rect((x, upper), (width, lower - upper), colour(n), &hint);
            base += part;
        }
        if let Some(reference) = bar.reference {
            let y = frame.at(0.0, reference).1;
            let (from, to) = ((x - 4.0, y), (x + width + 4.0, y));
            svg.polyline(&[from, to], INK, 2.0, "5 3");
        }
    }

    fn legend(&self) -> Vec<Series> {
        let mut legend: Vec<Series> = self
            .parts
            .iter()
            .enumerate()
            .map(|(n, name)| Series::line(name.as_str(), n, Vec::new()).with_mark(Mark::Dots))
            .collect();
        if !self.reference.is_empty() {
            // The palette's seventh colour is black, like the mark itself.
            legend
                .push(Series::line(self.reference.as_str(), 6, Vec::new()).with_mark(Mark::Dashed));
        }
        legend
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Scheduler;
    use strum::VariantArray;

    #[test]
    fn every_scheduler_is_named_below_its_bar() {
        let bars = Scheduler::VARIANTS.iter().map(|name| BarGroup {
            label: name.to_string(),
            parts: vec![1.0],
            reference: None,
        });
        let svg = BarChart {
            title: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            parts: vec!["Jain's index".into()],
            reference: String::new(),
            bars: bars.collect(),
            note: String::new(),
        }
        .render();
        for name in Scheduler::VARIANTS {
            assert!(svg.contains(&format!(">{name}</text>")), "{name}");
        }
    }

    #[test]
    fn parts_are_stacked_and_named() {
        let chart = BarChart {
            title: "energy".into(),
            x_label: "client".into(),
            y_label: "mJ".into(),
            parts: vec!["compute".into(), "radio".into()],
            reference: "harvest".into(),
            bars: vec![BarGroup {
                label: "0".into(),
                parts: vec![1.0, 2.0],
                reference: Some(2.5),
            }],
            note: String::new(),
        };
        let svg = chart.render();
        assert!(svg.contains("client 0: compute 1") && svg.contains("client 0: radio 2"));
        assert!(svg.contains("harvest"));
        assert!(
            !BarChart {
                bars: Vec::new(),
                ..chart
            }
            .render()
            .contains("NaN")
        );
    }
}
