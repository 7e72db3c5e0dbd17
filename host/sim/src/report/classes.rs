//! Table of energy and participation by device class.

use super::plot::number;
use super::table::Table;
use crate::round::{ClientRow, ClientState};
use crate::run::{LogError, RunDirectory, each_client};
use crate::scenario::{ClientDevice, Scenario};

/// Sums over the clients of one class.
#[derive(Clone, Debug, Default)]
struct Class {
    clients: usize,
    rows: usize,
    trained: usize,
    epochs: u64,
    /// Rows of clients that had an order and whose update was not used.
    missing: usize,
    compute_j: f64,
    radio_j: f64,
    harvest_j: f64,
    overdrawn: usize,
}

impl Class {
    fn add(&mut self, row: &ClientRow) {
        self.rows += 1;
        self.compute_j += row.compute_j;
        self.radio_j += row.radio_j;
        self.harvest_j += row.harvest_j;
        self.overdrawn += usize::from(!row.within_income);
        match row.state {
            ClientState::Trained => {
                self.trained += 1;
                self.epochs += u64::from(row.epochs);
            }
            ClientState::Late | ClientState::Lost => self.missing += 1,
            _ => {}
        }
    }

    fn cells(&self, name: String) -> Vec<String> {
        let rows = self.rows.max(1) as f64;
        let share = |count: usize| format!("{:.1} %", 100.0 * count as f64 / rows);
        let each = |sum_j: f64| number(1e3 * sum_j / rows);
        vec![
            name,
            self.clients.to_string(),
            share(self.trained),
            format!("{:.2}", self.epochs as f64 / self.trained.max(1) as f64),
            self.missing.to_string(),
            each(self.compute_j),
            each(self.radio_j),
            each(self.harvest_j),
            share(self.overdrawn),
        ]
    }
}

/// Returns what became of each class in a run, clients in no class last; `None` where devices are
/// alike.
///
/// # Errors
/// Names the log and line that cannot be read.
pub fn classes_table(
    directory: &RunDirectory,
    scenario: &Scenario,
) -> Result<Option<Table>, LogError> {
    if scenario.device.class.is_empty() {
        return Ok(None);
    }
    let mut classes = Classes::new(scenario);
    for row in each_client(&directory.file(RunDirectory::CLIENTS))? {
        classes.add(&row?);
    }
    Ok(Some(classes.table(scenario)))
}

struct Classes {
    devices: Vec<ClientDevice>,
    /// One of each class, and one of the clients in none.
    classes: Vec<Class>,
}

impl Classes {
    fn new(scenario: &Scenario) -> Self {
        let devices = scenario.devices();
        let mut classes = vec![Class::default(); scenario.device.class.len() + 1];
        let none = classes.len() - 1;
        for device in &devices {
            classes[device.class.unwrap_or(none)].clients += 1;
        }
        Self { devices, classes }
    }

    fn add(&mut self, row: &ClientRow) {
        let none = self.classes.len() - 1;
        let class = self.devices.get(row.client.index()).and_then(|it| it.class);
        // Round 0 is the introduction.
        if row.round > 0 {
            self.classes[class.unwrap_or(none)].add(row);
        }
    }

    fn table(&self, scenario: &Scenario) -> Table {
        let mut table = Table::new(&[
            "class",
            "clients",
            "participated",
            "epochs",
            "missed",
            "compute mJ",
            "radio mJ",
            "harvest mJ",
            "overdrawn",
        ]);
        let none = self.classes.len() - 1;
        for (at, class) in self.classes.iter().enumerate() {
            if class.clients > 0 {
                let name = scenario.class_name((at < none).then_some(at));
                table.row(class.cells(name));
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;
    use crate::scenario::resolve;

    #[test]
    fn every_row_counts_for_the_class_of_its_client() {
        let set = "device.class=[{name='fast',clients=[1]},{clients=[0]}]";
        let sets = ["clients.count=3", set].map(|set| set.parse().unwrap());
        let scenario = resolve("paper-mlp", &sets).unwrap();
        let mut classes = Classes::new(&scenario);
        let row = |client, state, epochs| ClientRow {
            round: 1,
            client,
            state,
            epochs,
            compute_j: 2e-3,
            harvest_j: 1e-3,
            within_income: client != ClientId(0),
            ..ClientRow::default()
        };
        for row in [
            row(ClientId(1), ClientState::Trained, 3),
            row(ClientId(1), ClientState::Trained, 6),
            row(ClientId(0), ClientState::Late, 9),
            row(ClientId(2), ClientState::Idle, 0),
        ] {
            classes.add(&row);
        }
        let rows = classes.table(&scenario).rows;
        let starts: Vec<Vec<&str>> = rows
            .iter()
            .map(|row| row.iter().map(String::as_str).collect())
            .collect();
        assert_eq!(
            starts,
            [
                ["fast", "1", "100.0 %", "4.50", "0", "2", "0", "1", "0.0 %"],
                [
                    "device.class[1]",
                    "1",
                    "0.0 %",
                    "0.00",
                    "1",
                    "2",
                    "0",
                    "1",
                    "100.0 %"
                ],
                ["others", "1", "0.0 %", "0.00", "0", "2", "0", "1", "0.0 %"],
            ]
        );
    }
}
