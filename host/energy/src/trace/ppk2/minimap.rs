//! The overview that the application draws below a recording: least and most of ever longer
//! stretches, halved in number whenever there are ten thousand.

use serde::Serialize;

/// Stretches at most.
const MOST: usize = 10_000;

/// The application draws on a logarithmic scale that begins here.
const LEAST_NA: f64 = 200.0;

/// The overview, by the names it has in its file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Minimap {
    last_element_fold_count: u32,
    data: Data,
    max_number_of_elements: usize,
    number_of_times_to_fold: u32,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Data {
    length: usize,
    min: Vec<Point>,
    max: Vec<Point>,
}

/// Microseconds and nanoamperes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    x: f64,
    y: f64,
}

impl Minimap {
    pub(super) fn new() -> Self {
        Self {
            last_element_fold_count: 0,
            data: Data::default(),
            max_number_of_elements: MOST,
            number_of_times_to_fold: 1,
        }
    }

    /// Takes the next sample.
    pub(super) fn push(&mut self, current_ua: f32, time_us: f64) {
        let value = (f64::from(current_ua) * 1e3).max(LEAST_NA);
        if self.last_element_fold_count == 0 {
            let point = Point {
                x: time_us,
                y: value,
            };
            self.data.min.push(point);
            self.data.max.push(point);
            self.data.length += 1;
        }
        self.last_element_fold_count += 1;
        let share = 1.0 / f64::from(self.last_element_fold_count);
        let last = self.data.length - 1;
        let (least, most) = (&mut self.data.min[last], &mut self.data.max[last]);
        let x = time_us * share + least.x * (1.0 - share);
        *least = Point {
            x,
            y: value.min(least.y),
        };
        *most = Point {
            x,
            y: value.max(most.y),
        };
        if self.last_element_fold_count == self.number_of_times_to_fold {
            self.last_element_fold_count = 0;
        }
        if self.data.length == MOST {
            self.fold();
        }
    }

    fn fold(&mut self) {
        self.number_of_times_to_fold *= 2;
        self.data.length /= 2;
        halve(&mut self.data.min, f64::min);
        halve(&mut self.data.max, f64::max);
    }
}

fn halve(points: &mut Vec<Point>, choose: fn(f64, f64) -> f64) {
    *points = points
        .chunks_exact(2)
        .map(|pair| Point {
            x: f64::midpoint(pair[0].x, pair[1].x),
            y: choose(pair[0].y, pair[1].y),
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_keeps_extremes_and_stays_small() {
        let mut map = Minimap::new();
        for sample in 0..1_000_000_u32 {
            let current = if sample == 777_777 { 9_000.0 } else { 10.0 };
            map.push(current, f64::from(sample) * 10.0);
        }
        assert!(map.data.length < MOST && map.data.length >= MOST / 2);
        assert_eq!(map.data.length, map.data.min.len());
        let top = map.data.max.iter().max_by(|a, b| a.y.total_cmp(&b.y));
        let top = top.unwrap();
        assert_eq!(top.y, 9e6);
        assert!((top.x - 7_777_770.0).abs() < 2_000.0, "{}", top.x);
        assert!(map.data.min.iter().all(|point| point.y == 10_000.0));
        assert!(map.data.min.windows(2).all(|pair| pair[0].x < pair[1].x));
    }
}
