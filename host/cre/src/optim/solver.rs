//! The solvers by name.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};
use thiserror::Error;

use super::large::{self, Effort, Found};
use super::table::Table;
use super::{
    Instance, InstanceError, Plan, Solution, anneal, check, exact, nobody_objective, paper,
};

/// A solver of the round problem P2.
///
/// ```
/// use gleaner_cre::optim::{Solver, nobody_objective, random_instance};
/// use gleaner_cre::system::System;
///
/// let instance = random_instance(&System::paper_mlp(), 10, 3, 1);
/// let exact = Solver::Exact.solve(&instance, 0)?;
/// let anneal = Solver::Anneal.solve(&instance, 0)?;
/// assert!(exact.evaluation.total <= anneal.evaluation.total);
/// assert!(exact.evaluation.total <= nobody_objective(&instance));
/// # Ok::<(), gleaner_cre::optim::SolveError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Solver {
    /// exact while affordable, then large, then anneal
    Auto,
    /// the proven optimum, for small rounds
    Exact,
    /// a good plan at any size, with a proven gap
    Large,
    /// Algorithm 2 repaired: simulated annealing over assignments
    Anneal,
    /// Algorithms 1 and 2 as printed
    Paper,
}

/// Error of a solver.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The instance is invalid.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The round is too large for the solver; the message names another one.
    #[error("{0}")]
    Unaffordable(String),
}

impl Solver {
    /// Solves a round. `seed` drives the randomised solvers and is ignored by the others.
    ///
    /// # Errors
    /// Returns [`SolveError::Instance`] for an invalid field and [`SolveError::Unaffordable`] for a
    /// round that is too large. A round without possible participants has the empty plan.
    pub fn solve(self, instance: &Instance, seed: u64) -> Result<Solution, SolveError> {
        instance.validate()?;
        let solution = match self {
            Self::Auto => return solve_as_affordable(instance, seed),
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

/// Uses the first solver that is affordable at this size.
fn solve_as_affordable(instance: &Instance, seed: u64) -> Result<Solution, SolveError> {
    for solver in [Solver::Exact, Solver::Large] {
        match solver.solve(instance, seed) {
            Err(SolveError::Unaffordable(_)) => {}
            answer => return answer,
        }
    }
    Solver::Anneal.solve(instance, seed)
}

/// Result of a search by bounds: a proven optimum, or a plan with a lower bound.
enum Bounded {
    Best(Plan),
    Open(Found),
}

/// Searches by bounds; if they stay open, enumerates every plan where that is affordable.
fn solve_by_bounds(instance: &Instance, table: &Table, effort: Effort) -> Bounded {
    let found = large::solve(instance, table, effort);
    if found.closed {
        Bounded::Best(found.plan)
    } else if is_enumerable(instance, table) {
        Bounded::Best(exact::enumerate(instance, table))
    } else {
        Bounded::Open(found)
    }
}

fn is_enumerable(instance: &Instance, table: &Table) -> bool {
    exact::is_enumerable(instance.clients(), instance.channels, table.epochs())
}

fn solve_exactly(instance: &Instance) -> Result<Solution, SolveError> {
    let (clients, channels) = (instance.clients(), instance.channels);
    let plan = match Table::new(instance) {
        Some(table) if exact::is_quick(clients, channels, table.epochs()) => {
            exact::enumerate(instance, &table)
        }
        Some(table) => {
            // A round that can be enumerated needs no expensive proof by bounds.
            let effort = match is_enumerable(instance, &table) {
                true => Effort::ROUND,
                false => Effort::PROOF,
            };
            match solve_by_bounds(instance, &table, effort) {
                Bounded::Best(plan) => plan,
                Bounded::Open(_) => {
                    return Err(unaffordable(instance, "to prove an optimum", "large"));
                }
            }
        }
        None if exact::is_enumerable(clients, channels, EPOCHS_BY_BISECTION) => {
            exact::enumerate_assignments(instance)
        }
        None => return Err(unaffordable(instance, "with so many epochs", "anneal")),
    };
    Ok(Solution::optimal(instance, plan))
}

/// Cost of a bisection over tau, in epochs of a table.
const EPOCHS_BY_BISECTION: usize = 512;

fn solve_large(instance: &Instance) -> Result<Solution, SolveError> {
    let Some(table) = Table::new(instance) else {
        return Err(unaffordable(instance, "with so many epochs", "anneal"));
    };
    Ok(match solve_by_bounds(instance, &table, Effort::ROUND) {
        Bounded::Best(plan) => Solution::optimal(instance, plan),
        Bounded::Open(found) => {
            let bound = nobody_objective(instance) + found.lower_bound;
            Solution::new(instance, found.plan, Some(bound))
        }
    })
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
    use crate::system::System;

    #[test]
    fn beyond_the_quick_sizes_the_optimum_equals_an_enumeration() {
        for seed in 0..20 {
            for system in [System::paper_mlp(), System::paper_cnn()] {
                let instance = random_instance(&system, 35, 3, seed);
                let table = Table::new(&instance).unwrap();
                assert!(!exact::is_quick(35, 3, table.epochs()));
                let every = evaluate(&instance, &exact::enumerate(&instance, &table)).total;
                let found = Solver::Exact.solve(&instance, 0).unwrap().evaluation.total;
                let scale = nobody_objective(&instance).abs();
                assert!((found - every).abs() <= 1e-12 * scale, "{system:?} {seed}");
            }
        }
    }
}
