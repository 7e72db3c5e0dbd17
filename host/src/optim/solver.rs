//! The solvers by name, and the one entrance to them.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::large::{self, Effort};
use super::table::Table;
use super::{Instance, InstanceError, Solution, anneal, check, exact, nobody_objective, paper};

/// A way to solve a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// The optimum, proven.
    Exact,
    /// Algorithm 2 repaired: quick at any size, proves nothing.
    Anneal,
    /// A plan at any size, with a proof of how good it is.
    Large,
    /// Algorithms 1 and 2 as printed, to show what they do.
    Paper,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The instance is not one.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The solver's promise cannot be kept at this size.
    #[error("{0}")]
    Unaffordable(String),
}

impl Solver {
    /// All solvers.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Anneal, Self::Large, Self::Paper];

    /// Returns the name used on the command line and in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Anneal => "anneal",
            Self::Large => "large",
            Self::Paper => "paper",
        }
    }

    /// Solves a round. `seed` drives the randomised solvers and is ignored by the others.
    ///
    /// # Errors
    /// [`SolveError::Instance`] names a field that cannot be; [`SolveError::Unaffordable`] says
    /// which solver to take instead. That nobody can take part is an answer, not an error.
    pub fn solve(self, instance: &Instance, seed: u64) -> Result<Solution, SolveError> {
        instance.validate()?;
        let solution = match self {
            Self::Exact => solve_exactly(instance)?,
            Self::Anneal => Solution::new(instance, anneal::solve(instance, seed), None),
            Self::Large => solve_large(instance)?,
            Self::Paper => Solution::new(instance, paper::solve(instance, seed), None),
        };
        debug_assert_eq!(
            check::check(instance, &solution.plan, solution.evaluation.total),
            Ok(()),
            "{self:?} broke a constraint"
        );
        Ok(solution)
    }
}

fn solve_exactly(instance: &Instance) -> Result<Solution, SolveError> {
    let (clients, channels) = (instance.clients(), instance.channels);
    let plan = match Table::new(instance) {
        Some(table) if exact::is_quick(clients, channels, table.epochs()) => {
            exact::enumerate(instance, &table)
        }
        Some(table) => {
            let affordable = exact::is_enumerable(clients, channels, table.epochs());
            let effort = match affordable {
                true => Effort::ROUND,
                false => Effort::PROOF,
            };
            let found = large::solve(instance, &table, effort);
            match found.closed {
                true => found.plan,
                false if affordable => exact::enumerate(instance, &table),
                false => return Err(unaffordable(instance, "to prove an optimum", "large")),
            }
        }
        None if exact::is_enumerable(clients, channels, EPOCHS_BY_BISECTION) => {
            exact::enumerate_assignments(instance)
        }
        None => return Err(unaffordable(instance, "with so many epochs", "anneal")),
    };
    Ok(Solution::optimal(instance, plan))
}

/// What a bisection over tau costs, in epochs of a table.
const EPOCHS_BY_BISECTION: usize = 512;

fn solve_large(instance: &Instance) -> Result<Solution, SolveError> {
    let (clients, channels) = (instance.clients(), instance.channels);
    let Some(table) = Table::new(instance) else {
        return Err(unaffordable(instance, "with so many epochs", "anneal"));
    };
    let found = large::solve(instance, &table, Effort::ROUND);
    if found.closed {
        return Ok(Solution::optimal(instance, found.plan));
    }
    if exact::is_enumerable(clients, channels, table.epochs()) {
        return Ok(Solution::optimal(
            instance,
            exact::enumerate(instance, &table),
        ));
    }
    let bound = nobody_objective(instance) + found.lower_bound;
    Ok(Solution::new(instance, found.plan, Some(bound)))
}

fn unaffordable(instance: &Instance, what: &str, instead: &str) -> SolveError {
    let (clients, channels) = (instance.clients(), instance.channels);
    SolveError::Unaffordable(format!(
        "U = {clients} clients on C = {channels} channels are too many {what}; use the solver \
         `{instead}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::{evaluate, random_instance};
    use crate::preset::Preset;

    #[test]
    fn beyond_the_quick_sizes_the_optimum_is_still_that_of_an_enumeration() {
        for seed in 0..20 {
            for preset in [Preset::PaperMlp, Preset::PaperCnn] {
                let instance = random_instance(preset, 35, 3, seed);
                let table = Table::new(&instance).unwrap();
                assert!(!exact::is_quick(35, 3, table.epochs()));
                let every = evaluate(&instance, &exact::enumerate(&instance, &table)).total;
                let found = Solver::Exact.solve(&instance, 0).unwrap().evaluation.total;
                let scale = nobody_objective(&instance).abs();
                assert!((found - every).abs() <= 1e-12 * scale, "{preset:?} {seed}");
            }
        }
    }
}
