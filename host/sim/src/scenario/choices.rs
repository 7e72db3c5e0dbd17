//! The words of a scenario that belong to no room below; the other words are declared with the
//! concept they name.

use crate::policy::{Decider, Scheduler};
use gleaner_shared::mlp::UploadCode;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// Conditions that end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum StopRule {
    /// the last of its rounds
    Rounds,
    /// the last of its rounds, or `patience` evaluations without a better validation score; the model with the best is kept
    Validation,
}

/// Sources of the estimates of rho, beta, delta and the loss gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Estimates {
    /// exact losses and gradients of last round's participants at the new model
    Oracle,
    /// the uploads of participants, after an introductory round that costs energy
    Uplink,
}

/// Rate models of the radio, which `gleaner_cre::channel::RateModel` implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RateRule {
    /// Shannon's rate, as in the paper
    Shannon,
    /// Shannon's rate up to `max_bits_per_hz` and `max_rate_bps`, uplink and downlink
    Capped,
    /// a transceiver: `levels`, `bit_rates` and `margin_db`; bandwidths and noise have no effect
    Gfsk,
}

/// Counts of the bits of one model transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ModelBits {
    /// the paper's count: 3,781,200 for the CNN, 8 for every parameter of an MLP
    Paper,
    /// 8 bits for every parameter of the network
    Actual,
}

/// Arithmetic of simulated clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ClientKind {
    /// floating point with 32 bits
    Float,
    /// the firmware's own integer code (MLP only)
    FixedPoint,
}

/// Aggregation rules, which `gleaner_learn::aggregate` implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AggregationRule {
    /// the rule of the scheduler's paper: `nova` for `fednova`, `mean` for all others
    Auto,
    /// the mean of models, weighted by samples
    Mean,
    /// the mean of updates divided by their epochs
    Nova,
    /// the mean of updates, each cut to `clip_factor` times the round's median length
    Clip,
    /// the median of each parameter
    Median,
    /// the mean of each parameter without its `hostile` largest and smallest values
    TrimmedMean,
    /// the one model that is closest to its n - `hostile` - 2 nearest
    Krum,
    /// the mean of updates as long as the base station's own, each weighted by its cosine to that, or 0 below; the station trains on `data.validation_samples`
    Fltrust,
}

/// Steps of the base station, which `gleaner_learn::server` implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ServerRule {
    /// the step the scheduler was made for: `spectral` for `glean`, `plain` for all others
    Auto,
    /// the aggregated model is the next one
    Plain,
    /// the movement joins `momentum` times the last step (FedAvgM)
    Momentum,
    /// as `momentum`, with the look-ahead of Nesterov
    Nesterov,
    /// a step of `step` times the first weights along each layer's orthogonalised momentum
    Spectral,
}

impl ServerRule {
    /// Returns what [`Self::Auto`] means: the step a scheduler was described with.
    #[must_use]
    pub const fn of(scheduler: Scheduler) -> Self {
        match scheduler {
            Scheduler::Glean => Self::Spectral,
            _ => Self::Plain,
        }
    }

    /// Returns the rule of a run: the step the scheduler was described with in place of
    /// [`Self::Auto`].
    #[must_use]
    pub const fn resolved(self, scheduler: &Decider) -> Self {
        match (self, scheduler) {
            (Self::Auto, Decider::Own(scheduler)) => Self::of(*scheduler),
            (Self::Auto, Decider::Process(_)) => Self::Plain,
            (chosen, _) => chosen,
        }
    }
}

/// Sources of the noise of differential privacy, and of the draws of `random` under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum NoiseSource {
    /// `run.seed`: reproducible, and no protection from those who know the seed; for simulations
    Seed,
    /// a secret drawn from the system at the start of the run, kept in its directory
    Secret,
}

/// Codes of uploads, which `gleaner_shared::mlp::code` implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum UploadRule {
    /// as in the paper: `radio.model_bits` of time and energy; clients in fixed point send `q8`, those in floating point arrive unrounded
    Paper,
    /// 16 bits a parameter, one scale a layer
    Q16,
    /// 8 bits a parameter, one scale a layer
    Q8,
    /// 6 bits a parameter, one scale a layer
    Q6,
    /// 4 bits a parameter, one scale for 64 of them
    Q4,
    /// factors of rank 8 of every large layer, a byte a number
    #[serde(rename = "rank-8")]
    #[strum(serialize = "rank-8")]
    Rank8,
    /// factors of rank 4
    #[serde(rename = "rank-4")]
    #[strum(serialize = "rank-4")]
    Rank4,
    /// factors of rank 2
    #[serde(rename = "rank-2")]
    #[strum(serialize = "rank-2")]
    Rank2,
    /// factors of rank 1
    #[serde(rename = "rank-1")]
    #[strum(serialize = "rank-1")]
    Rank1,
}

impl UploadRule {
    /// Returns the code; `None` is the paper's, which floating point does without.
    #[must_use]
    pub fn code(self) -> Option<UploadCode> {
        UploadCode::named(self.into())
    }
}

/// Attacks of hostile clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Attack {
    /// the update times `factor`
    Scale,
    /// the update times -`factor`
    Flip,
    /// every parameter moved by `factor`
    Constant,
    /// the honest updates' mean less `factor` times their deviation, parameter by parameter
    Little,
    /// minus `factor` times the honest updates' mean
    Opposite,
    /// training on labels counted from the last class
    Labels,
    /// parameters that are not numbers
    Nan,
    /// an honest model, reported with its losses times `factor`
    Loss,
}
