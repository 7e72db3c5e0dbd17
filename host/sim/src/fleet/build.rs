//! From a scenario to what its run needs: samples dealt to clients, the clients themselves, the
//! test set and the first model.

use std::path::Path;
use std::sync::Arc;

use rayon::ThreadPoolBuildError;

use crate::round::{Examiner, Fleet, FleetError, Score};
use crate::scenario::{ClientKind, Scenario};
use gleaner_learn::data::{self, DataError, Dataset, Facts, Samples};
use gleaner_learn::partition::{
    self, Parameters, Partition, PartitionError, Plan, Scheme, validation,
};
use gleaner_learn::train::{
    Engine, FixedClient, FixedModel, Job, Kernel, KernelError, Model, NetworkError, Objective,
    Tensor, TooLarge,
};

use super::{FixedFleet, FloatFleet, altered};
use gleaner_shared::mlp::{Shape, UploadCode};

/// The clients of a run with everything they start from.
pub struct Deployment {
    /// The clients of the run.
    pub fleet: Box<dyn Fleet + Send>,
    /// The judge of models.
    pub examiner: Box<dyn Examiner + Send>,
    /// The model before round 1.
    pub model: Vec<f32>,
    /// Names and shapes of the model's parts.
    pub tensors: Vec<Tensor>,
}

