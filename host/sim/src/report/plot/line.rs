//! Lines, bands and dots over a horizontal axis.

use super::axis::{Frame, Scale};
use super::svg::{Anchor, Svg};
use super::theme::{INK, LEFT, RIGHT, SOFT_INK, TEXT, TITLE, WIDTH, colour, dash, text_width};

/// Style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through the points.
    Line,
    /// A dashed line, for references.
    Dashed,
    /// Small dots, for many points.
    Dots,
    /// Large dots, for a few points.
    Discs,
    /// Large hollow dots without a line.
    Rings,
}

/// One set of points.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// The points, left to right.
    pub points: Vec<(f64, f64)>,
    /// Lowest and highest value at each x, drawn behind the line; may be empty.
    pub band: Vec<(f64, f64, f64)>,
    /// Style of the series.
    pub mark: Mark,
    /// Index of the colour in the palette.
    pub colour: usize,
}

impl Series {
    /// Returns a series drawn as a line.
    #[must_use]
    pub fn line(name: impl Into<String>, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            band: Vec::new(),
            mark: Mark::Line,
            colour,
        }
    }

    /// Changes how it is drawn.
    #[must_use]
    pub fn with_mark(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    /// Adds a shaded band of (x, low, high).
    #[must_use]
    pub fn with_band(mut self, band: Vec<(f64, f64, f64)>) -> Self {
        self.band = band;
        self
    }
}

/// A chart of series over one horizontal axis.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Title above the plot.
    pub title: String,
    /// Label of the horizontal axis, with unit.
    pub x_label: String,
    /// Label of the vertical axis, with unit.
    pub y_label: String,
    /// Whether the vertical axis starts at zero.
    pub from_zero: bool,
    /// The series, drawn in order.
    pub series: Vec<Series>,
    /// A line of text below the chart; may be empty.
    pub note: String,
}

impl LineChart {
    /// Returns the chart as SVG text.
    #[must_use]
    pub fn render(&self) -> String {
        Self::stacked(&self.title, std::slice::from_ref(self))
    }

    /// Returns several charts as one SVG text, one below the other.
    #[must_use]
    pub fn stacked(label: &str, charts: &[Self]) -> String {
        let mut svg = Svg::new();
        let height = charts.iter().fold(0.0, |top, it| it.draw(&mut svg, top));
        svg.finish(WIDTH, height, label)
    }

    /// Draws the chart below `top`; returns where it ends.
    fn draw(&self, svg: &mut Svg, top: f64) -> f64 {
        svg.title((LEFT, top + 24.0), TITLE, &self.title);
        let frame = Frame {
            top: draw_legend(svg, top + 46.0, &self.series) + 12.0,
            x: self.x_scale(),
            y: self.y_scale(),
        };
        frame.draw_y(svg, &self.y_label);
        for series in &self.series {
            draw(svg, &frame, series);
        }
        frame.draw_x(svg, &self.x_label);
        let mut bottom = frame.bottom() + 54.0;
        for line in wrap(&self.note, WIDTH - LEFT - RIGHT) {
            svg.text((LEFT, bottom + 6.0), Anchor::Start, TEXT, SOFT_INK, &line);
            bottom += 18.0;
        }
        bottom + 6.0
    }

    fn x_scale(&self) -> Scale {
        let points = || {
            self.series
                .iter()
                .flat_map(|series| &series.points)
                .map(|point| point.0)
        };
        let (low, high) = extent(points());
        if points().all(|x| x.fract() == 0.0) {
            Scale::whole(low, high, 10)
        } else {
            let margin = ((high - low) * 0.03).max(1e-9);
            Scale::exact(low - margin, high + margin, 10)
        }
    }

    fn y_scale(&self) -> Scale {
        let points = self
            .series
            .iter()
            .flat_map(|series| &series.points)
            .map(|point| point.1);
        let bands = self
            .series
            .iter()
            .flat_map(|series| &series.band)
            .flat_map(|&(_, low, high)| [low, high]);
        let (low, high) = extent(points.chain(bands));
        let low = if self.from_zero { low.min(0.0) } else { low };
        Scale::round(low, if high > low { high } else { low + 1.0 }, 5)
    }
}

fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

