//! Small dense symmetric matrices; a fit has at most some dozens of coefficients.

/// A square matrix, stored by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    size: usize,
    cells: Vec<f64>,
}

impl Square {
    /// Returns a matrix of zeros.
    #[must_use]
    pub fn zeros(size: usize) -> Self {
        Self {
            size,
            cells: vec![0.0; size * size],
        }
    }

    /// Returns the matrix of these rows, or `None` if they are not square.
    #[must_use]
    pub fn from_rows(rows: &[Vec<f64>]) -> Option<Self> {
        let size = rows.len();
        rows.iter().all(|row| row.len() == size).then(|| Self {
            size,
            cells: rows.concat(),
        })
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns the cell of a row and column.
    #[must_use]
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.size + column]
    }

    /// Replaces the cell of a row and column.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row * self.size + column] = value;
    }

    /// Adds to the cell of a row and column.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row * self.size + column] += value;
    }

    /// Multiplies every cell by a factor.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.cells.iter_mut().for_each(|cell| *cell *= factor);
        self
    }

    /// Returns the rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.cells.chunks(self.size.max(1))
    }

    /// Returns the lower factor L of L Lᵀ.
    ///
    /// # Errors
    /// Returns the first row whose pivot is at most `least` times its diagonal: that row depends on
    /// those before it.
    pub fn cholesky(&self, least: f64) -> Result<Self, usize> {
        let mut lower = Self::zeros(self.size);
        for row in 0..self.size {
            for column in 0..=row {
                let dot: f64 = (0..column)
                    .map(|k| lower.at(row, k) * lower.at(column, k))
                    .sum();
                let rest = self.at(row, column) - dot;
                if row > column {
                    lower.set(row, column, rest / lower.at(column, column));
                } else if rest > least * self.at(row, row) {
                    lower.set(row, row, rest.sqrt());
                } else {
                    return Err(row);
                }
            }
        }
        Ok(lower)
    }

    /// Solves L Lᵀ x = `right`, where `self` is L.
    #[must_use]
    pub fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = right.to_vec();
        for row in 0..self.size {
            let dot: f64 = (0..row).map(|k| self.at(row, k) * x[k]).sum();
            x[row] = (x[row] - dot) / self.at(row, row);
        }
        for row in (0..self.size).rev() {
            let dot: f64 = (row + 1..self.size).map(|k| self.at(k, row) * x[k]).sum();
            x[row] = (x[row] - dot) / self.at(row, row);
        }
        x
    }

    /// Returns the inverse of L Lᵀ, where `self` is L.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut inverse = Self::zeros(self.size);
        for column in 0..self.size {
            let mut unit = vec![0.0; self.size];
            unit[column] = 1.0;
            for (row, value) in self.solve(&unit).into_iter().enumerate() {
                inverse.set(row, column, value);
            }
        }
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved_and_inverted() {
        let matrix = Square::from_rows(&[
            vec![4.0, 2.0, 0.0],
            vec![2.0, 5.0, 1.0],
            vec![0.0, 1.0, 3.0],
        ])
        .unwrap();
        let lower = matrix.cholesky(1e-12).unwrap();
        let x = lower.solve(&[8.0, 15.0, 11.0]);
        for (found, expected) in x.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{x:?}");
        }
        let inverse = lower.inverse();
        for row in 0..3 {
            for column in 0..3 {
                let cell: f64 = (0..3)
                    .map(|k| matrix.at(row, k) * inverse.at(k, column))
                    .sum();
                let unit = f64::from(u8::from(row == column));
                assert!((cell - unit).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_dependent_row_is_named() {
        let twice = Square::from_rows(&[vec![1.0, 2.0], vec![2.0, 4.0]]).unwrap();
        assert_eq!(twice.cholesky(1e-10), Err(1));
        let broken = Square::from_rows(&[vec![f64::NAN]]).unwrap();
        assert_eq!(broken.cholesky(1e-10), Err(0));
        assert_eq!(Square::from_rows(&[vec![1.0], vec![]]), None);
    }
}
