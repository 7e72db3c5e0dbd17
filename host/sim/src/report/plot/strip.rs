//! A strip of a long recording: the least and the most of every column, coloured by what went on.

use super::axis::{Frame, Scale};
use super::line::{Mark, Series, draw_legend};
use super::svg::Svg;
use super::theme::{LEFT, PLOT_HEIGHT, TITLE, WIDTH, colour};

/// One column of the strip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StripColumn {
    /// Left end of the column on the horizontal axis.
    pub from: f64,
    /// Right end of the column.
    pub to: f64,
    /// The least value in it.
    pub low: f64,
    /// Largest value in the column.
    pub high: f64,
    /// Its colour, counted through the palette.
    pub colour: usize,
}

/// A chart of one strip.
#[derive(Clone, Debug)]
pub struct StripChart {
    /// Title above the plot.
    pub title: String,
    /// Label of the horizontal axis, with unit.
    pub x_label: String,
    /// Label of the vertical axis, with unit.
    pub y_label: String,
    /// Meaning of the colours.
    pub names: Vec<(String, usize)>,
    /// The columns, left to right.
    pub columns: Vec<StripColumn>,
}

impl StripChart {
    /// Returns the chart as SVG text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut svg = Svg::new();
        svg.title((LEFT, 24.0), TITLE, &self.title);
        let legend: Vec<Series> = (self.names.iter())
            .map(|(name, ink)| Series::line(name, *ink, Vec::new()).with_mark(Mark::Discs))
            .collect();
        let top = draw_legend(&mut svg, 46.0, &legend) + 12.0;
        let from = self.columns.first().map_or(0.0, |column| column.from);
        let to = self.columns.last().map_or(1.0, |column| column.to);
        let high = self
            .columns
            .iter()
            .map(|column| column.high)
            .fold(0.0, f64::max);
        let frame = Frame {
            top,
            x: Scale::exact(from, to, 10),
            y: Scale::round(0.0, if high > 0.0 { high } else { 1.0 }, 5),
        };
        frame.draw_y(&mut svg, &self.y_label);
        for run in self.columns.chunk_by(|a, b| a.colour == b.colour) {
            draw(&mut svg, &frame, run);
        }
        frame.draw_x(&mut svg, &self.x_label);
        svg.finish(WIDTH, top + PLOT_HEIGHT + 60.0, &self.title)
    }
}

/// Draws columns of one colour as one shape, down to the axis, and what they span darker.
fn draw(svg: &mut Svg, frame: &Frame, run: &[StripColumn]) {
    let ink = colour(run[0].colour);
    let edge = |of: fn(&StripColumn) -> f64| {
        let corners = move |column: &StripColumn| {
            [
                frame.at(column.from, of(column)),
                frame.at(column.to, of(column)),
            ]
        };
        run.iter().flat_map(corners).collect::<Vec<_>>()
    };
    let upper = edge(|column| column.high);
    let close = |lower: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        upper
            .iter()
            .copied()
            .chain(lower.into_iter().rev())
            .collect()
    };
    svg.polygon(&close(edge(|_| 0.0)), ink, 0.22);
    svg.polygon(&close(edge(|column| column.low)), ink, 1.0);
    svg.polyline(&upper, ink, 1.0, "");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(columns: Vec<StripColumn>) -> String {
        StripChart {
            title: "power".into(),
            x_label: "time (s)".into(),
            y_label: "power (mW)".into(),
            names: vec![("sleep".into(), 0), ("train".into(), 1)],
            columns,
        }
        .render()
    }

    #[test]
    fn columns_of_one_colour_are_one_shape() {
        let column = |n: u8, colour| StripColumn {
            from: f64::from(n),
            to: f64::from(n) + 1.0,
            low: 1.0,
            high: 2.0,
            colour,
        };
        let columns = (0..200).map(|n| column(n, usize::from(n >= 90))).collect();
        assert_eq!(chart(columns).matches("<polygon").count(), 4);
    }

    #[test]
    fn an_empty_strip_is_drawn_finite() {
        let svg = chart(Vec::new());
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
