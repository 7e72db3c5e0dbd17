//! Settings of differential privacy that would promise more than they keep, each refused with the fix.

use strum::VariantArray;

use super::require;
use crate::policy::{Decider, Scheduler};
use crate::scenario::{AggregationRule, NormBound, Scenario, ScenarioError};
use gleaner_learn::aggregate::Rule;
use gleaner_learn::privacy::Mechanism;

/// Checks that the keys go together, and that aggregation and scheduler are covered by epsilon.
pub(super) fn check(s: &Scenario) -> Result<(), ScenarioError> {
    let privacy = &s.privacy;
    for (key, value) in [
        ("privacy.noise_multiplier", privacy.noise_multiplier),
        ("privacy.epsilon", privacy.epsilon),
    ] {
        require(privacy.is_on() || value == 0.0, key, value, || {
            "needs a bound on updates; set privacy.clip, or leave this out".to_owned()
        })?;
    }
    if !privacy.is_on() {
        return Ok(());
    }
    let clients = s.clients.count;
    let below = 1.0 / clients as f64;
    require(
        privacy.delta < below,
        "privacy.delta",
        privacy.delta,
        || format!("one of {clients} clients may then be unprotected; set less than 1 / {clients}"),
    )?;
    let weighs_by_trust = s.aggregation.rule == AggregationRule::Fltrust;
    require(
        s.rule() == Rule::Mean && !weighs_by_trust,
        "aggregation.rule",
        s.aggregation.rule,
        || {
            "has no bounded sensitivity; set aggregation.rule = \"mean\", or privacy.clip = 0"
                .to_owned()
        },
    )?;
    if let NormBound::Factor(factor) = s.aggregation.norm_bound {
        let text = || {
            "follows other clients' lengths; leave it out, privacy.clip bounds updates".to_owned()
        };
        require(false, "aggregation.norm_bound", factor, text)?;
    }
    let sees = match &s.run.scheduler {
        Decider::Own(scheduler) => scheduler.sees_learning(),
        Decider::Process(_) => true,
    };
    require(!sees, "run.scheduler", &s.run.scheduler, || {
        let others = Scheduler::VARIANTS.iter().filter(|it| !it.sees_learning());
        let others: Vec<String> = others.map(ToString::to_string).collect();
        format!(
            "chooses by what clients learned, which no noise covers; set one of {}, or \
             privacy.clip = 0",
            others.join(", ")
        )
    })?;
    check_budget(s)
}

/// Checks that the budget pays for one round.
fn check_budget(s: &Scenario) -> Result<(), ScenarioError> {
    let privacy = &s.privacy;
    if privacy.epsilon == 0.0 {
        return Ok(());
    }
    let multiplier = privacy.noise_multiplier;
    require(multiplier > 0.0, "privacy.epsilon", privacy.epsilon, || {
        "no noise keeps no budget; set privacy.noise_multiplier".to_owned()
    })?;
    let participants = s.radio.channels.min(s.clients.count);
    let mechanism = match s.run.scheduler == Scheduler::Random {
        true => Mechanism::sampled(multiplier, participants, s.clients.count),
        false => Mechanism::gaussian(multiplier),
    };
    let first = mechanism.epsilon(1, privacy.delta);
    require(
        first <= privacy.epsilon,
        "privacy.epsilon",
        privacy.epsilon,
        || {
            format!(
                "one round spends {first:.3} with privacy.noise_multiplier = {multiplier}; raise \
                 one of them"
            )
        },
    )
}
