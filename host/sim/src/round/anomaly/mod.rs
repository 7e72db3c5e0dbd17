//! Detection of anomalous updates: unusable models, steps much longer than those of the others or
//! opposed to them, losses out of proportion.
//!
//! An anomaly is reported in the round's line and is not proof of an attack: unusual data make an
//! honest client stand out, too. Unusable models are refused, absurd losses are bounded, and the
//! estimates ignore overlong steps. Earlier reports are part of `Knowledge`, so that a resumed run
//! finds the same anomalies as an uninterrupted one.

mod loss;
mod model;
mod step;

pub(super) use model::{Unusable, unusable};

use super::Engine;
use super::fleet::Update;
use super::knowledge::Seen;
use super::record::Anomaly;
use crate::ClientId;

/// An update under examination.
#[derive(Debug)]
pub(super) struct Heard<'a> {
    pub(super) client: ClientId,
    pub(super) epochs: u32,
    pub(super) update: &'a mut Update,
}

/// The anomalies found in the updates of a round.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) anomalies: Vec<Anomaly>,
    /// Clients whose updates the estimates must not learn from.
    pub(super) doubted: Vec<ClientId>,
}

impl Findings {
    /// Returns what the estimates may learn from.
    pub(super) fn credible<'a>(&self, seen: &[Seen<'a>]) -> Vec<Seen<'a>> {
        let credible = |seen: &&Seen<'_>| !self.doubted.contains(&seen.client);
        seen.iter().filter(credible).copied().collect()
    }

    /// Adds an anomaly with a consequence for its update. It replaces that of an overlong update, which
    /// says no more.
    pub(super) fn add(&mut self, anomaly: Anomaly) {
        let client = anomaly.client;
        if self.doubted.contains(&client) {
            self.anomalies
                .retain(|one| one.client != client || !one.what.ends_with(step::LONG));
        } else {
            self.doubted.push(client);
        }
        self.anomalies.push(anomaly);
    }
}

impl Heard<'_> {
    /// Returns the update as the estimates see it.
    pub(super) const fn seen(&self) -> Seen<'_> {
        Seen {
            client: self.client,
            epochs: self.epochs,
            update: self.update,
        }
    }
}

impl Engine<'_> {
    /// Looks at the updates of a round that began with `start`, and bounds the losses reported with
    /// them.
    pub(super) fn examine(&self, start: &[f32], heard: &mut [Heard<'_>]) -> Findings {
        let knowledge = &self.state.knowledge;
        let eta = self.scenario.learning.learning_rate;
        // Updates that are shortened to one bound are no longer after more epochs; those above it are
        // named where it is applied.
        let mut anomalies = match self.privacy {
            Some(_) => Vec::new(),
            None => step::overlong(knowledge.norms(), eta, start, heard),
        };
        let doubted = anomalies.iter().map(|anomaly| anomaly.client).collect();
        anomalies.extend(step::opposed(start, heard));
        anomalies.extend(loss::bound(knowledge.losses(), heard));
        Findings { anomalies, doubted }
    }
}

/// Returns the middle of the values, of two the lower; none of none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    values.get(middle).copied()
}
