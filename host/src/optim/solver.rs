//! The solvers by name, and the one entrance to them.

use thiserror::Error;

use super::table::Table;
use super::{Instance, InstanceError, Plan, Solution, check, exact};

/// A way to solve a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// The optimum, proven.
    Exact,
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
    /// Solves a round. `seed` drives the randomised solvers and is ignored by the others.
    ///
    /// # Errors
    /// [`SolveError::Instance`] names a field that cannot be; [`SolveError::Unaffordable`] says
    /// which solver to take instead. That nobody can take part is an answer, not an error.
    pub fn solve(self, instance: &Instance, _seed: u64) -> Result<Solution, SolveError> {
        instance.validate()?;
        let solution = match self {
            Self::Exact => solve_exactly(instance)?,
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
        Some(table) if table.epochs() == 0 => Plan::nobody(),
        Some(table) if exact::is_enumerable(clients, channels, table.epochs()) => {
            exact::enumerate(instance, &table)
        }
        None if exact::is_enumerable(clients, channels, 64) => {
            exact::enumerate_assignments(instance)
        }
        _ => {
            return Err(SolveError::Unaffordable(format!(
                "U = {clients} clients on C = {channels} channels are too many to solve exactly; \
                 use the solver `large`, which proves how good its answer is"
            )));
        }
    };
    let mut solution = Solution::new(instance, plan, None);
    solution.lower_bound = Some(solution.evaluation.total);
    Ok(solution)
}
