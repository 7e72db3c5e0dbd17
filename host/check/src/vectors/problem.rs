//! Vectors of one round's objective and of its two closed forms.

use gleaner_cre::optim::epochs::{best_epochs, common_limit, unconstrained};
use gleaner_cre::optim::power::{PowerCase, best_power};
use gleaner_cre::optim::{Instance, Plan, evaluate, nobody_objective, slope_by_epochs};
use serde::Deserialize;

use super::assign::{largest_term, pair, slope_term, uploads};
use super::compare::{Comparison, Tolerance};
use super::{Unfit, Vector};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Objective {
    inst: Instance,
    assign: Vec<Vec<usize>>,
    tau: u32,
    p_w: Vec<f64>,
    q_j: Vec<f64>,
    #[serde(rename = "J")]
    total: f64,
    #[serde(rename = "J2")]
    total2: f64,
    #[serde(rename = "dJ_dtau")]
    slope: f64,
    #[serde(rename = "dJ_dtau_0")]
    slope_at_0: f64,
    #[serde(rename = "J_nobody")]
    nobody: f64,
}

impl Vector for Objective {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let instance = &self.inst;
        let plan = Plan {
            epochs: self.tau,
            uploads: uploads(instance, &self.assign, &self.p_w)?,
        };
        let judged = evaluate(instance, &plan);
        let term = largest_term(instance, &judged);
        let most = |numbers: &[f64]| numbers.iter().copied().fold(0.0, f64::max);
        let (small, large) = (most(&instance.income_j), Tolerance::double_of(term));
        found.list(
            "q_j",
            &judged.balance_j,
            &self.q_j,
            Tolerance::double_of(small),
        );
        found.within("J", judged.total, self.total, large);
        let unit = instance.energy_unit_j;
        let squares: f64 = plan
            .uploads
            .iter()
            .map(|u| (instance.queue_j[u.client] / unit).powi(2))
            .sum();
        let either = Tolerance::double_of(term.max(squares));
        found.within("J2", judged.total + squares, self.total2, either);
        let tau = f64::from(plan.epochs);
        let slope = |tau| slope_by_epochs(instance, &plan.uploads, tau);
        let steep = Tolerance::double_of(slope_term(instance, &plan.uploads, tau));
        found.within("dJ_dtau", slope(tau), self.slope, steep);
        found.within("dJ_dtau_0", slope(0.0), self.slope_at_0, steep);
        found.within("J_nobody", nobody_objective(instance), self.nobody, large);
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TauStar {
    inst: Instance,
    assign: Vec<Vec<usize>>,
    p_w: Vec<f64>,
    tau_unconstrained: f64,
    tau_cap: f64,
    tau_star: f64,
    #[serde(rename = "dJ_dtau_0")]
    slope_at_0: f64,
}

impl Vector for TauStar {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let instance = &self.inst;
        let uploads = uploads(instance, &self.assign, &self.p_w)?;
        let free = unconstrained(instance, &uploads);
        found.number("tau_unconstrained", free, self.tau_unconstrained);
        let cap = common_limit(instance, &uploads);
        found.within("tau_cap", cap, self.tau_cap, Tolerance::double_of(1.0));
        found.number("tau_star", best_epochs(instance, &uploads), self.tau_star);
        let steep = Tolerance::double_of(slope_term(instance, &uploads, 0.0));
        let slope = slope_by_epochs(instance, &uploads, 0.0);
        found.within("dJ_dtau_0", slope, self.slope_at_0, steep);
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PowerStar {
    inst: Instance,
    channel: usize,
    client: usize,
    tau: u32,
    case: String,
    p_min_w: f64,
    e_min_j: f64,
    e_max_j: f64,
    e_target_j: f64,
    p_star_w: f64,
}

impl Vector for PowerStar {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let instance = &self.inst;
        let pair = pair(instance, &[self.channel, self.client])?;
        let choice = best_power(instance, pair.client, pair.channel, f64::from(self.tau));
        let case = match choice.case {
            PowerCase::Min => "min",
            PowerCase::Interior => "interior",
            PowerCase::Max => "max",
        };
        found.equal("case", &case, &self.case.as_str());
        found.number("p_min_w", choice.p_min_w, self.p_min_w);
        found.number("e_min_j", choice.e_min_j, self.e_min_j);
        found.number("e_max_j", choice.e_max_j, self.e_max_j);
        let income = Tolerance::double_of(instance.income_j[pair.client]);
        found.within("e_target_j", choice.e_target_j, self.e_target_j, income);
        found.number("p_star_w", choice.power_w, self.p_star_w);
        Ok(())
    }
}
