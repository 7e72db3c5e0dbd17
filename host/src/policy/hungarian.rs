//! The assignment problem: which row takes which column so that the total worth is largest.

/// Returns for every row the column it takes, or `None`.
///
/// `worth[row][column]` is `None` where the pair is forbidden; worths are not negative. The
/// Hungarian method with shortest augmenting paths, O(rows^2 (rows + columns)); every row has a
/// column of its own worth nothing, so leaving a row out is always possible.
#[must_use]
pub fn heaviest_assignment(worth: &[Vec<Option<f64>>]) -> Vec<Option<usize>> {
    let rows = worth.len();
    let columns = worth.first().map_or(0, Vec::len);
    let width = columns + rows;
    let cost = |row: usize, column: usize| {
        let value = if column < columns {
            worth[row][column]
        } else {
            Some(0.0)
        };
        // A forbidden pair costs more than any set of pairs could gain.
        value.map_or(f64::MAX.sqrt(), |worth| -worth)
    };

    // Index 0 is a stand-in for "none" in the classical formulation, hence the offsets by one.
    let mut row_price = vec![0.0; rows + 1];
    let mut column_price = vec![0.0; width + 1];
    let mut owner = vec![0usize; width + 1];
    for row in 1..=rows {
        owner[0] = row;
        let mut column = 0;
        let mut distance = vec![f64::INFINITY; width + 1];
        let mut previous = vec![0usize; width + 1];
        let mut done = vec![false; width + 1];
        loop {
            done[column] = true;
            let from = owner[column];
            let (mut nearest, mut step) = (0, f64::INFINITY);
            for next in (1..=width).filter(|&next| !done[next]) {
                let reduced = cost(from - 1, next - 1) - row_price[from] - column_price[next];
                if reduced < distance[next] {
                    distance[next] = reduced;
                    previous[next] = column;
                }
                if distance[next] < step {
                    (nearest, step) = (next, distance[next]);
                }
            }
            for at in 0..=width {
                if done[at] {
                    row_price[owner[at]] += step;
                    column_price[at] -= step;
                } else {
                    distance[at] -= step;
                }
            }
            column = nearest;
            if owner[column] == 0 {
                break;
            }
        }
        while column != 0 {
            owner[column] = owner[previous[column]];
            column = previous[column];
        }
    }

    let mut taken = vec![None; rows];
    for column in 1..=columns {
        let row = owner[column];
        if row > 0 && worth[row - 1][column - 1].is_some() {
            taken[row - 1] = Some(column - 1);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;

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
}
