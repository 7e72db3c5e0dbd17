//! The way of updates from clients to the engine, for experiments in which something happens to them
//! there, wherever the clients compute.

use gleaner_learn::train::Tensor;

use crate::round::{Broadcast, ExactGradient, Fleet, FleetError, Order, Question, Reply, RoundLog};

/// Something that happens to updates.
pub(super) trait Way: Send {
    /// Changes what came of an order.
    fn befall(&self, broadcast: &Broadcast<'_>, order: &Order, reply: &mut Reply);
}

/// A fleet whose updates go that way. Exact gradients stay true: they are what a simulation knows,
/// not what clients say.
pub(super) struct Through<W> {
    pub(super) fleet: Box<dyn Fleet + Send>,
    pub(super) way: W,
}

impl<W: Way> Fleet for Through<W> {
    fn samples(&self) -> &[u32] {
        self.fleet.samples()
    }

    fn tensors(&self) -> &[Tensor] {
        self.fleet.tensors()
    }

    fn announce(&mut self, round: u32, model: &[f32]) -> Result<Vec<f32>, FleetError> {
        self.fleet.announce(round, model)
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let mut replies = self.fleet.train(broadcast)?;
        for (order, reply) in broadcast.orders.iter().zip(&mut replies) {
            self.way.befall(broadcast, order, reply);
        }
        Ok(replies)
    }

    fn settle(&mut self, log: &RoundLog, model: &[f32]) -> Result<(), FleetError> {
        self.fleet.settle(log, model)
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        self.fleet.gradients(questions)
    }

    fn save(&self) -> Vec<u8> {
        self.fleet.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        self.fleet.restore(state)
    }
}
