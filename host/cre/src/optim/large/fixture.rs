//! Small rounds and all their assignments, for the tests of this folder.

use super::layer::Layer;
use super::relax::Sides;
use crate::optim::table::Table;
use crate::optim::{Instance, draw_costs, random_instance};
use crate::system::System;

/// Five clients on two channels, in the paper's two systems, with a table each; devices are unlike in
/// every other round and pay more than the paper's costs in every fourth.
pub(super) fn rounds() -> impl Iterator<Item = (Instance, Table)> {
    (0..8).flat_map(|seed| {
        [System::paper_mlp(), System::paper_cnn()].map(|system| {
            let mut instance = random_instance(&system, 5, 2, seed);
            if seed % 2 == 1 {
                make_unlike(&mut instance);
            }
            if seed % 4 == 3 {
                draw_costs(&mut instance, seed);
            }
            let table = Table::new(&instance).expect("few epochs");
            (instance, table)
        })
    })
}

/// Gives one client a slow processor, one no income, one little time and one a lot of income.
fn make_unlike(instance: &mut Instance) {
    instance.epoch_s[0] *= 3.0;
    instance.epoch_j[0] *= 0.2;
    instance.income_j[1] = 0.0;
    instance.reserve_s[2] = 0.3 * instance.deadline_s;
    instance.income_j[3] *= 20.0;
}

/// Returns some layers of a table that somebody can take part in.
pub(super) fn layers(table: &Table) -> Vec<Layer> {
    let taus = (1..=table.epochs()).step_by(5);
    let layers = taus.map(|tau| Layer::new(table, tau));
    layers.filter(|layer| layer.width() > 0).collect()
}

/// An assignment and its value.
pub(super) struct Assigned {
    /// Column of each channel.
    pub(super) columns: Vec<Option<usize>>,
    /// Sum of w_i, and of w_i delta_i^2.
    pub(super) point: (f64, f64),
    /// Objective J minus that of the empty plan.
    pub(super) value: f64,
}

impl Assigned {
    /// Returns whether the sums lie in a box.
    pub(super) fn is_in(&self, sides: &Sides) -> bool {
        let (w, s) = self.point;
        (sides.w.0..=sides.w.1).contains(&w) && (sides.r.0..=sides.r.1).contains(&(s / w))
    }
}

/// Returns every feasible assignment of at least one client.
pub(super) fn assignments(table: &Table, layer: &Layer) -> Vec<Assigned> {
    let mut found = Vec::new();
    assign(table, layer, &mut Vec::new(), &mut found);
    found
}

fn assign(
    table: &Table,
    layer: &Layer,
    columns: &mut Vec<Option<usize>>,
    found: &mut Vec<Assigned>,
) {
    if columns.len() == table.channels() {
        let chosen: Vec<usize> = columns.iter().flatten().copied().collect();
        let costs = costs(layer, columns);
        if !chosen.is_empty() && costs.is_finite() {
            let sums = layer.sums(table, &chosen);
            found.push(Assigned {
                columns: columns.clone(),
                point: (sums.samples / table.total.samples, sums.s),
                value: table.value(&sums, costs, layer.tau),
            });
        }
        return;
    }
    let free = (0..layer.width()).map(Some).chain([None]);
    for column in free {
        if column.is_none() || !columns.contains(&column) {
            columns.push(column);
            assign(table, layer, columns, found);
            columns.pop();
        }
    }
}

/// Returns the energy costs of an assignment.
fn costs(layer: &Layer, columns: &[Option<usize>]) -> f64 {
    let taken = columns.iter().enumerate();
    taken
        .filter_map(|(channel, column)| Some(layer.costs[channel * layer.width() + (*column)?]))
        .sum()
}

/// Returns the least J - J(nobody) of any plan of a table, nobody included.
pub(super) fn optimum(table: &Table) -> f64 {
    (1..=table.epochs())
        .map(|tau| Layer::new(table, tau))
        .flat_map(|layer| assignments(table, &layer))
        .fold(0.0, |least, assigned| assigned.value.min(least))
}
