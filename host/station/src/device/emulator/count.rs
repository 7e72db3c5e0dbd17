//! Cycles of a pass over a client's samples as a sum of three parts, fitted to shards of unlike ink.

use gleaner_sim::scenario::Load;

/// Ink that differs less than this from shard to shard says nothing of its own cost.
const UNLIKE: f64 = 0.1;

/// Cycles of a pass: `fixed`, and more per sample and per non-zero input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassCycles {
    /// Cycles beside those of samples and inputs.
    pub fixed: f64,
    /// Cycles per sample.
    pub per_sample: f64,
    /// Cycles per non-zero input.
    pub per_nonzero: f64,
}

impl PassCycles {
    /// Returns the parts that come nearest to counted cycles, by least squares of relative errors;
    /// `None` of too few shards or too much alike.
    #[must_use]
    pub fn fit(counted: &[(Load, u64)]) -> Option<Self> {
        let ink = |load: &Load| load.nonzero as f64 / f64::from(load.samples.max(1));
        let inks = counted.iter().map(|(load, _)| ink(load));
        let (least, most) = inks.fold((f64::MAX, 0f64), |(least, most), ink| {
            (least.min(ink), most.max(ink))
        });
        // With inks alike, one column stands for both.
        let columns = if most > least * (1.0 + UNLIKE) { 3 } else { 2 };
        let (mut matrix, mut sums) = ([[0.0; 3]; 3], [0.0; 3]);
        for (load, cycles) in counted {
            let weight = 1.0 / (*cycles).max(1) as f64;
            let row = [1.0, f64::from(load.samples), load.nonzero as f64].map(|it| it * weight);
            for (at, value) in row.iter().enumerate() {
                for (to, other) in row.iter().enumerate() {
                    matrix[at][to] += value * other;
                }
                sums[at] += value;
            }
        }
        let found = solve(matrix, sums, columns)?;
        Some(Self {
            // A share of a thousandth below zero is an error of the fit.
            fixed: found[0].max(0.0),
            per_sample: found[1],
            per_nonzero: found[2],
        })
    }

    /// Returns the expected cycles of a pass.
    #[must_use]
    pub fn of(&self, load: Load) -> f64 {
        self.fixed
            + self.per_sample * f64::from(load.samples)
            + self.per_nonzero * load.nonzero as f64
    }

    /// Returns the largest relative error.
    #[must_use]
    pub fn error(&self, counted: &[(Load, u64)]) -> f64 {
        let errors = counted
            .iter()
            .map(|(load, cycles)| (self.of(*load) / *cycles as f64 - 1.0).abs());
        errors.fold(0.0, f64::max)
    }
}

/// Solves the first `columns` normal equations by elimination; the other unknowns are zero.
fn solve(mut matrix: [[f64; 3]; 3], mut sums: [f64; 3], columns: usize) -> Option<[f64; 3]> {
    // Columns differ by orders of magnitude.
    let scale = [0, 1, 2].map(|at| matrix[at][at].sqrt());
    for at in 0..columns {
        for to in 0..columns {
            matrix[at][to] /= scale[at] * scale[to];
        }
        sums[at] /= scale[at];
    }
    for pivot in 0..columns {
        // The matrix is positive definite, so its pivots are unless shards are too much alike.
        if matrix[pivot][pivot].is_nan() || matrix[pivot][pivot] <= 1e-9 {
            return None;
        }
        for at in pivot + 1..columns {
            let factor = matrix[at][pivot] / matrix[pivot][pivot];
            let upper = matrix[pivot];
            for (to, from) in matrix[at].iter_mut().zip(upper).take(columns).skip(pivot) {
                *to -= factor * from;
            }
            sums[at] -= factor * sums[pivot];
        }
    }
    let mut found = [0.0; 3];
    for at in (0..columns).rev() {
        let known: f64 = (at + 1..columns).map(|to| matrix[at][to] * found[to]).sum();
        found[at] = (sums[at] - known) / matrix[at][at];
    }
    Some([0, 1, 2].map(|at| {
        if at < columns {
            found[at] / scale[at]
        } else {
            0.0
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(samples: u32, nonzero: u64) -> Load {
        Load { samples, nonzero }
    }

    #[test]
    fn the_parts_of_a_pass_are_found_again() {
        let truth = PassCycles {
            fixed: 1.5e6,
            per_sample: 9_000.0,
            per_nonzero: 410.0,
        };
        let loads = [
            load(1_000, 150_000),
            load(1_000, 60_000),
            load(1_000, 210_000),
            load(100, 15_000),
        ];
        let counted = loads.map(|it| (it, truth.of(it).round() as u64));
        let found = PassCycles::fit(&counted).unwrap();
        assert!((found.fixed / truth.fixed - 1.0).abs() < 1e-4, "{found:?}");
        assert!(
            (found.per_nonzero / truth.per_nonzero - 1.0).abs() < 1e-4,
            "{found:?}"
        );
        assert!(found.error(&counted) < 1e-6);
        assert_eq!(PassCycles::fit(&counted[..2]), None);
    }

    #[test]
    fn samples_of_the_same_ink_are_counted_by_number() {
        let loads = [load(1_000, 190_000), load(500, 95_500), load(100, 19_200)];
        let counted = loads.map(|it| (it, 2_000_000 + 50_000 * u64::from(it.samples)));
        let found = PassCycles::fit(&counted).unwrap();
        assert_eq!(found.per_nonzero, 0.0);
        assert!((found.per_sample - 50_000.0).abs() < 1.0, "{found:?}");
    }
}
