//! The highest point under a few planes, which gives the next prices of the ascent.

/// A plane above the bound as a function of the prices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    /// Prices at which it touches the bound.
    pub(super) at: (f64, f64),
    /// Value of the bound at these prices.
    pub(super) value: f64,
    pub(super) slope: (f64, f64),
}

impl Plane {
    fn height(&self, (x, y): (f64, f64)) -> f64 {
        self.value + self.slope.0 * (x - self.at.0) + self.slope.1 * (y - self.at.1)
    }
}

/// Returns the point of a square at which the lowest of the planes is highest.
///
/// The maximum of a concave piecewise linear function of two variables lies where three of its
/// planes or the sides of the square meet; there are few enough of those to try them all.
pub(super) fn highest(planes: &[Plane], centre: (f64, f64), radius: f64) -> (f64, f64) {
    let lowest = |point| {
        planes
            .iter()
            .map(|p| p.height(point))
            .fold(f64::INFINITY, f64::min)
    };
    let mut best = (lowest(centre), centre);
    let mut offer = |point: (f64, f64)| {
        let inside = (point.0 - centre.0).abs() <= radius * (1.0 + 1e-9)
            && (point.1 - centre.1).abs() <= radius * (1.0 + 1e-9);
        let height = lowest(point);
        if inside && height > best.0 {
            best = (height, point);
        }
    };
    let sides = [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)];
    for x in [-1.0, 1.0] {
        for y in [-1.0, 1.0] {
            offer((centre.0 + x * radius, centre.1 + y * radius));
        }
    }
    // Where two planes meet above a side of the square, and where three planes meet.
    for (i, a) in planes.iter().enumerate() {
        for (j, b) in planes[..i].iter().enumerate() {
            let ab = difference(a, b);
            for (x, y) in sides {
                let side = (x, y, -(x * centre.0 + y * centre.1 + radius));
                offer(crossing(ab, side));
            }
            for c in &planes[..j] {
                offer(crossing(ab, difference(a, c)));
            }
        }
    }
    best.1
}

/// Returns the line a x + b y + c = 0 above which two planes meet.
fn difference(a: &Plane, b: &Plane) -> (f64, f64, f64) {
    let (x, y) = (a.slope.0 - b.slope.0, a.slope.1 - b.slope.1);
    (x, y, a.height((0.0, 0.0)) - b.height((0.0, 0.0)))
}

/// Returns the point two lines share; not a number if they are parallel.
fn crossing(a: (f64, f64, f64), b: (f64, f64, f64)) -> (f64, f64) {
    let det = a.0 * b.1 - b.0 * a.1;
    ((a.1 * b.2 - b.1 * a.2) / det, (b.0 * a.2 - a.0 * b.2) / det)
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn the_highest_point_is_not_beaten_on_a_grid() {
        let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
        for count in 1..8 {
            let mut draw = || 2.0 * rng.uniform() - 1.0;
            let planes: Vec<Plane> = (0..count)
                .map(|_| Plane {
                    at: (draw(), draw()),
                    value: draw(),
                    slope: (draw(), draw()),
                })
                .collect();
            let lowest = |point| {
                let heights = planes.iter().map(|plane| plane.height(point));
                heights.fold(f64::INFINITY, f64::min)
            };
            let (centre, radius) = ((0.2, -0.1), 0.8);
            let best = lowest(highest(&planes, centre, radius));
            for x in -10..=10 {
                for y in -10..=10 {
                    let at = |centre, step: i32| centre + radius * f64::from(step) / 10.0;
                    assert!(lowest((at(centre.0, x), at(centre.1, y))) <= best + 1e-9);
                }
            }
        }
    }
}
