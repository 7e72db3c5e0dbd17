//! `gleaner solve --csv`: the terms of the objective for a round's best plan.

use anyhow::anyhow;

use gleaner_check::instances::Case;
use gleaner_cre::bound::Heterogeneity;
use gleaner_cre::optim::{Instance, Plan, Solver, best_by_participants, nobody_objective};

/// Columns of every table; columns per number of participants follow.
const COLUMNS: &str = "name,rho,beta,eta_beta,F_gap,delta_min,delta_mean,delta_max,Z_mean_j,Z_max_j,\
    clients,tau,A_1,A_2,A_3,drift,absent,convergence,bound,J_energy,J_penalty,J,J_nobody";

/// One row for each instance.
#[derive(Default)]
pub struct Terms {
    rows: Vec<String>,
    /// Largest number of participants that has columns.
    sizes: usize,
}

impl Terms {
    /// Solves an instance and adds the terms of its plan as a row.
    pub fn add(&mut self, case: &Case, solver: Solver, seed: u64) -> anyhow::Result<()> {
        let instance = &case.instance;
        let solution = solver
            .solve(instance, seed)
            .map_err(|error| anyhow!("{}: {error}", case.place))?;
        let found = &solution.evaluation;
        let bound = &instance.bound;
        let clients = participants(&solution.plan);
        // Without participants the weights are 0/0; all distances are zero.
        let of = match clients.is_empty() {
            true => Heterogeneity { a1: 0.0, a2: 0.0 },
            false => Heterogeneity::of(&instance.samples, &instance.delta, &clients),
        };
        let (delta, queue) = (Spread::of(&instance.delta), Spread::of(&instance.queue_j));
        let mut row = vec![
            case.name
                .as_deref()
                .unwrap_or(&case.place)
                .replace(',', ";"),
            bound.rho.to_string(),
            bound.beta.to_string(),
            (bound.eta * bound.beta).to_string(),
            bound.gap.to_string(),
            delta.least.to_string(),
            delta.mean.to_string(),
            delta.most.to_string(),
            queue.mean.to_string(),
            queue.most.to_string(),
            words(&clients),
            solution.plan.epochs.to_string(),
        ];
        let numbers = [
            of.a1,
            of.a2,
            bound.a3(of.a2),
            found.bound.drift,
            found.bound.linear,
            found.bound.convergence,
            found.bound.total(),
            found.energy,
            found.penalty,
            found.total,
            nobody_objective(instance),
        ];
        row.extend(numbers.map(|number| number.to_string()));
        row.extend(self.by_participants(instance));
        self.rows.push(row.join(","));
        Ok(())
    }

    /// Returns J, epochs and clients of the best plan for each number of participants.
    fn by_participants(&mut self, instance: &Instance) -> Vec<String> {
        let best = best_by_participants(instance).unwrap_or_default();
        self.sizes = self.sizes.max(best.len());
        let cells = |plan: Option<(f64, Plan)>| match plan {
            Some((value, plan)) => [
                value.to_string(),
                plan.epochs.to_string(),
                words(&participants(&plan)),
            ],
            None => Default::default(),
        };
        best.into_iter().flat_map(cells).collect()
    }

    /// Returns the table as CSV.
    pub fn to_csv(&self) -> String {
        let mut text = COLUMNS.to_owned();
        for size in 1..=self.sizes {
            text.push_str(&format!(",J_{size},tau_{size},clients_{size}"));
        }
        let commas = text.matches(',').count();
        text.push('\n');
        for row in &self.rows {
            text.push_str(row);
            // Instances with fewer channels leave their last columns empty.
            text.push_str(&",".repeat(commas - row.matches(',').count()));
            text.push('\n');
        }
        text
    }
}

struct Spread {
    least: f64,
    mean: f64,
    most: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        Self {
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

fn participants(plan: &Plan) -> Vec<usize> {
    let mut clients: Vec<usize> = plan.uploads.iter().map(|upload| upload.client).collect();
    clients.sort_unstable();
    clients
}

/// Returns clients in one cell of a table.
fn words(clients: &[usize]) -> String {
    let words: Vec<String> = clients.iter().map(usize::to_string).collect();
    words.join(" ")
}
