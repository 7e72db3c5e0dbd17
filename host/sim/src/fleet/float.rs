//! Simulated clients that compute in 32-bit floating point.

use std::sync::Arc;

use gleaner_shared::mlp::code::Draw;
use gleaner_shared::mlp::{Clip, CodeError, UploadCode};

use super::memories::Memories;
use crate::ClientId;
use crate::round::{
    Broadcast, ExactGradient, Fleet, FleetError, Question, Reply, RoundLog, Update,
};
use gleaner_learn::Uploads;
use gleaner_learn::train::{Engine, Job, Objective, Tensor};

/// Clients with their data and a pool of threads.
pub struct FloatFleet {
    engine: Arc<Engine>,
    objectives: Vec<Box<dyn Objective>>,
    samples: Vec<u32>,
    nonzeros: Vec<u64>,
    learning_rate: f32,
    tensors: Vec<Tensor>,
    /// The seed of the run and the code of uploads; without one they arrive as they are.
    uploads: Option<(u64, Uploads)>,
    memories: Memories,
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
            uploads: None,
            memories: Memories::default(),
        }
    }

    /// Sends updates in a code, with or without error feedback; `seed` is the run's.
    #[must_use]
    pub fn with_uploads(mut self, seed: u64, code: UploadCode, error_feedback: bool) -> Self {
        let uploads = Uploads::new(code, &self.tensors);
        let bytes = match error_feedback {
            true => uploads.memory_bytes(),
            false => 0,
        };
        self.memories = Memories::new(self.samples.len(), bytes);
        self.uploads = Some((seed, uploads));
        self
    }

    /// Replaces a trained model by the one that arrives in the code of uploads; returns what the client
    /// remembers if it counts.
    fn carry(
        &self,
        client: ClientId,
        broadcast: &Broadcast<'_>,
        model: &mut [f32],
    ) -> Result<Option<Vec<u8>>, CodeError> {
        let Some((seed, uploads)) = &self.uploads else {
            return Ok(None);
        };
        let (mut memory, round) = (self.memories.of(client), broadcast.round);
        let draw = Draw {
            seed: *seed,
            client: client.0,
            round,
        };
        uploads.carry(broadcast.model, model, draw, memory.as_deref_mut())?;
        Ok(memory)
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
        let mut trained = self.engine.train(&jobs);
        let (clients, mut proposed) = (broadcast.payable().map(|order| order.client), Vec::new());
        let answers = clients.zip(jobs.iter().zip(&mut trained));
        let replies = answers.map(|(client, (job, trained))| {
            let loss_after = broadcast.wants_loss_after.then(|| {
                self.engine
                    .evaluate(job.objective, &trained.parameters)
                    .loss
            });
            shorten(broadcast.model, &mut trained.parameters, broadcast.clip);
            match self.carry(client, broadcast, &mut trained.parameters) {
                Ok(memory) => proposed.extend(memory.map(|memory| (client, memory))),
                Err(error) => return Reply::Lost(error.to_string()),
            }
            Reply::Trained(Update {
                loss_before: trained.losses.first().copied().unwrap_or(f64::NAN),
                loss_after,
                model: std::mem::take(&mut trained.parameters),
            })
        });
        let replies = broadcast.with_declined(replies);
        self.memories.propose(proposed);
        Ok(replies)
    }

    fn settle(&mut self, log: &RoundLog, _: &[f32]) -> Result<(), FleetError> {
        self.memories.settle(log);
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        self.memories.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        self.memories.restore(state)
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

/// Moves a model towards `start` until it is no further away than `clip`, up to the rounding of 32 bits.
fn shorten(start: &[f32], model: &mut [f32], clip: Clip) {
    let movement = |(&x, &origin): (&f32, &f32)| f64::from(x) - f64::from(origin);
    let squares = model
        .iter()
        .zip(start)
        .map(movement)
        .map(|step| step * step);
    let length = squares.sum::<f64>().sqrt();
    if clip == Clip::NONE || length <= clip.to_real() {
        return;
    }
    let share = clip.to_real() / length;
    for (x, &origin) in model.iter_mut().zip(start) {
        *x = (f64::from(origin) + share * movement((x, &origin))) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    #[test]
    fn a_model_is_shortened_to_the_bound_in_its_direction_or_left_alone() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        let clip = Clip::from_real(0.5);
        for spread in [1e-3, 0.1, 1.0, 1e6] {
            let start: Vec<f32> = (0..1000).map(|_| rng.uniform() as f32 - 0.5).collect();
            let moved = |x: &f32| x + ((rng.uniform() - 0.5) * spread) as f32;
            let trained: Vec<f32> = start.iter().map(moved).collect();
            let mut short = trained.clone();
            shorten(&start, &mut short, clip);
            let steps = |model: &[f32]| -> Vec<f64> {
                let pairs = model.iter().zip(&start);
                pairs.map(|(&x, &o)| f64::from(x) - f64::from(o)).collect()
            };
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (whole, left) = (steps(&trained), steps(&short));
            let length = |steps: &[f64]| product(steps, steps).sqrt();
            if length(&whole) <= 0.5 {
                assert_eq!(short, trained, "{spread}");
            } else {
                assert!(
                    (length(&left) - 0.5).abs() < 1e-5,
                    "{spread}: {}",
                    length(&left)
                );
                let cosine = product(&whole, &left) / (length(&whole) * length(&left));
                assert!(cosine > 1.0 - 1e-6, "{spread}: {cosine}");
            }
            let mut free = trained.clone();
            shorten(&start, &mut free, Clip::NONE);
            assert_eq!(free, trained);
        }
    }
}
