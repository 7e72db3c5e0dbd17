//! The rectangular linear assignment problem with forbidden pairs, in which rows may abstain.

/// Minimum-cost matching by shortest augmenting paths (Jonker and Volgenant, "A shortest
/// augmenting path algorithm for dense and sparse linear assignment problems", 1987).
///
/// Every row may take one column or none; taking none costs 0, so only pairs that lower the sum
/// are taken. Kept between calls for its buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher {
    row_price: Vec<f64>,
    column_price: Vec<f64>,
    column_of_row: Vec<usize>,
    row_of_column: Vec<usize>,
    distance: Vec<f64>,
    parent: Vec<usize>,
    open: Vec<usize>,
    closed: Vec<usize>,
    ties: Ties,
    /// Cells of cost tables looked at so far, over all calls.
    pub(crate) cells: u64,
}

const NONE: usize = usize::MAX;

/// Choice between several matchings of equal cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ties {
    /// Of equally near columns a free one is taken: the search ends sooner.
    #[default]
    Free,
    /// The first one is taken, and any row's right to abstain will do: a pair that costs nothing
    /// is made, and stays with the row that had it first.
    First,
}

/// Returns for every row the column it takes, or `None`, so that the total worth is largest.
///
/// `worth[row][column]` is `None` where the pair is forbidden; worths are not negative. Of equal
/// columns the first is taken, even where it is worth nothing.
#[must_use]
pub fn heaviest_assignment(worth: &[Vec<Option<f64>>]) -> Vec<Option<usize>> {
    let columns = worth.first().map_or(0, Vec::len);
    let mut matcher = Matcher {
        ties: Ties::First,
        ..Matcher::default()
    };
    let cost = |row: usize, column: usize| worth[row][column].map_or(f64::INFINITY, |worth| -worth);
    matcher.solve(worth.len(), columns, cost);
    (0..worth.len())
        .map(|row| matcher.column_of(row, columns))
        .collect()
}

impl Matcher {
    /// Solves for `rows` x `columns` costs, infinite where forbidden, and returns the minimum.
    ///
    /// The choice is then in [`Self::column_of`]. `cost` must not be NaN or negative infinity.
    pub(crate) fn solve(
        &mut self,
        rows: usize,
        columns: usize,
        cost: impl Fn(usize, usize) -> f64,
    ) -> f64 {
        // Column `columns + r` is row r's own right to abstain, at cost 0.
        let width = columns + rows;
        self.row_price.clear();
        self.row_price.resize(rows, 0.0);
        self.column_price.clear();
        self.column_price.resize(width, 0.0);
        self.column_of_row.clear();
        self.column_of_row.resize(rows, NONE);
        self.row_of_column.clear();
        self.row_of_column.resize(width, NONE);
        for row in 0..rows {
            self.augment(row, columns, &cost);
        }
        (0..rows)
            .filter_map(|row| self.column_of(row, columns).map(|column| cost(row, column)))
            .sum()
    }

    /// Returns the column a row took in the last solution with that many columns.
    pub(crate) fn column_of(&self, row: usize, columns: usize) -> Option<usize> {
        let column = self.column_of_row[row];
        (column < columns).then_some(column)
    }

    /// Returns the price of a row in the last solution: cost - row price - column price >= 0 for
    /// every pair, with equality for those taken.
    pub(crate) fn row_price(&self, row: usize) -> f64 {
        self.row_price[row]
    }

    /// Returns the price of a column in the last solution, never positive.
    pub(crate) fn column_price(&self, column: usize) -> f64 {
        self.column_price[column]
    }

    /// Returns the sum of all prices in the last solution: its cost, by duality.
    pub(crate) fn dual_value(&self) -> f64 {
        self.row_price.iter().sum::<f64>() + self.column_price.iter().sum::<f64>()
    }

