//! The weight of every update in the aggregation: bounded by the norm bound, or trusted by the base
//! station's own samples.

use gleaner_learn::aggregate::trust::judge;

use super::Engine;
use super::anomaly::{Findings, Heard, median};
use super::record::Anomaly;
use crate::scenario::AggregationRule;

/// What an update counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weight {
    /// Factor on its length.
    pub(super) scale: f64,
    /// Factor on its weight.
    pub(super) trust: f64,
    /// Why it does not count at all.
    pub(super) untrusted: Option<String>,
}

impl Weight {
    const FULL: Self = Self {
        scale: 1.0,
        trust: 1.0,
        untrusted: None,
    };
}

impl Engine<'_> {
    /// Returns the weights of a round's updates, and adds to its anomalies.
    pub(super) fn weigh(&mut self, heard: &[Heard<'_>], findings: &mut Findings) -> Vec<Weight> {
        let mut weights = vec![Weight::FULL; heard.len()];
        let aggregation = &self.scenario.aggregation;
        // Under differential privacy the bound of the orders holds: one that follows the others' lengths
        // would let one client move the weight of all.
        let factor = aggregation.norm_bound.factor();
        if let Some(factor) = factor.filter(|_| self.privacy.is_none()) {
            let (model, lengths) = (&self.state.model, &mut self.state.lengths);
            let bounded = lengths.bound(factor, model, heard);
            for (weight, bounded) in weights.iter_mut().zip(bounded) {
                weight.scale = bounded.scale;
                bounded.anomaly.into_iter().for_each(|it| findings.add(it));
            }
        }
        if aggregation.rule == AggregationRule::Fltrust {
            for (weight, judged) in weights.iter_mut().zip(self.judged(heard)) {
                *weight = judged;
            }
            for (one, weight) in heard.iter().zip(&weights) {
                let client = one.client;
                let what = weight.untrusted.iter().cloned();
                what.for_each(|what| findings.add(Anomaly { client, what }));
            }
        }
        weights
    }

    /// Weighs updates by the base station's own, of as many epochs as the median participant's.
    fn judged(&self, heard: &[Heard<'_>]) -> Vec<Weight> {
        let start = &self.state.model;
        let epochs = median(heard.iter().map(|one| f64::from(one.epochs)));
        let root = self.examiner.train(start, epochs.map_or(1, |it| it as u32));
        let weight = |one: &Heard<'_>| {
            let verdict = judge(start, root.as_ref().unwrap_or(start), &one.update.model);
            let cosine = verdict.cosine;
            Weight {
                scale: verdict.scale,
                trust: verdict.trust(),
                // One that does not move has the cosine 0 and is against nothing.
                untrusted: (cosine < 0.0).then(|| {
                    format!("an update against the base station's samples: cosine {cosine:.2}")
                }),
            }
        };
        heard.iter().map(weight).collect()
    }
}
