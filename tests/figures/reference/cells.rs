//! What the reference found: MNIST, perceptron, 200 rounds, exact solver.

/// One scheduler in one setting.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The scheduler's name in a scenario.
    pub scheduler: &'static str,
    /// CRE's penalty factor V.
    pub penalty: Option<f64>,
    /// Accuracy in per cent.
    pub accuracy: f64,
    /// All clients' energy in millijoules a round.
    pub energy_mj: f64,
}

impl Cell {
    /// Returns a name that can stand in a path.
    pub fn name(&self) -> String {
        match self.penalty {
            Some(v) => format!("{}-v{v}", self.scheduler),
            None => self.scheduler.to_owned(),
        }
    }
}

/// One row of the reference's table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The non-IID degree d.
    pub degree: f64,
    /// The standard deviation sigma of the clients' sample counts.
    pub deviation: f64,
    pub cells: [Cell; 8],
}

/// Names the columns of a row of (accuracy, energy).
const fn setting(degree: f64, deviation: f64, row: [(f64, f64); 8]) -> Setting {
    const fn cell(
        scheduler: &'static str,
        penalty: Option<f64>,
        (accuracy, energy_mj): (f64, f64),
    ) -> Cell {
        Cell {
            scheduler,
            penalty,
            accuracy,
            energy_mj,
        }
    }
    Setting {
        degree,
        deviation,
        cells: [
            cell("random", None, row[0]),
            cell("round-robin", None, row[1]),
            cell("fednova", None, row[2]),
            cell("channel-allocate", None, row[3]),
            cell("importance-aware", None, row[4]),
            cell("cre", Some(0.1), row[5]),
            cell("cre", Some(0.01), row[6]),
            cell("cre", Some(0.001), row[7]),
        ],
    }
}

/// Results of the reference implementation by cell.
#[rustfmt::skip]
pub const SETTINGS: [Setting; 3] = [
    setting(0.2, 50.0, [
        (80.7, 7.1), (80.4, 7.1), (84.5, 8.2), (81.7, 7.3), (81.5, 7.3),
        (86.8, 5.5), (86.2, 3.5), (86.3, 3.0),
    ]),
    setting(0.4, 100.0, [
        (78.7, 6.9), (79.6, 6.9), (82.7, 7.9), (79.3, 7.4), (80.7, 7.3),
        (85.6, 6.5), (81.4, 4.3), (85.6, 3.4),
    ]),
    setting(0.6, 150.0, [
        (76.1, 7.1), (78.1, 7.1), (82.5, 8.3), (68.0, 7.3), (80.2, 7.3),
        (82.9, 5.6), (81.9, 4.4), (84.0, 3.7),
    ]),
];
