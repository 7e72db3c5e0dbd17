//! Differential privacy of a round: the bounded mean, its noise, and the epsilon spent so far.
//!
//! A round counts for every client that had an order in it, whether or not an update came back: with
//! other data it might have. Noise is added in every such round.

use blake3::Hasher;
use gleaner_learn::aggregate::Contribution;
use gleaner_learn::privacy::{BoundedMean, Mechanism, add_noise};
use gleaner_shared::rng::{Purpose, Rng};
use serde::{Deserialize, Serialize};

use super::record::{Anomaly, PrivacyRow};
use crate::ClientId;
use crate::policy::Scheduler;
use crate::scenario::Scenario;

/// Squared length, over that of the bound, which rounding gives to an honest update at most: 1, and
/// six standard deviations of its products with the update and of its own square.
const ROUNDED: f64 = 1.1;
/// Twice the largest code of an update.
const CODES: f64 = 254.0;

/// The secret key of a run's noise: 32 bytes of the system's randomness.
#[derive(Clone, PartialEq, Eq)]
pub struct NoiseKey(pub [u8; 32]);

impl std::fmt::Debug for NoiseKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NoiseKey(..)")
    }
}

/// What the checkpoint keeps of the privacy spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spent {
    /// Rounds with orders, each with noise of its own.
    rounds: u32,
    /// Orders of each client.
    orders: Vec<u32>,
}

impl Spent {
    /// Counts a round with orders to these clients.
    fn note(&mut self, clients: impl IntoIterator<Item = ClientId>) {
        let mut any = false;
        for client in clients {
            any = true;
            let at = client.index();
            if self.orders.len() <= at {
                self.orders.resize(at + 1, 0);
            }
            self.orders[at] = self.orders[at].saturating_add(1);
        }
        self.rounds = self.rounds.saturating_add(u32::from(any));
    }

    /// Returns the orders of the client with the most.
    fn most_orders(&self) -> u32 {
        self.orders.iter().copied().max().unwrap_or(0)
    }
}

/// Differential privacy as a scenario sets it.
#[derive(Clone, Debug)]
pub(super) struct Privacy {
    mean: BoundedMean,
    /// Standard deviation of the noise on every parameter.
    deviation: f64,
    /// The mechanism of a round for whoever knows its participants; `None` without noise.
    known: Option<Mechanism>,
    /// The mechanism of a round whose participants are a secret draw; only where they are drawn.
    drawn: Option<Mechanism>,
    delta: f64,
    budget: Option<f64>,
    noise: Noise,
}

/// The source of the noise.
#[derive(Clone, Debug)]
enum Noise {
    /// The seed of the run.
    Seed(u64),
    /// A secret of the run.
    Key(NoiseKey),
}

impl Privacy {
    /// Returns the settings of a scenario; `None` where it asks for no privacy. With a `key` the noise
    /// follows from that instead of the seed.
    pub(super) fn of(scenario: &Scenario, key: Option<NoiseKey>) -> Option<Self> {
        let settings = &scenario.privacy;
        if !settings.is_on() {
            return None;
        }
        let clients = scenario.clients.count;
        let participants = scenario.radio.channels.min(clients);
        let full_samples = match settings.full_samples {
            0 => scenario.partition.mean_samples.round().max(1.0) as u32,
            samples => u32::try_from(samples).unwrap_or(u32::MAX),
        };
        let mean = BoundedMean {
            bound: settings.bound().to_real(),
            full_samples,
            participants: u32::try_from(participants).unwrap_or(u32::MAX),
        };
        let multiplier = settings.noise_multiplier;
        let has_noise = multiplier > 0.0;
        let is_drawn = scenario.run.scheduler == Scheduler::Random;
        Some(Self {
            mean,
            deviation: multiplier * mean.sensitivity(),
            known: has_noise.then(|| Mechanism::gaussian(multiplier)),
            drawn: (has_noise && is_drawn)
                .then(|| Mechanism::sampled(multiplier, participants, clients)),
            delta: settings.delta,
            budget: (settings.epsilon > 0.0).then_some(settings.epsilon),
            noise: key.map_or(Noise::Seed(scenario.run.seed), Noise::Key),
        })
    }

