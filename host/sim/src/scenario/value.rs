//! Types of scenario values: numbers, text, and choices with their list of words.

use super::choices::{
    AggregationRule, Attack, ClientKind, Estimates, ModelBits, NoiseSource, RateRule, ServerRule,
    StopRule, UploadRule,
};
use crate::policy;
use gleaner_learn::data::{DatasetKind, DatasetName};

/// A type a scenario key can have.
pub trait Value {
    /// Name of the type in `gleaner config explain`.
    const KIND: &'static str;
    /// The words it accepts and what each means; empty for numbers and free text.
    #[must_use]
    fn choices() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Whether other words than those are accepted too.
    #[must_use]
    fn accepts_others() -> bool {
        false
    }
}

/// Lets enums of the domain be values: variants are words, their documentation the meanings.
macro_rules! values {
    ($($name:ty),+ $(,)?) => {$(
        impl Value for $name {
            const KIND: &'static str = "choice";

            fn choices() -> Vec<(&'static str, &'static str)> {
                let all = <$name as strum::VariantArray>::VARIANTS.iter();
                all.map(|choice| {
                    let meaning = strum::EnumMessage::get_documentation(choice);
                    (<&'static str>::from(choice), meaning.unwrap_or_default())
                })
                .collect()
            }
        }
    )+};
}

values!(
    gleaner_cre::channel::FadingKind,
    gleaner_cre::channel::Placement,
    gleaner_cre::estimate::DivergenceRule,
    gleaner_cre::optim::Solver,
    gleaner_energy::harvest::Forecast,
    gleaner_energy::harvest::Source,
    DatasetKind,
    gleaner_learn::partition::Rule,
    gleaner_learn::train::ModelKind,
    policy::BaselinePower,
    policy::Claim,
    policy::CommonEpochs,
    policy::CreEpochs,
    policy::FixedChannels,
    policy::GradientNorms,
    policy::Importance,
    policy::Scheduler,
    AggregationRule,
    Attack,
    ClientKind,
    Estimates,
    ModelBits,
    NoiseSource,
    RateRule,
    ServerRule,
    StopRule,
    UploadRule,
);

impl Value for policy::Decider {
    const KIND: &'static str = "choice";

    fn choices() -> Vec<(&'static str, &'static str)> {
        let mut choices = policy::Scheduler::choices();
        choices.push(Self::PROCESS);
        choices
    }
}

impl Value for DatasetName {
    const KIND: &'static str = "choice or name";

    fn choices() -> Vec<(&'static str, &'static str)> {
        DatasetKind::choices()
    }

    fn accepts_others() -> bool {
        true
    }
}

impl Value for f64 {
    const KIND: &'static str = "number";
}

impl Value for u64 {
    const KIND: &'static str = "whole number";
}

impl Value for usize {
    const KIND: &'static str = "whole number";
}

impl Value for bool {
    const KIND: &'static str = "true or false";
}

impl Value for String {
    const KIND: &'static str = "text";
}

impl<T: Value> Value for Option<T> {
    const KIND: &'static str = T::KIND;
}

/// A list of pairs of numbers, say `[[14, 0.1485], [22, 0.3894]]`.
pub type Pairs = Vec<[f64; 2]>;

impl Value for Pairs {
    const KIND: &'static str = "list of pairs";
}

impl Value for Vec<usize> {
    const KIND: &'static str = "list of whole numbers";
}