fn draw(svg: &mut Svg, frame: &Frame, series: &Series) {
    let ink = colour(series.colour);
    if !series.band.is_empty() {
        let upper = series.band.iter().map(|&(x, _, high)| frame.at(x, high));
        let lower = series
            .band
            .iter()
            .rev()
            .map(|&(x, low, _)| frame.at(x, low));
        svg.polygon(&upper.chain(lower).collect::<Vec<_>>(), ink, 0.13);
    }
    let points: Vec<(f64, f64)> = series
        .points
        .iter()
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .map(|&(x, y)| frame.at(x, y))
        .collect();
    let mut circles = |radius: f64, fill: &str, stroke: &str| {
        points
            .iter()
            .for_each(|&at| svg.circle(at, radius, fill, stroke));
    };
    match series.mark {
        // One point makes no line.
        Mark::Line | Mark::Dashed if points.len() == 1 => circles(2.6, ink, "none"),
        Mark::Line => svg.polyline(&points, ink, 1.8, dash(series.colour)),
        Mark::Dashed => svg.polyline(&points, ink, 1.6, "7 4"),
        Mark::Dots => circles(2.6, ink, "none"),
        Mark::Discs => circles(5.5, ink, "none"),
        Mark::Rings => circles(5.0, "#ffffff", ink),
    }
}

/// Draws the legend in as many rows as it needs; returns the height of its last row. A single
/// series needs none.
pub(super) fn draw_legend(svg: &mut Svg, first_row: f64, series: &[Series]) -> f64 {
    if series.len() < 2 {
        return first_row - 16.0;
    }
    let (mut x, mut y) = (LEFT, first_row);
    for series in series {
        let width = 30.0 + text_width(&series.name, TEXT) + 18.0;
        if x + width > WIDTH - RIGHT + 18.0 && x > LEFT {
            x = LEFT;
            y += 20.0;
        }
        let ink = colour(series.colour);
        let middle = y - 4.0;
        match series.mark {
            Mark::Line => svg.polyline(
                &[(x, middle), (x + 22.0, middle)],
                ink,
                2.4,
                dash(series.colour),
            ),
            Mark::Dashed => svg.polyline(&[(x, middle), (x + 22.0, middle)], ink, 2.0, "7 4"),
            Mark::Dots | Mark::Discs => svg.circle((x + 14.0, middle), 4.0, ink, "none"),
            Mark::Rings => svg.circle((x + 14.0, middle), 4.0, "#ffffff", ink),
        }
        svg.text((x + 28.0, y), Anchor::Start, TEXT, INK, &series.name);
        x += width;
    }
    y
}

/// Breaks `text` into lines no wider than `width`.
pub(super) fn wrap(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, TEXT) + text_width(word, TEXT) + 6.0 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(series: Vec<Series>) -> String {
        LineChart {
            title: "a < b".into(),
            x_label: "round".into(),
            y_label: "loss".into(),
            from_zero: true,
            series,
            note: String::new(),
        }
        .render()
    }

    #[test]
    fn text_is_escaped_and_every_series_is_named() {
        let svg = chart(vec![
            Series::line("one & only", 0, vec![(1.0, 2.0), (2.0, 3.0)]),
            Series::line("second", 1, vec![(1.0, 1.0)]).with_mark(Mark::Dots),
        ]);
        assert!(
            svg.contains("a &lt; b") && svg.contains("one &amp; only") && svg.contains("second")
        );
    }

    #[test]
    fn missing_values_leave_the_drawing_finite() {
        let svg = chart(vec![Series::line(
            "x",
            0,
            vec![(1.0, f64::NAN), (2.0, f64::INFINITY)],
        )]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!chart(Vec::new()).contains("NaN"));
    }

    #[test]
    fn stacked_charts_lie_one_below_the_other_and_keep_their_titles() {
        let panel = |title: &str| LineChart {
            title: title.into(),
            x_label: "round".into(),
            y_label: "loss".into(),
            from_zero: true,
            series: vec![Series::line("x", 0, vec![(1.0, 2.0), (2.0, 3.0)])],
            note: String::new(),
        };
        let height = |svg: &str| -> f64 {
            let (_, rest) = svg.split_once("height=\"").unwrap();
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        let one = panel("above").render();
        let both = LineChart::stacked("both", &[panel("above"), panel("below")]);
        assert_eq!(height(&both), 2.0 * height(&one));
        assert!(both.contains(">above<") && both.contains(">below<"));
        // The upper panel is drawn as it is alone.
        let drawing = |svg: &str| svg.split_once("<text").unwrap().1.to_owned();
        let alone = drawing(&one);
        assert!(drawing(&both).starts_with(alone.trim_end_matches("</svg>\n")));
    }

    #[test]
    fn a_single_point_is_seen() {
        let svg = chart(vec![Series::line("x", 0, vec![(1.0, 2.0)])]);
        assert_eq!(svg.matches("<circle").count(), 1);
    }

    #[test]
    fn long_legends_take_several_rows() {
        let many = |n: usize| {
            let series: Vec<Series> = (0..n)
                .map(|i| Series::line(format!("client number {i}"), i, Vec::new()))
                .collect();
            draw_legend(&mut Svg::new(), 46.0, &series)
        };
        assert!(many(12) > many(3));
    }
}