    /// Finds the cheapest path that gives `start` a column, and takes it.
    fn augment(&mut self, start: usize, columns: usize, cost: &impl Fn(usize, usize) -> f64) {
        let width = self.column_price.len();
        self.distance.clear();
        self.distance.resize(width, f64::INFINITY);
        self.parent.clear();
        self.parent.resize(width, NONE);
        self.open.clear();
        self.open.extend(0..width);
        self.closed.clear();
        let (mut row, mut reached) = (start, 0.0);
        let last = loop {
            let base = reached - self.row_price[row];
            self.cells += self.open.len() as u64;
            let (mut best, mut best_at) = (f64::INFINITY, NONE);
            for (at, &column) in self.open.iter().enumerate() {
                let edge = if column < columns {
                    cost(row, column)
                } else if self.ties == Ties::First || column == columns + row {
                    0.0
                } else {
                    f64::INFINITY
                };
                let candidate = base + edge - self.column_price[column];
                if candidate < self.distance[column] {
                    self.distance[column] = candidate;
                    self.parent[column] = row;
                }
                let found = self.distance[column];
                let preferred = || match self.ties {
                    Ties::Free => self.row_of_column[column] == NONE,
                    Ties::First => column < self.open[best_at],
                };
                if found < best || (found == best && best_at != NONE && preferred()) {
                    (best, best_at) = (found, at);
                }
            }
            // The row's own column is always reachable, so a best one exists.
            let column = self.open.swap_remove(best_at);
            reached = best;
            if self.row_of_column[column] == NONE {
                break column;
            }
            self.closed.push(column);
            row = self.row_of_column[column];
        };
        self.row_price[start] += reached;
        for &column in &self.closed {
            let shift = reached - self.distance[column];
            self.column_price[column] -= shift;
            self.row_price[self.row_of_column[column]] += shift;
        }
        let mut column = last;
        loop {
            let row = self.parent[column];
            self.row_of_column[column] = row;
            let previous = self.column_of_row[row];
            self.column_of_row[row] = column;
            if row == start {
                return;
            }
            column = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;

    fn brute(row: usize, rows: usize, taken: u32, columns: usize, costs: &[Vec<f64>]) -> f64 {
        if row == rows {
            return 0.0;
        }
        let mut best = brute(row + 1, rows, taken, columns, costs);
        for column in (0..columns).filter(|column| taken >> column & 1 == 0) {
            let rest = brute(row + 1, rows, taken | 1 << column, columns, costs);
            best = best.min(costs[row][column] + rest);
        }
        best
    }

    #[test]
    fn equals_every_matching_tried() {
        let mut rng = Rng::stream(4, Purpose::Synthetic, 0, 0);
        let mut matcher = Matcher::default();
        for _ in 0..300 {
            let (rows, columns) = (1 + rng.below(5) as usize, 1 + rng.below(6) as usize);
            let costs: Vec<Vec<f64>> = (0..rows)
                .map(|_| {
                    (0..columns)
                        .map(|_| match rng.below(5) {
                            0 => f64::INFINITY,
                            1 => -0.5,
                            _ => rng.uniform() - 0.7,
                        })
                        .collect()
                })
                .collect();
            let found = matcher.solve(rows, columns, |r, c| costs[r][c]);
            assert!((found - brute(0, rows, 0, columns, &costs)).abs() < 1e-12);
        }
    }

    fn total(worth: &[Vec<Option<f64>>], taken: &[Option<usize>]) -> f64 {
        taken
            .iter()
            .enumerate()
            .filter_map(|(row, column)| worth[row][(*column)?])
            .sum()
    }

    fn brute_force(worth: &[Vec<Option<f64>>], row: usize, used: &mut Vec<bool>) -> f64 {
        if row == worth.len() {
            return 0.0;
        }
        let mut best = brute_force(worth, row + 1, used);
        for column in 0..used.len() {
            if let (false, Some(value)) = (used[column], worth[row][column]) {
                used[column] = true;
                best = best.max(value + brute_force(worth, row + 1, used));
                used[column] = false;
            }
        }
        best
    }

    #[test]
    fn finds_the_heaviest_assignment_among_all() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        for _ in 0..300 {
            let (rows, columns) = (1 + rng.below(4) as usize, 1 + rng.below(6) as usize);
            let worth: Vec<Vec<Option<f64>>> = (0..rows)
                .map(|_| {
                    (0..columns)
                        .map(|_| (rng.below(4) > 0).then(|| rng.uniform()))
                        .collect()
                })
                .collect();
            let taken = heaviest_assignment(&worth);
            let best = brute_force(&worth, 0, &mut vec![false; columns]);
            assert!((total(&worth, &taken) - best).abs() < 1e-12);
            let mut columns: Vec<usize> = taken.into_iter().flatten().collect();
            let assigned = columns.len();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), assigned, "a column was given twice");
        }
    }

    #[test]
    fn a_row_with_nothing_allowed_stays_empty() {
        assert_eq!(
            heaviest_assignment(&[vec![None, None], vec![Some(1.0), None]]),
            [None, Some(0)]
        );
    }

    #[test]
    fn a_pair_worth_nothing_is_made_and_the_first_row_keeps_it() {
        let nothing = vec![Some(0.0)];
        assert_eq!(
            heaviest_assignment(&[nothing.clone(), nothing]),
            [Some(0), None]
        );
    }
}
