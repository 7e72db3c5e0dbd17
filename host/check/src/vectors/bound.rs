//! Vectors of the upper bound on the loss.

use gleaner_cre::bound::{Heterogeneity, LossBound, a1, a2, participation_weights, weights};
use serde::Deserialize;

use super::compare::{Comparison, Tolerance};
use super::{Unfit, Vector};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bound {
    #[serde(rename = "D")]
    samples: Vec<u32>,
    delta: Vec<f64>,
    clients: Vec<usize>,
    eta: f64,
    beta: f64,
    rho: f64,
    #[serde(rename = "B1")]
    b1: f64,
    #[serde(rename = "F_gap")]
    gap: f64,
    tau: u32,
    w: Vec<f64>,
    w_tilde: Vec<f64>,
    #[serde(rename = "A1")]
    a1: f64,
    #[serde(rename = "A2")]
    a2: f64,
    #[serde(rename = "A3")]
    a3: f64,
    drift: f64,
    linear: f64,
    convergence: f64,
    bound: f64,
    theorem2: f64,
    model_gap: f64,
}

impl Vector for Bound {
    fn check(&self, found: &mut Comparison) -> Result<(), Unfit> {
        let clients = self.samples.len();
        if let Some(client) = self.clients.iter().find(|&&i| i >= clients) {
            return Err(format!("clients names {client}, D has {clients} entries").into());
        }
        let model = LossBound {
            eta: self.eta,
            beta: self.beta,
            rho: self.rho,
            b1: self.b1,
            gap: self.gap,
        };
        let tau = f64::from(self.tau);
        let all = weights(&self.samples);
        let part = participation_weights(&self.samples, &self.clients);
        let of = Heterogeneity {
            a1: a1(&part, &self.delta),
            a2: a2(&all, &part, &self.delta),
        };
        let a3 = model.a3(of.a2);
        let parts = model.corollary1(&of, tau);
        let largest = self.delta.iter().copied().fold(0.0, f64::max);
        let term = Tolerance::double_of;
        found.list("w", &all, &self.w, Tolerance::double());
        found.list("w_tilde", &part, &self.w_tilde, Tolerance::double());
        found.within("A1", of.a1, self.a1, term(largest));
        found.within("A2", of.a2, self.a2, term(largest * largest));
        found.number("A3", a3, self.a3);
        let growth = term(model.rho / model.beta * of.a1);
        found.within("drift", parts.drift, self.drift, growth);
        found.number("linear", parts.linear, self.linear);
        found.number("convergence", parts.convergence, self.convergence);
        found.number("bound", parts.total(), self.bound);
        found.number("theorem2", model.theorem2(a3, tau), self.theorem2);
        let gap = model.model_gap(of.a1, tau);
        found.within("model_gap", gap, self.model_gap, term(of.a1 / model.beta));
        Ok(())
    }
}
