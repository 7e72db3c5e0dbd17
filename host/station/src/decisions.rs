//! The decisions of a scheduler program, from the log of its run: a replay takes the logged orders and
//! starts nothing, whatever the directory of the run names.

use std::collections::BTreeMap;

use gleaner_sim::policy::process::decision_of;
use gleaner_sim::policy::{Decision, Order, Policy, PolicyError, View};
use gleaner_sim::run::Program;

/// A scheduler that repeats logged orders.
pub struct LoggedDecisions {
    rounds: BTreeMap<u32, Vec<Order>>,
    command: String,
    name: Option<String>,
    nova: bool,
}

impl LoggedDecisions {
    /// Repeats the orders of a program by round.
    pub(crate) fn new(rounds: BTreeMap<u32, Vec<Order>>, program: &Program) -> Self {
        Self {
            rounds,
            command: program.command.clone(),
            name: Some(program.name.clone()).filter(|name| !name.is_empty()),
            nova: program.nova,
        }
    }
}

impl Policy for LoggedDecisions {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        let orders = self.rounds.get(&view.round).map_or(&[][..], Vec::as_slice);
        let decision = decision_of(view.instance, view.round, orders);
        decision.map_err(|source| PolicyError::Process {
            command: self.command.clone(),
            source,
        })
    }

    /// Boards have a round 0 only under a program that wants estimates.
    fn wants_estimates(&self) -> bool {
        self.rounds.contains_key(&0)
    }

    fn wants_nova(&self) -> bool {
        self.nova
    }

    fn name(&self) -> Option<String> {
        self.name.clone()
    }
}
