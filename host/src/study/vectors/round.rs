//! Vectors of the bound and of one round's problem.

use super::compare::Case;
use gleaner_cre::bound::{Heterogeneity, LossBound, a1, a2, participation_weights, weights};
use gleaner_cre::json::JsonError;
use gleaner_cre::optim::epochs::{best_epochs, common_limit, unconstrained};
use gleaner_cre::optim::inner::{self, Pair};
use gleaner_cre::optim::json::parse_instance;
use gleaner_cre::optim::power::{PowerCase, best_power};
use gleaner_cre::optim::{
    Instance, Plan, Solver, Upload, evaluate, nobody_objective, slope_by_epochs,
};

pub(super) fn bound(case: &mut Case) -> Result<(), JsonError> {
    let f = &mut case.fields;
    let (samples, delta) = (f.counts("D")?, f.numbers("delta")?);
    let clients: Vec<usize> = f
        .counts("clients")?
        .into_iter()
        .map(|i| i as usize)
        .collect();
    if let Some(client) = clients.iter().find(|&&i| i >= samples.len()) {
        let problem = format!("clients names {client}, D has {} entries", samples.len());
        return Err(JsonError::new(f.place(), problem));
    }
    let model = LossBound {
        eta: f.number("eta")?,
        beta: f.number("beta")?,
        rho: f.number("rho")?,
        b1: f.number("B1")?,
        gap: f.number("F_gap")?,
    };
    let tau = f64::from(f.count("tau")?);
    let (all, part) = (weights(&samples), participation_weights(&samples, &clients));
    let of = Heterogeneity {
        a1: a1(&part, &delta),
        a2: a2(&all, &part, &delta),
    };
    let parts = model.corollary1(&of, tau);
    let largest = delta.iter().copied().fold(0.0, f64::max);
    let growth = model.rho / model.beta * of.a1;
    case.expect_all("w", &all, 0.0)?;
    case.expect_all("w_tilde", &part, 0.0)?;
    case.expect_within("A1", of.a1, largest)?;
    case.expect_within("A2", of.a2, largest * largest)?;
    case.expect("A3", model.a3(of.a2))?;
    case.expect_within("drift", parts.drift, growth)?;
    case.expect("linear", parts.linear)?;
    case.expect("convergence", parts.convergence)?;
    case.expect("bound", parts.total())?;
    case.expect("theorem2", model.theorem2(model.a3(of.a2), tau))?;
    case.expect_within("model_gap", model.model_gap(of.a1, tau), of.a1 / model.beta)
}

pub(super) fn objective(case: &mut Case) -> Result<(), JsonError> {
    let instance = instance_of(case)?;
    let uploads = uploads_of(case, &instance)?;
    let plan = Plan {
        epochs: case.fields.count("tau")?,
        uploads,
    };
    let found = evaluate(&instance, &plan);
    let term = largest_term(&instance, &found);
    case.expect_all("q_j", &found.balance_j, instance.income_j)?;
    case.expect_within("J", found.total, term)?;
    let unit = instance.energy_unit_j;
    let squares: f64 = plan
        .uploads
        .iter()
        .map(|u| (instance.queue_j[u.client] / unit).powi(2))
        .sum();
    case.expect_within("J2", found.total + squares, term.max(squares))?;
    let slope = |tau| slope_by_epochs(&instance, &plan.uploads, tau);
    let steep = slope_term(&instance, &plan.uploads, f64::from(plan.epochs));
    case.expect_within("dJ_dtau", slope(f64::from(plan.epochs)), steep)?;
    case.expect_within("dJ_dtau_0", slope(0.0), steep)?;
    case.expect_within("J_nobody", nobody_objective(&instance), term)
}

