//! A heat map: one row per client, one column per round.

use super::axis::Scale;
use super::line::wrap;
use super::svg::{Anchor, Svg};
use super::theme::{AXIS, INK, LEFT, RIGHT, SOFT_INK, TEXT, TITLE, WIDTH, sequential};

/// A grid of values; cells without one stay empty.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// Title above the plot.
    pub title: String,
    /// Label of the columns.
    pub x_label: String,
    /// Label of the rows.
    pub y_label: String,
    /// Meaning of the colour, with unit.
    pub value_label: String,
    /// The number of the first column.
    pub first_column: usize,
    /// Values as `cells[row][column]`; `None` is blank.
    pub cells: Vec<Vec<Option<f64>>>,
    /// Text below the chart; may be empty.
    pub note: String,
}

impl HeatMap {
    /// Returns the map as SVG text.
    #[must_use]
    pub fn render(&self) -> String {
        let rows = self.cells.len().max(1);
        let columns = self.cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let row_height = (300.0 / rows as f64).clamp(2.0, 26.0);
        let cell_width = (WIDTH - LEFT - RIGHT) / columns as f64;
        let top = 62.0;
        let bottom = top + row_height * rows as f64;
        let (low, high) = self.extent();

        let mut svg = Svg::new();
        svg.title((LEFT, 24.0), TITLE, &self.title);
        self.draw_colour_bar(&mut svg, low, high);
        svg.rect(
            (LEFT, top),
            (WIDTH - LEFT - RIGHT, bottom - top),
            "#f5f7fa",
            "",
        );
        let gap = if row_height > 8.0 { 1.0 } else { 0.0 };
        for (row, cells) in self.cells.iter().enumerate() {
            let y = top + row as f64 * row_height;
            for (column, cell) in cells.iter().enumerate() {
                let Some(value) = cell else { continue };
                let hint = format!(
                    "{} {row}, {} {}: {} {}",
                    self.y_label,
                    self.x_label,
                    self.first_column + column,
                    super::number(*value),
                    self.value_label
                );
                let x = LEFT + column as f64 * cell_width;
                let fill = sequential(0.15 + 0.85 * part(*value, low, high));
                svg.rect(
                    (x, y + gap / 2.0),
                    (cell_width, row_height - gap),
                    &fill,
                    &hint,
                );
            }
        }
        let label_every = (14.0 / row_height).ceil() as usize;
        for row in (0..self.cells.len()).step_by(label_every) {
            let y = top + (row as f64 + 0.5) * row_height + 4.0;
            svg.text(
                (LEFT - 8.0, y),
                Anchor::End,
                TEXT,
                SOFT_INK,
                &row.to_string(),
            );
        }
        svg.vertical_text((18.0, f64::midpoint(top, bottom)), TEXT, INK, &self.y_label);
        self.draw_columns(&mut svg, columns, bottom);
        let mut height = bottom + 54.0;
        for line in wrap(&self.note, WIDTH - LEFT - RIGHT) {
            svg.text((LEFT, height + 6.0), Anchor::Start, TEXT, SOFT_INK, &line);
            height += 18.0;
        }
        svg.finish(WIDTH, height + 6.0, &self.title)
    }

    fn extent(&self) -> (f64, f64) {
        let values = || self.cells.iter().flatten().flatten().copied();
        (
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    fn draw_columns(&self, svg: &mut Svg, columns: usize, bottom: f64) {
        let first = self.first_column as f64;
        let scale = Scale::exact(first - 0.5, first + columns as f64 - 0.5, 10);
        svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), AXIS, 1.2);
        for tick in scale.ticks().into_iter().filter(|tick| tick.fract() == 0.0) {
            let x = LEFT + scale.part(tick) * (WIDTH - LEFT - RIGHT);
            svg.line((x, bottom), (x, bottom + 5.0), AXIS, 1.2);
            svg.text(
                (x, bottom + 19.0),
                Anchor::Middle,
                TEXT,
                SOFT_INK,
                &format!("{tick}"),
            );
        }
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
        svg.text(
            (middle, bottom + 40.0),
            Anchor::Middle,
            TEXT,
            INK,
            &self.x_label,
        );
    }

    fn draw_colour_bar(&self, svg: &mut Svg, low: f64, high: f64) {
        if low > high {
            return;
        }
        let (width, steps) = (120.0, 24);
        let left = WIDTH - RIGHT - width - 40.0;
        for step in 0..steps {
            let t = (step as f64 + 0.5) / steps as f64;
            let at = (left + width * step as f64 / steps as f64, 36.0);
            svg.rect(
                at,
                (width / steps as f64 + 0.3, 12.0),
                &sequential(0.15 + 0.85 * t),
                "",
            );
        }
        svg.text(
            (left - 8.0, 46.5),
            Anchor::End,
            TEXT,
            INK,
            &format!("{}  {}", self.value_label, super::number(low)),
        );
        svg.text(
            (left + width + 8.0, 46.5),
            Anchor::Start,
            TEXT,
            INK,
            &super::number(high),
        );
    }
}

fn part(value: f64, low: f64, high: f64) -> f64 {
    if high > low {
        (value - low) / (high - low)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_cells_are_not_drawn() {
        let map = HeatMap {
            title: "schedule".into(),
            x_label: "round".into(),
            y_label: "client".into(),
            value_label: "epochs".into(),
            first_column: 1,
            cells: vec![vec![Some(3.0), None], vec![None, Some(5.0)]],
            note: String::new(),
        };
        let svg = map.render();
        assert_eq!(svg.matches("<title>").count(), 2);
        assert!(svg.contains("client 0, round 1: 3 epochs"));
        let blank = HeatMap {
            cells: vec![vec![None; 4]; 3],
            ..map
        };
        assert!(!blank.render().contains("inf"));
    }
}