/// Error setting up the clients of a scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The data are missing or damaged.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The data do not suffice for the clients.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// The clients cannot be set up.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The system refused threads.
    #[error(transparent)]
    Threads(#[from] ThreadPoolBuildError),
    /// Network and images do not fit.
    #[error("data.dataset = \"{dataset}\": {source}")]
    Network {
        /// Name of the data set.
        dataset: String,
        /// Reason why the samples do not fit.
        source: NetworkError,
    },
    /// The fixed-point arithmetic is not made for such a network.
    #[error("{0}; set learning.hidden lower, or clients.kind = \"float\"")]
    TooLarge(#[from] TooLarge),
    /// The firmware trains one hidden layer.
    #[error("learning.hidden = {0:?}: a network in fixed point has one hidden layer")]
    Layers(Vec<usize>),
    /// This processor cannot run the kernels.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// Loads the images of a scenario; runs of one comparison share them.
///
/// # Errors
/// Names the file that is missing or damaged.
pub fn load_data(scenario: &Scenario) -> Result<Arc<Dataset>, DataError> {
    let directory = Path::new(&scenario.data.directory);
    data::load_from(&scenario.data.dataset, directory).map(Arc::new)
}

/// Says what the samples of a scenario are like, without loading them.
///
/// # Errors
/// When there is no such data set.
pub fn data_facts(scenario: &Scenario) -> Result<Facts, DataError> {
    data::facts(&scenario.data.dataset, Path::new(&scenario.data.directory))
}

/// Returns how a scenario spreads labels over its clients.
#[must_use]
pub fn scheme(scenario: &Scenario) -> Scheme {
    let partition = &scenario.partition;
    partition.rule.scheme(&Parameters {
        degree: partition.non_iid_degree,
        alpha: partition.dirichlet_alpha,
        shards: partition.shards_per_client,
    })
}

/// Returns the plan of a scenario's partition.
fn plan(scenario: &Scenario) -> Plan {
    let listed = &scenario.partition.sizes;
    let (mean_samples, deviation_samples) = match listed.len() {
        0 => (
            scenario.partition.mean_samples,
            scenario.partition.std_samples,
        ),
        count => (listed.iter().sum::<usize>() as f64 / count as f64, 0.0),
    };
    Plan {
        scheme: scheme(scenario),
        clients: scenario.clients.count,
        mean_samples,
        deviation_samples,
    }
}

/// Deals the training samples of a scenario.
///
/// # Errors
/// When the data do not suffice.
pub fn deal(scenario: &Scenario, data: &Dataset) -> Result<Partition, PartitionError> {
    let (listed, seed) = (&scenario.partition.sizes, scenario.run.seed);
    if listed.is_empty() {
        return partition::deal(&plan(scenario), data, seed);
    }
    let labels = &data.train.labels;
    partition::split_sizes(scheme(scenario), listed, labels, data.classes, seed)
}

/// Returns the largest mean and deviation of the clients' samples that fit the scenario's data, or
/// `None` if the scenario's own do with most seeds. Assumes classes of equal size.
///
/// # Errors
/// When there is no such data set.
pub fn smaller_shares(scenario: &Scenario) -> Result<Option<(f64, f64)>, DataError> {
    let (plan, facts) = (plan(scenario), data_facts(scenario)?);
    let fitted = || {
        let plan = plan.fitted(facts.train, facts.classes);
        (plan.mean_samples, plan.deviation_samples)
    };
    let overdraws = plan.overdraws(facts.train, facts.classes);
    Ok(overdraws.then(fitted).filter(|(mean, _)| *mean >= 1.0))
}

/// Draws the training samples of a scenario that models are validated on: of those that no client
/// owns.
///
/// # Errors
/// When the clients leave too few.
pub fn set_aside(
    scenario: &Scenario,
    data: &Dataset,
    partition: &Partition,
) -> Result<Vec<u32>, PartitionError> {
    let (labels, classes) = (&data.train.labels, data.classes);
    let wanted = scenario.data.validation_samples;
    validation::draw(wanted, partition, labels, classes, scenario.run.seed)
}

/// Sets up the clients of a scenario; 0 threads means one per processor.
///
/// # Errors
/// When data, clients or threads cannot be had.
pub fn build(
    scenario: &Scenario,
    data: &Dataset,
    threads: usize,
) -> Result<Deployment, BuildError> {
    let partition = deal(scenario, data)?;
    build_around(scenario, data, &partition, threads, |fleet| {
        Ok(Box::new(fleet))
    })
}

/// Sets up the clients of a scenario, their samples dealt, around what `wrap` makes of its
/// fixed-point clients.
///
/// # Errors
/// As [`build`].
pub fn build_around(
    scenario: &Scenario,
    data: &Dataset,
    partition: &Partition,
    threads: usize,
    wrap: impl FnOnce(FixedFleet) -> Result<Box<dyn Fleet + Send>, FleetError>,
) -> Result<Deployment, BuildError> {
    let network = network(scenario, data)?;
    let engine = Arc::new(Engine::new(threads)?);
    let unowned = set_aside(scenario, data, partition)?;
    let examiner = Examination {
        engine: Arc::clone(&engine),
        test: network.objective(&data.test, &test_indices(scenario, &data.test)),
        validation: (!unowned.is_empty()).then(|| network.objective(&data.train, &unowned)),
        learning_rate: scenario.learning.learning_rate as f32,
    };
    let mislabelled = altered::mislabelled(scenario, data);
    let honest = scenario.clients.count - scenario.hostile.clients;
    let samples_of = |client: usize| match &mislabelled {
        Some(samples) if client >= honest => samples,
        _ => &data.train,
    };
    let objectives: Vec<Box<dyn Objective>> = (partition.clients.iter().enumerate())
        .map(|(client, indices)| network.objective(samples_of(client), indices))
        .collect();
    let (seed, rate) = (scenario.run.seed, scenario.learning.learning_rate);
    let tensors = network.tensors();
    let shared = Arc::clone(&engine);
    let nonzeros = partition.clients.iter();
    let nonzeros = nonzeros.map(|it| data.train.nonzero_inputs(it)).collect();
    let float = FloatFleet::new(shared, objectives, nonzeros, rate as f32, tensors.clone());
    let uploads = &scenario.upload;
    let (fleet, model): (Box<dyn Fleet + Send>, Vec<f32>) = match scenario.clients.kind {
        ClientKind::Float => {
            let float = match uploads.code.code() {
                Some(code) => float.with_uploads(seed, code, uploads.error_feedback),
                None => float,
            };
            (Box::new(float), network.initialise(seed))
        }
        ClientKind::FixedPoint => {
            let (shape, clients) = (shape(scenario, data)?, partition.clients.iter().enumerate());
            let deal = |(client, indices): (usize, &Vec<u32>)| {
                FixedClient::new(samples_of(client), indices, shape)
            };
            let clients = clients.map(deal).collect::<Result<_, _>>()?;
            let held = FixedModel::new(shape)?;
            let fleet = FixedFleet::new(&engine, seed, rate, clients, float, held)?;
            let code = uploads.code.code().unwrap_or(UploadCode::Q8);
            let fleet = fleet.with_uploads(code, uploads.error_feedback);
            let model = fleet.first_model();
            (wrap(fleet)?, model)
        }
    };
    let fleet = altered::with_attackers(fleet, &scenario.hostile);
    Ok(Deployment {
        fleet: altered::with_losses(fleet, seed, &scenario.faults),
        examiner: Box::new(examiner),
        model,
        tensors,
    })
}

/// Returns the network of a scenario, its inputs and classes those of the data.
///
/// # Errors
/// When there is no such network.
pub fn network(scenario: &Scenario, data: &Dataset) -> Result<Box<dyn Model>, BuildError> {
    let (kernel, learning) = (Kernel::chosen()?, &scenario.learning);
    let (inputs, classes) = (data.shape.bytes(), data.classes);
    let network = (learning.model).network(inputs, &learning.hidden, classes, kernel);
    network.map_err(|source| BuildError::Network {
        dataset: data.name.clone(),
        source,
    })
}

/// Returns the sizes of a scenario's network in fixed point.
///
/// # Errors
/// When it has other than one hidden layer.
pub fn shape(scenario: &Scenario, data: &Dataset) -> Result<Shape, BuildError> {
    match &*scenario.learning.hidden {
        &[hidden] => Ok(Shape {
            inputs: data.shape.bytes(),
            hidden,
            classes: data.classes,
        }),
        layers => Err(BuildError::Layers(layers.to_vec())),
    }
}

fn test_indices(scenario: &Scenario, test: &Samples) -> Vec<u32> {
    let wanted = match scenario.data.test_samples {
        0 => test.len(),
        limit => limit.min(test.len()),
    };
    (0..u32::try_from(wanted).unwrap_or(u32::MAX)).collect()
}

/// The test set and the validation images, ready to judge.
struct Examination {
    engine: Arc<Engine>,
    test: Box<dyn Objective>,
    validation: Option<Box<dyn Objective>>,
    learning_rate: f32,
}

impl Examination {
    fn score(&self, images: &dyn Objective, model: &[f32]) -> Score {
        let evaluation = self.engine.evaluate(images, model);
        Score {
            accuracy: evaluation.accuracy(),
            loss: evaluation.loss,
        }
    }
}

impl Examiner for Examination {
    fn examine(&self, model: &[f32]) -> Score {
        self.score(&*self.test, model)
    }

    fn validate(&self, model: &[f32]) -> Option<Score> {
        let images = self.validation.as_deref()?;
        Some(self.score(images, model))
    }

    fn train(&self, model: &[f32], epochs: u32) -> Option<Vec<f32>> {
        let job = Job {
            objective: self.validation.as_deref()?,
            start: model,
            epochs,
            learning_rate: self.learning_rate,
        };
        self.engine.train(&[job]).pop().map(|it| it.parameters)
    }
}