    /// Returns the seed of the scheduler's draws, given the seed of the run. Where epsilon counts on draws
    /// that stay secret and the noise has a secret, they follow from that: every client is told the seed
    /// of the run.
    pub(super) fn draw_seed(&self, seed: u64) -> u64 {
        match (&self.drawn, &self.noise) {
            (Some(_), Noise::Key(NoiseKey(key))) => {
                let mut bytes = [0; 8];
                let mut hasher = Hasher::new_keyed(key);
                hasher
                    .update(b"gleaner draws")
                    .finalize_xof()
                    .fill(&mut bytes);
                u64::from_le_bytes(bytes)
            }
            _ => seed,
        }
    }

    /// Names updates that rounding cannot have made so much longer than the bound.
    pub(super) fn overlong(
        &self,
        start: &[f32],
        updates: &[(usize, Contribution<'_>)],
    ) -> Vec<Anomaly> {
        let parameters = start.len() as f64;
        let most = (ROUNDED + parameters / (CODES * CODES)).sqrt();
        let anomaly = |(client, update): &(usize, Contribution<'_>)| {
            let times = update.length(start) / self.mean.bound;
            (times > most).then(|| Anomaly {
                client: ClientId::at(*client),
                what: format!("an update {times:.1} times as long as the bound of its order"),
            })
        };
        updates.iter().filter_map(anomaly).collect()
    }

    /// Returns the mean movement of a round with noise, and counts the round for the clients with an
    /// order; without orders there is neither movement nor noise.
    pub(super) fn movement(
        &self,
        spent: &mut Spent,
        round: u32,
        ordered: impl IntoIterator<Item = ClientId>,
        start: &[f32],
        updates: &[(usize, Contribution<'_>)],
    ) -> Vec<f64> {
        let before = spent.rounds;
        spent.note(ordered);
        let updates: Vec<_> = updates.iter().map(|(_, update)| *update).collect();
        let mut movement = self.mean.movement(start, &updates);
        if spent.rounds > before && self.deviation > 0.0 {
            self.noise.add(round, self.deviation, &mut movement);
        }
        movement
    }

    /// Returns what the log says of the privacy spent; nothing without noise.
    pub(super) fn row(&self, spent: &Spent) -> Option<PrivacyRow> {
        let known = self.known.as_ref()?;
        let most_orders = spent.most_orders();
        let if_known = known.epsilon(most_orders, self.delta);
        let drawn = self.drawn.as_ref();
        let drawn = drawn.map(|drawn| drawn.epsilon(spent.rounds, self.delta));
        Some(PrivacyRow {
            epsilon: drawn.unwrap_or(if_known),
            delta: self.delta,
            epsilon_if_known: drawn.map(|_| if_known),
            most_orders,
        })
    }

    /// Says whether one more order to the client with the most would exceed the budget.
    pub(super) fn is_exhausted(&self, spent: &Spent) -> bool {
        let next = match (&self.drawn, &self.known) {
            (Some(drawn), _) => drawn.epsilon(spent.rounds.saturating_add(1), self.delta),
            (None, Some(known)) => known.epsilon(spent.most_orders().saturating_add(1), self.delta),
            (None, None) => return false,
        };
        self.budget.is_some_and(|budget| next > budget)
    }
}

impl Noise {
    /// Adds the noise of a round.
    fn add(&self, round: u32, deviation: f64, values: &mut [f64]) {
        match self {
            Self::Seed(seed) => {
                let mut rng = Rng::stream(*seed, Purpose::Noise, 0, round);
                add_noise(values, deviation, || rng.next_u64());
            }
            Self::Key(NoiseKey(key)) => {
                // A keyed hash as a generator: the published models do not lead to its state. It takes the
                // mean too: a round that is repeated after a crash may have other updates, and two models
                // with the same noise would tell their difference.
                let mut hasher = Hasher::new_keyed(key);
                hasher.update(b"gleaner noise").update(&round.to_le_bytes());
                for value in values.iter() {
                    hasher.update(&value.to_le_bytes());
                }
                let mut stream = hasher.finalize_xof();
                add_noise(values, deviation, || {
                    let mut bytes = [0; 8];
                    stream.fill(&mut bytes);
                    u64::from_le_bytes(bytes)
                });
            }
        }
    }
}
