//! Small rounds for the tests of schedulers.

use super::{Attendance, Decision, EnergyBudget, Order, Policy, View};
use gleaner_cre::channel::RoundState;
use gleaner_cre::optim::Instance;
use gleaner_cre::system::System;
use gleaner_cre::units::{Watts, WattsPerHertz};

/// Clients of 1,000 samples with the same gain on every channel; an epoch is 0.2 ms and 0.25 mJ.
fn instance(clients: usize, channels: usize) -> Instance {
    let mut system = System::paper_mlp();
    system.radio.uplink_power_max_w = Watts(0.2);
    system.radio.noise_w_per_hz = WattsPerHertz(4e-21);
    system.round.v = 0.0;
    let gains = RoundState {
        downlink: vec![1e-2; clients],
        uplink: vec![vec![1e-2; channels]; clients],
    };
    let mut instance = Instance::paper(&system, gains, vec![1000; clients]);
    instance.downlink_s = 1e-3;
    instance.delta.fill(0.0);
    instance.bound.beta = 1.0;
    instance
}

/// A round and what a scheduler sees of it.
pub(super) struct Round {
    pub(super) number: u32,
    pub(super) seed: u64,
    pub(super) instance: Instance,
    pub(super) norms: Vec<f64>,
    pub(super) budgets: Vec<EnergyBudget>,
    pub(super) attendance: Vec<Attendance>,
    pub(super) losses: Vec<Option<f64>>,
}

impl Round {
    /// A first round in which every client can pay.
    pub(super) fn first(clients: usize, channels: usize) -> Self {
        let rich = EnergyBudget {
            spendable_j: 1.0,
            epoch_j: 2.5e-4,
            order_j: 0.0,
            surplus_j: 4e-4,
        };
        Self {
            number: 1,
            seed: 1,
            instance: instance(clients, channels),
            norms: vec![1.0; clients],
            budgets: vec![rich; clients],
            attendance: vec![Attendance::default(); clients],
            losses: vec![None; clients],
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            seed: self.seed,
            round: self.number,
            instance: &self.instance,
            gradient_norms: &self.norms,
            budgets: &self.budgets,
            attendance: &self.attendance,
            losses: &self.losses,
        }
    }

    pub(super) fn decide(&self, policy: &dyn Policy) -> Decision {
        policy.decide(&self.view()).unwrap()
    }

    pub(super) fn orders(&self, policy: &dyn Policy) -> Vec<Order> {
        self.decide(policy).orders
    }

    pub(super) fn chosen(&self, policy: &dyn Policy) -> Vec<usize> {
        let orders = self.orders(policy);
        orders.iter().map(|order| order.client.index()).collect()
    }

    /// Lets rounds go by in which those ordered answer unless they are dead, and what is remembered
    /// of clients is written down as the engine does.
    pub(super) fn go_by(
        &mut self,
        policy: &dyn Policy,
        rounds: u32,
        dead: impl Fn(u32, usize) -> bool,
    ) -> Vec<Vec<usize>> {
        (0..rounds)
            .map(|_| {
                let decision = self.decide(policy);
                let clients: Vec<usize> =
                    decision.orders.iter().map(|it| it.client.index()).collect();
                for &client in &clients {
                    self.attendance[client].note(self.number, !dead(self.number, client));
                }
                Attendance::write_down(&mut self.attendance, self.number, &decision.notes);
                let trained = |client| clients.contains(&client) && !dead(self.number, client);
                if (0..self.attendance.len()).any(trained) {
                    for client in 0..self.attendance.len() {
                        self.attendance[client].hear(trained(client));
                    }
                }
                self.number += 1;
                clients
            })
            .collect()
    }
}
