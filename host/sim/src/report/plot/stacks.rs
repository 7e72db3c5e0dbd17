//! A grid of stacked bars over bins: a row for each subject, a column for each choice of parts. All
//! panels of a column have one vertical scale, so that subjects can be compared.

use super::axis::Scale;
use super::line::{Mark, Series, draw_legend};
use super::svg::{Anchor, Svg};
use super::theme::{
    AXIS, GRID, INK, LEFT, RIGHT, SOFT_INK, TEXT, TITLE, WIDTH, colour, text_width,
};

/// Height of the panels of a single row, and of one of several.
const HEIGHTS: [f64; 2] = [220.0, 84.0];
/// Room between two columns, for the axis of the second.
const BETWEEN: f64 = 62.0;
/// Room between two rows, for names.
const BELOW: f64 = 24.0;
/// Font size of tick labels.
const SMALL: f64 = 11.0;

/// One subject with its bars.
#[derive(Clone, Debug)]
pub struct StackRow {
    /// Name above its panels; may be empty.
    pub name: String,
    /// The parts of each bar, lowest first.
    pub bars: Vec<Vec<f64>>,
}

/// A grid of stacked bars.
#[derive(Clone, Debug)]
pub struct StackGrid {
    /// Title above the plot.
    pub title: String,
    /// Label of the horizontal axes.
    pub x_label: String,
    /// Label of the vertical axes, with unit.
    pub y_label: String,
    /// Names of the parts, lowest first.
    pub parts: Vec<String>,
    /// Heading of each column, and the parts it shows.
    pub columns: Vec<(String, Vec<usize>)>,
    /// What each bar stands for: its label on the axis and its name in hints.
    pub bins: Vec<(String, String)>,
    /// The subjects, from top to bottom.
    pub rows: Vec<StackRow>,
}

impl StackGrid {
    /// Returns the chart as SVG text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut svg = Svg::new();
        svg.title((LEFT, 24.0), TITLE, &self.title);
        let shown = |part: &usize| self.columns.iter().any(|(_, parts)| parts.contains(part));
        let legend: Vec<Series> = (0..self.parts.len())
            .filter(shown)
            .map(|part| {
                Series::line(self.parts[part].as_str(), part, Vec::new()).with_mark(Mark::Dots)
            })
            .collect();
        let top = draw_legend(&mut svg, 46.0, &legend) + 46.0;
        let columns = self.columns.len().max(1) as f64;
        let width = (WIDTH - LEFT - RIGHT - BETWEEN * (columns - 1.0)) / columns;
        let height = HEIGHTS[usize::from(self.rows.len() > 1)];
        let rows = self.rows.len().max(1) as f64;
        let bottom = top + rows * (height + BELOW) - BELOW;
        for (n, (heading, parts)) in self.columns.iter().enumerate() {
            let left = LEFT + n as f64 * (width + BETWEEN);
            svg.text((left, top - 20.0), Anchor::Start, TEXT, INK, heading);
            let scale = self.scale(parts);
            for (at, row) in self.rows.iter().enumerate() {
                let panel = Panel {
                    left,
                    top: top + at as f64 * (height + BELOW),
                    size: (width, height),
                    scale,
                };
                let above = (left + width, panel.top - 5.0);
                svg.text(above, Anchor::End, SMALL, SOFT_INK, &row.name);
                panel.draw(&mut svg, self, row, parts);
            }
            self.label_bins(&mut svg, left, width, bottom);
            let middle = left + width / 2.0;
            let below = (middle, bottom + 36.0);
            svg.text(below, Anchor::Middle, TEXT, INK, &self.x_label);
        }
        let middle = f64::midpoint(top, bottom);
        svg.vertical_text((18.0, middle), TEXT, INK, &self.y_label);
        svg.finish(WIDTH, bottom + 48.0, &self.title)
    }

    /// Labels the bars of a column, as many as there is room for.
    fn label_bins(&self, svg: &mut Svg, left: f64, width: f64, bottom: f64) {
        let slot = width / self.bins.len().max(1) as f64;
        let widest = self.bins.iter().map(|(label, _)| text_width(label, SMALL));
        let every = ((widest.fold(0.0, f64::max) + 6.0) / slot).ceil().max(1.0) as usize;
        for (n, (label, _)) in self.bins.iter().enumerate().step_by(every) {
            let place = (left + (n as f64 + 0.5) * slot, bottom + 15.0);
            svg.text(place, Anchor::Middle, SMALL, SOFT_INK, label);
        }
    }

    /// Returns the vertical scale of a column.
    fn scale(&self, parts: &[usize]) -> Scale {
        let sum = |bar: &Vec<f64>| parts.iter().filter_map(|&part| bar.get(part)).sum::<f64>();
        let bars = self.rows.iter().flat_map(|row| &row.bars);
        let highest = bars.map(sum).fold(0.0, f64::max);
        let ticks = if self.rows.len() > 1 { 3 } else { 5 };
        Scale::round(0.0, if highest > 0.0 { highest } else { 1.0 }, ticks)
    }
}