pub(super) fn tau_star(case: &mut Case) -> Result<(), JsonError> {
    let instance = instance_of(case)?;
    let uploads = uploads_of(case, &instance)?;
    case.expect("tau_unconstrained", unconstrained(&instance, &uploads))?;
    case.expect_within("tau_cap", common_limit(&instance, &uploads), 1.0)?;
    case.expect("tau_star", best_epochs(&instance, &uploads))?;
    let steep = slope_term(&instance, &uploads, 0.0);
    case.expect_within(
        "dJ_dtau_0",
        slope_by_epochs(&instance, &uploads, 0.0),
        steep,
    )
}

pub(super) fn p_star(case: &mut Case) -> Result<(), JsonError> {
    let instance = instance_of(case)?;
    let f = &mut case.fields;
    let pair = vec![f.count("channel")?, f.count("client")?];
    let Pair { client, channel } = pair_of(f.place(), &instance, &pair)?;
    let tau = f64::from(f.count("tau")?);
    let expected = f.text("case")?;
    let choice = best_power(&instance, client, channel, tau);
    let name = match choice.case {
        PowerCase::Min => "min",
        PowerCase::Interior => "interior",
        PowerCase::Max => "max",
    };
    case.expect_equal("case", &name.to_owned(), &expected);
    case.expect("p_min_w", choice.p_min_w)?;
    case.expect("e_min_j", choice.e_min_j)?;
    case.expect("e_max_j", choice.e_max_j)?;
    case.expect_within("e_target_j", choice.e_target_j, instance.income_j)?;
    case.expect("p_star_w", choice.power_w)
}

pub(super) fn inner(case: &mut Case) -> Result<(), JsonError> {
    let instance = instance_of(case)?;
    let pairs = pairs_of(case, &instance)?;
    let limit = inner::most_epochs(&instance, &pairs);
    let best = inner::solve(&instance, &pairs);
    let feasible = case.fields.flag("feasible")?;
    case.expect_equal("feasible", &best.is_some(), &feasible);
    let tau_limit = case.fields.count("tau_limit")?;
    case.expect_equal("tau_limit", &limit, &tau_limit);
    expect_plan(case, &instance, &pairs, best.as_ref(), "")?;
    let start = inner::at_full_power(&instance, &pairs);
    let end = inner::alternate(&instance, &start);
    let mut fields = case.fields.object("alternating")?;
    std::mem::swap(&mut fields, &mut case.fields);
    expect_plan(case, &instance, &pairs, end.as_ref(), "alternating ")?;
    std::mem::swap(&mut fields, &mut case.fields);
    fields.finish()
}

/// Compares `tau`, `p_w` (in the order of the assignment) and `J`; all null without a plan.
fn expect_plan(
    case: &mut Case,
    instance: &Instance,
    pairs: &[Pair],
    plan: Option<&Plan>,
    what: &str,
) -> Result<(), JsonError> {
    let total = plan.map(|plan| evaluate(instance, plan));
    let expected = case.fields.number_or_null("J")?;
    let (Some(plan), Some(found), Some(expected)) = (plan, &total, expected) else {
        let actual = total.map(|found| found.total);
        case.expect_equal(&format!("{what}J"), &actual, &expected);
        case.fields.skip("tau");
        case.fields.skip("p_w");
        return Ok(());
    };
    case.compare(
        &format!("{what}J"),
        found.total,
        expected,
        largest_term(instance, found),
    );
    let tau = case.fields.count("tau")?;
    case.expect_equal(&format!("{what}tau"), &plan.epochs, &tau);
    let powers: Vec<f64> = pairs.iter().map(|pair| power_of(plan, pair)).collect();
    let listed = case.fields.numbers("p_w")?;
    case.compare_all(&format!("{what}p_w"), &powers, &listed, 0.0);
    Ok(())
}

