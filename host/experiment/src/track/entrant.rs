//! Who runs: a scheduler, its transmit power, the server's step, and what of it was tuned.

use serde::Serialize;

use crate::compare::Variant;
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::scenario::{Override, ServerRule};

/// The step at the base station, as far as a track tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// The mean becomes the model, as in the paper.
    Plain,
    /// glean's step.
    Spectral,
}

impl Server {
    /// Returns the server that a scheduler was described with.
    #[must_use]
    pub const fn of(scheduler: Scheduler) -> Self {
        match ServerRule::of(scheduler) {
            ServerRule::Spectral => Self::Spectral,
            _ => Self::Plain,
        }
    }

    /// Returns its word in a scenario.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Spectral => "spectral",
        }
    }

    /// Returns the key that sets how far it goes in a round.
    #[must_use]
    pub const fn knob(self) -> &'static str {
        match self {
            Self::Plain => "learning.learning_rate",
            Self::Spectral => "server.step",
        }
    }
}

fn variant(scheduler: Scheduler, power: Option<BaselinePower>) -> Variant {
    let scheduler = scheduler.into();
    Variant { scheduler, power }
}

/// One line of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entrant {
    /// Who decides which clients train.
    pub scheduler: Scheduler,
    /// The transmit power of a baseline; `None` where the scheduler chooses it.
    pub power: Option<BaselinePower>,
    /// The step at the base station.
    pub server: Server,
    /// The value of [`Server::knob`], where it was tuned.
    pub tuned: Option<f64>,
}

impl Entrant {
    /// Lists schedulers, baselines once per power.
    #[must_use]
    pub fn list(
        schedulers: &[Scheduler],
        powers: &[BaselinePower],
        server: Option<Server>,
    ) -> Vec<Self> {
        let entrants = schedulers.iter().flat_map(|&scheduler| {
            let variants = Variant::list(&[scheduler.into()], powers).into_iter();
            variants.map(move |variant| Self {
                scheduler,
                power: variant.power,
                server: server.unwrap_or(Server::of(scheduler)),
                tuned: None,
            })
        });
        entrants.collect()
    }

    /// Returns the same entrant with its knob set.
    #[must_use]
    pub const fn with_knob(self, value: f64) -> Self {
        Self {
            tuned: Some(value),
            ..self
        }
    }

    /// Returns the word of its power in tables.
    #[must_use]
    pub fn power_word(&self) -> &'static str {
        self.power.map_or("chosen", Into::into)
    }

    /// Returns a name that tells it from the others of a part.
    #[must_use]
    pub fn name(&self) -> String {
        let Self {
            scheduler,
            power,
            server,
            ..
        } = *self;
        let power = variant(scheduler, power).name();
        match server == Server::of(scheduler) {
            true => power,
            false => format!("{power}, {}", server.word()),
        }
    }

    /// Returns what the scenario must change.
    #[must_use]
    pub fn overrides(&self, seed: u64) -> Vec<Override> {
        let Self {
            scheduler,
            power,
            server,
            tuned,
        } = *self;
        let mut overrides = variant(scheduler, power).overrides(seed);
        // `auto` where it means the same, so that runs of (a) and (b) that are the same are one.
        let rule = match server == Server::of(scheduler) {
            true => "auto",
            false => server.word(),
        };
        overrides.push(Override::new("server.rule", rule));
        overrides.extend(tuned.map(|value| Override::new(server.knob(), value)));
        overrides
    }
}