/// One panel of the grid.
struct Panel {
    left: f64,
    top: f64,
    size: (f64, f64),
    scale: Scale,
}

impl Panel {
    fn y(&self, value: f64) -> f64 {
        self.top + self.size.1 * (1.0 - self.scale.part(value).clamp(0.0, 1.0))
    }

    fn draw(&self, svg: &mut Svg, grid: &StackGrid, row: &StackRow, parts: &[usize]) {
        let (right, bottom) = (self.left + self.size.0, self.top + self.size.1);
        for tick in self.scale.ticks() {
            let y = self.y(tick);
            svg.line((self.left, y), (right, y), GRID, 1.0);
            let label = self.scale.label(tick);
            let place = (self.left - 6.0, y + 4.0);
            svg.text(place, Anchor::End, SMALL, SOFT_INK, &label);
        }
        let slot = self.size.0 / row.bars.len().max(1) as f64;
        let gap = (0.15 * slot).min(3.0);
        for (n, bar) in row.bars.iter().enumerate() {
            let x = self.left + n as f64 * slot + gap / 2.0;
            let mut base = 0.0;
            for &part in parts {
                let value = bar.get(part).copied().unwrap_or_default();
                if value > 0.0 {
                    let (upper, lower) = (self.y(base + value), self.y(base));
                    let bin = grid.bins.get(n).map_or("", |(_, name)| name.as_str());
                    let hint = format!(
                        "{} {bin}: {} {}",
                        row.name,
                        grid.parts[part],
                        super::number(value)
                    );
                    let size = (slot - gap, lower - upper);
                    svg.rect((x, upper), size, colour(part), hint.trim_start());
                }
                base += value;
            }
        }
        svg.line((self.left, bottom), (right, bottom), AXIS, 1.2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: usize, columns: Vec<(String, Vec<usize>)>) -> String {
        StackGrid {
            title: "energy".into(),
            x_label: "round".into(),
            y_label: "mJ".into(),
            parts: vec!["train".into(), "send".into(), "sleep".into()],
            columns,
            bins: vec![
                ("0".into(), "round 0".into()),
                ("1".into(), "rounds 1 to 9".into()),
            ],
            rows: (0..rows)
                .map(|row| StackRow {
                    name: format!("client {row}"),
                    bars: vec![vec![1.0, 2.0, 40.0], vec![3.0, 0.0, 50.0]],
                })
                .collect(),
        }
        .render()
    }

    #[test]
    fn every_column_shows_its_parts_of_every_row() {
        let all = ("all".to_owned(), vec![0, 1, 2]);
        let orders = ("orders".to_owned(), vec![0, 1]);
        let svg = grid(2, vec![all, orders.clone()]);
        // Five parts that are not zero in the first column, three in the second, of two clients.
        assert_eq!(svg.matches("<title>").count(), 2 * (5 + 3));
        assert!(svg.contains("client 1 rounds 1 to 9: sleep 50"));
        let alone = grid(1, vec![orders]);
        assert!(!alone.contains("sleep"));
    }

    #[test]
    fn a_grid_without_bars_is_drawn_finite() {
        for svg in [
            grid(0, Vec::new()),
            grid(0, vec![("all".to_owned(), vec![0])]),
        ] {
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }
}