pub(super) fn round_problem(case: &mut Case) -> Result<(), JsonError> {
    case.fields.skip("name");
    case.fields.skip("J_second");
    let instance = instance_of(case)?;
    let place = case.fields.place().to_owned();
    let solution = Solver::Exact
        .solve(&instance, 0)
        .map_err(|error| JsonError::new(place, error.to_string()))?;
    let found = &solution.evaluation;
    let term = largest_term(&instance, found);
    case.expect_within("J", found.total, term)?;
    case.expect_within("J_nobody", nobody_objective(&instance), term)?;
    let unique = case.fields.flag("unique")?;
    let tau = case.fields.count("tau")?;
    let pairs = pairs_of(case, &instance)?;
    let powers = case.fields.numbers("p_w")?;
    if unique {
        case.expect_equal("tau", &solution.plan.epochs, &tau);
        let mut expected: Vec<(usize, usize)> = pairs
            .iter()
            .map(|pair| (pair.client, pair.channel))
            .collect();
        expected.sort_unstable();
        let actual: Vec<(usize, usize)> = solution
            .plan
            .uploads
            .iter()
            .map(|u| (u.client, u.channel))
            .collect();
        case.expect_equal("assign", &actual, &expected);
        let own: Vec<f64> = pairs
            .iter()
            .map(|pair| power_of(&solution.plan, pair))
            .collect();
        case.compare_all("p_w", &own, &powers, 0.0);
    }
    Ok(())
}

fn instance_of(case: &mut Case) -> Result<Instance, JsonError> {
    parse_instance(case.fields.object("inst")?)
}

fn pairs_of(case: &mut Case, instance: &Instance) -> Result<Vec<Pair>, JsonError> {
    let rows = case.fields.count_matrix("assign")?;
    let mut pairs: Vec<Pair> = Vec::with_capacity(rows.len());
    for row in &rows {
        let pair = pair_of(case.fields.place(), instance, row)?;
        if pairs
            .iter()
            .any(|p| p.client == pair.client || p.channel == pair.channel)
        {
            let problem = format!("assign: client or channel of {row:?} is given twice");
            return Err(JsonError::new(case.fields.place(), problem));
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

fn pair_of(place: &str, instance: &Instance, row: &[u32]) -> Result<Pair, JsonError> {
    match *row {
        [channel, client]
            if (channel as usize) < instance.channels && (client as usize) < instance.clients() =>
        {
            Ok(Pair {
                client: client as usize,
                channel: channel as usize,
            })
        }
        _ => {
            let problem = format!("assign: {row:?} is no [channel, client] of the instance");
            Err(JsonError::new(place, problem))
        }
    }
}

fn uploads_of(case: &mut Case, instance: &Instance) -> Result<Vec<Upload>, JsonError> {
    let pairs = pairs_of(case, instance)?;
    let powers = case.fields.numbers("p_w")?;
    let uploads = pairs.iter().zip(powers);
    Ok(uploads
        .map(|(pair, power_w)| Upload {
            client: pair.client,
            channel: pair.channel,
            power_w,
        })
        .collect())
}

fn power_of(plan: &Plan, pair: &Pair) -> f64 {
    let upload = plan.uploads.iter().find(|u| u.client == pair.client);
    upload.map_or(f64::NAN, |upload| upload.power_w)
}

/// Returns the largest term J is summed from.
fn largest_term(instance: &Instance, found: &gleaner_cre::optim::Evaluation) -> f64 {
    let unit = instance.energy_unit_j;
    let terms = found.balance_j.iter().zip(&instance.queue_j);
    let energy = terms.map(|(q, z)| (q / unit).powi(2).max((2.0 * q * z / unit / unit).abs()));
    energy.fold(found.penalty.abs(), f64::max)
}

/// Returns the largest term dJ/dtau is summed from.
fn slope_term(instance: &Instance, uploads: &[Upload], tau: f64) -> f64 {
    let unit = instance.energy_unit_j;
    let bound = instance.bound;
    let fall = instance.v * bound.k() * bound.gap * bound.gap / 2.0;
    uploads
        .iter()
        .map(|u| {
            let epoch = instance.epoch_j[u.client] / unit;
            let most = instance.queue_j[u.client].max(instance.income_j) / unit;
            2.0 * epoch * most.max(tau * epoch)
        })
        .fold(fall, f64::max)
}
