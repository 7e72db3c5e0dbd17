//! Trains and evaluates many clients at once on a pool of threads of its own.
//!
//! Clients are trained in parallel, and each client's epoch is divided into pieces by its data, so
//! that one client alone still uses every thread. Pieces are added in a fixed order, so the
//! number of threads does not change any bit of a result.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::{Evaluation, Objective};

/// The training of one client in a round.
#[allow(missing_docs)]
pub struct Job<'a> {
    pub objective: &'a dyn Objective,
    /// The parameters before the first step.
    pub start: &'a [f32],
    /// The number of full-batch steps.
    pub epochs: u32,
    /// The step size η.
    pub learning_rate: f32,
}

/// The result of a client's training.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The parameters after the last step.
    pub parameters: Vec<f32>,
    /// The loss before each step.
    pub losses: Vec<f64>,
}

/// A pool of threads that trains clients.
#[derive(Debug)]
pub struct Engine {
    pool: ThreadPool,
}

impl Engine {
    /// Starts `threads` threads; 0 means one per processor.
    ///
    /// # Errors
    /// When the operating system refuses the threads.
    ///
    /// # Examples
    /// ```
    /// let engine = gleaner_learn::train::Engine::new(2)?;
    /// assert_eq!(engine.map(&[1, 2, 3], |client| client * 10), [10, 20, 30]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("train-{number}"))
            .build()?;
        Ok(Self { pool })
    }

    /// Returns the number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Trains every client of `jobs`; results come in the order of the jobs.
    #[must_use]
    pub fn train(&self, jobs: &[Job]) -> Vec<Trained> {
        let train = |job: &Job| {
            let mut parameters = job.start.to_vec();
            let losses = job
                .objective
                .descend(&mut parameters, job.epochs, job.learning_rate);
            Trained { parameters, losses }
        };
        self.pool.install(|| jobs.par_iter().map(train).collect())
    }

    /// Returns loss and gradient of every objective at the same parameters, in their order.
    #[must_use]
    pub fn gradients(
        &self,
        objectives: &[&dyn Objective],
        parameters: &[f32],
    ) -> Vec<(f64, Vec<f32>)> {
        let gradient = |objective: &&dyn Objective| {
            let mut gradient = vec![0.0; parameters.len()];
            let loss = objective.gradient(parameters, &mut gradient);
            (loss, gradient)
        };
        self.pool
            .install(|| objectives.par_iter().map(gradient).collect())
    }

    /// Applies `work` to every item on the threads of this engine; results keep their order.
    pub fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> R + Send + Sync,
    ) -> Vec<R> {
        self.pool.install(|| items.par_iter().map(work).collect())
    }

    /// Evaluates parameters on one objective.
    #[must_use]
    pub fn evaluate(&self, objective: &dyn Objective, parameters: &[f32]) -> Evaluation {
        self.pool.install(|| objective.evaluate(parameters))
    }
}
