//! Vectors of whole plans: of a fixed assignment, and of a whole round.

use gleaner_cre::optim::inner::{self, Pair};
use gleaner_cre::optim::{Instance, Plan, Solver, evaluate, nobody_objective};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::assign::{largest_term, pairs, powers};
use super::compare::{Comparison, Tolerance};
use super::{Unfit, Vector};
use crate::json::nullable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inner {
    inst: Instance,
    assign: Vec<Vec<usize>>,
    feasible: bool,
    tau_limit: u32,
    #[serde(rename = "J", deserialize_with = "nullable")]
    total: Option<f64>,
    tau: Option<u32>,
    p_w: Option<Vec<f64>>,
    alternating: Expected,
}

/// The plan a vector expects; all null without one.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(rename = "J", deserialize_with = "nullable")]
    total: Option<f64>,
    tau: Option<u32>,
    p_w: Option<Vec<f64>>,
}

impl Vector for Inner {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let instance = &self.inst;
        let pairs = pairs(instance, &self.assign)?;
        let limit = inner::most_epochs(instance, &pairs);
        let best = inner::solve(instance, &pairs);
        found.equal("feasible", &best.is_some(), &self.feasible);
        found.equal("tau_limit", &limit, &self.tau_limit);
        let expected = Expected {
            total: self.total,
            tau: self.tau,
            p_w: self.p_w.clone(),
        };
        compare_plans(found, instance, &pairs, best.as_ref(), &expected, "")?;
        let start = inner::at_full_power(instance, &pairs);
        let end = inner::alternate(instance, &start);
        compare_plans(
            found,
            instance,
            &pairs,
            end.as_ref(),
            &self.alternating,
            "alternating ",
        )
    }
}

/// Compares `J`, `tau` and `p_w`, the latter in the order of the assignment.
fn compare_plans(
    found: &mut Comparison,
    instance: &Instance,
    pairs: &[Pair],
    plan: Option<&Plan>,
    expected: &Expected,
    what: &str,
) -> Result<(), Unfit> {
    let judged = plan.map(|plan| evaluate(instance, plan));
    let (Some(plan), Some(judged), Some(total)) = (plan, &judged, expected.total) else {
        let actual = judged.map(|judged| judged.total);
        found.equal(&format!("{what}J"), &actual, &expected.total);
        return Ok(());
    };
    let (Some(tau), Some(listed)) = (expected.tau, &expected.p_w) else {
        return Err(format!("{what}J is a number: tau and p_w are needed too").into());
    };
    let term = Tolerance::double_of(largest_term(instance, judged));
    found.within(&format!("{what}J"), judged.total, total, term);
    found.equal(&format!("{what}tau"), &plan.epochs, &tau);
    let powers = powers(plan, pairs);
    found.list(&format!("{what}p_w"), &powers, listed, Tolerance::double());
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoundProblem {
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
    inst: Instance,
    #[serde(rename = "J")]
    total: f64,
    #[serde(rename = "J_nobody")]
    nobody: f64,
    #[serde(rename = "J_second")]
    _second: Option<IgnoredAny>,
    unique: bool,
    tau: u32,
    assign: Vec<Vec<usize>>,
    p_w: Vec<f64>,
}

impl Vector for RoundProblem {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let instance = &self.inst;
        let solution = Solver::Exact
            .solve(instance, 0)
            .map_err(|error| error.to_string())?;
        let (plan, judged) = (&solution.plan, &solution.evaluation);
        let term = Tolerance::double_of(largest_term(instance, judged));
        found.within("J", judged.total, self.total, term);
        found.within("J_nobody", nobody_objective(instance), self.nobody, term);
        let pairs = pairs(instance, &self.assign)?;
        if !self.unique {
            return Ok(());
        }
        found.equal("tau", &plan.epochs, &self.tau);
        let mut expected: Vec<(usize, usize)> = pairs
            .iter()
            .map(|pair| (pair.client, pair.channel))
            .collect();
        expected.sort_unstable();
        let actual: Vec<(usize, usize)> =
            plan.uploads.iter().map(|u| (u.client, u.channel)).collect();
        found.equal("assign", &actual, &expected);
        let powers = powers(plan, &pairs);
        found.list("p_w", &powers, &self.p_w, Tolerance::double());
        Ok(())
    }
}
