//! Simulated clients that compute in 32-bit floating point.

use std::sync::Arc;

use crate::round::{Broadcast, ExactGradient, Fleet, FleetError, Question, Reply, Update};
use gleaner_learn::train::{Engine, Job, Objective, Tensor};

/// Clients with their data and a pool of threads.
pub struct FloatFleet {
    engine: Arc<Engine>,
    objectives: Vec<Box<dyn Objective>>,
    samples: Vec<u32>,
    nonzeros: Vec<u64>,
    learning_rate: f32,
    tensors: Vec<Tensor>,
}

impl FloatFleet {
    /// Gathers clients whose model has these parts; `nonzeros` are the non-zero inputs of each
    /// client's samples.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        objectives: Vec<Box<dyn Objective>>,
        nonzeros: Vec<u64>,
        learning_rate: f32,
        tensors: Vec<Tensor>,
    ) -> Self {
        let samples = objectives
            .iter()
            .map(|objective| u32::try_from(objective.samples()).unwrap_or(u32::MAX))
            .collect();
        Self {
            engine,
            objectives,
            samples,
            nonzeros,
            learning_rate,
            tensors,
        }
    }
}

impl Fleet for FloatFleet {
    fn samples(&self) -> &[u32] {
        &self.samples
    }

    fn nonzeros(&self) -> &[u64] {
        &self.nonzeros
    }

    fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let jobs: Vec<Job<'_>> = broadcast
            .payable()
            .map(|order| Job {
                objective: &*self.objectives[order.client.index()],
                start: broadcast.model,
                epochs: order.epochs,
                learning_rate: self.learning_rate,
            })
            .collect();
        let trained = self.engine.train(&jobs);
        let replies = jobs.iter().zip(trained).map(|(job, trained)| {
            let loss_after = broadcast.wants_loss_after.then(|| {
                self.engine
                    .evaluate(job.objective, &trained.parameters)
                    .loss
            });
            Reply::Trained(Update {
                loss_before: trained.losses.first().copied().unwrap_or(f64::NAN),
                loss_after,
                model: trained.parameters,
            })
        });
        Ok(broadcast.with_declined(replies))
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        // Runs of questions about one model are answered side by side.
        let mut answers = Vec::with_capacity(questions.len());
        for alike in questions.chunk_by(|a, b| std::ptr::eq(a.model, b.model)) {
            let objectives: Vec<&dyn Objective> = alike
                .iter()
                .map(|question| &*self.objectives[question.client.index()])
                .collect();
            let seen = self.engine.gradients(&objectives, alike[0].model);
            answers.extend(
                seen.into_iter()
                    .map(|(loss, gradient)| ExactGradient { loss, gradient }),
            );
        }
        Ok(answers)
    }
}
