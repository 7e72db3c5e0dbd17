//! The engine on clients whose losses are parabolas: everything but the network is real.

mod gleaning;
mod liars;
mod privacy;
mod radios;
mod server;
mod stopping;
mod stores;
mod unlike;

use super::*;
use crate::ClientId;
use crate::policy::Scheduler;
use crate::scenario::{Estimates, Override, resolve};
use strum::VariantArray;

const SAMPLES: [u32; 10] = [900, 1100, 1000, 950, 1050, 870, 1130, 990, 1010, 1000];

/// F_i(x) = |x - t_i|^2 / 2 with a target t_i of its own for every client.
struct Parabolas {
    rate: f32,
    /// Whether a client trains in a round and is not heard.
    mute: Mute,
}

type Mute = fn(round: u32, client: usize) -> bool;

const NOBODY: Mute = |_, _| false;

impl Parabolas {
    fn target(client: usize) -> [f32; 2] {
        [1.0 + 0.1 * client as f32, -1.0 + 0.05 * client as f32]
    }

    fn see(client: usize, model: &[f32]) -> ExactGradient {
        let target = Self::target(client);
        let gradient: Vec<f32> = model.iter().zip(target).map(|(x, t)| x - t).collect();
        let loss = gradient
            .iter()
            .map(|&g| f64::from(g) * f64::from(g) / 2.0)
            .sum();
        ExactGradient { loss, gradient }
    }
}

impl Fleet for Parabolas {
    fn samples(&self) -> &[u32] {
        &SAMPLES
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let reply = |order: &Order| {
            if (self.mute)(broadcast.round, order.client.index()) {
                return Reply::Lost("no answer within 2 s".to_owned());
            }
            let mut model = broadcast.model.to_vec();
            for _ in 0..order.epochs {
                let gradient = Self::see(order.client.index(), &model).gradient;
                model
                    .iter_mut()
                    .zip(gradient)
                    .for_each(|(x, g)| *x -= self.rate * g);
            }
            Reply::Trained(Update {
                loss_before: Self::see(order.client.index(), broadcast.model).loss,
                loss_after: Some(Self::see(order.client.index(), &model).loss),
                model,
            })
        };
        Ok(broadcast.with_declined(broadcast.payable().map(reply)))
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        Ok(questions
            .iter()
            .map(|question| Self::see(question.client.index(), question.model))
            .collect())
    }
}

struct NoTest;

impl Examiner for NoTest {
    fn examine(&self, _model: &[f32]) -> Score {
        Score {
            accuracy: 0.0,
            loss: 0.0,
        }
    }
}

fn scenario(scheduler: Scheduler, estimates: Estimates) -> Scenario {
    let overrides = [
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("run.rounds", 25),
        Override::new("cre.estimates", estimates.to_string()),
    ];
    resolve("paper-mlp", &overrides).unwrap()
}

fn run(scenario: &Scenario, mute: Mute) -> (Vec<RoundLog>, State) {
    let mut fleet = Parabolas {
        rate: scenario.learning.learning_rate as f32,
        mute,
    };
    drive(scenario, &mut fleet)
}

fn drive(scenario: &Scenario, fleet: &mut dyn Fleet) -> (Vec<RoundLog>, State) {
    let environment = environment::of(scenario).unwrap();
    let mut engine = Engine::new(scenario, fleet, &NoTest, environment, vec![0.0, 0.0]);
    let mut logs = Vec::new();
    while !engine.is_finished() {
        logs.extend(engine.step().unwrap());
    }
    let state = engine.state().clone();
    (logs, state)
}

#[test]
fn training_moves_towards_the_clients_under_every_scheduler() {
    for &scheduler in Scheduler::VARIANTS {
        let (logs, state) = run(&scenario(scheduler, Estimates::Oracle), NOBODY);
        assert_eq!(logs.len(), 25, "{scheduler}");
        assert!(
            state.model()[0] > 0.1 && state.model()[1] < -0.1,
            "{scheduler}: {state:?}"
        );
    }
}

#[test]
fn the_rows_add_up_to_rounds_queues_and_balances() {
    for &scheduler in Scheduler::VARIANTS {
        let (logs, state) = run(&scenario(scheduler, Estimates::Uplink), NOBODY);
        let mut queues = [0.0f64; 10];
        let mut balances = [0.0f64; 10];
        for log in &logs {
            let spent: f64 = log
                .clients
                .iter()
                .map(|row| row.compute_j + row.radio_j)
                .sum();
            assert!((spent - log.round.compute_j - log.round.radio_j).abs() < 1e-15);
            for row in &log.clients {
                let use_j = row.compute_j + row.radio_j;
                queues[row.client.index()] =
                    (queues[row.client.index()] + use_j - row.harvest_j).max(0.0);
                balances[row.client.index()] += row.harvest_j - use_j;
                assert!(
                    (row.queue_j - queues[row.client.index()]).abs() < 1e-12,
                    "{scheduler}"
                );
                assert!(
                    (row.cumulative_balance_j - balances[row.client.index()]).abs() < 1e-12,
                    "{scheduler}"
                );
                assert_eq!(
                    row.within_income,
                    !log.round.overdrawn.contains(&row.client)
                );
            }
        }
        for (account, queue) in state.accounts().iter().zip(queues) {
            assert!((account.queue_j() - queue).abs() < 1e-12);
        }
    }
}

#[test]
fn a_client_that_is_never_heard_is_logged_pays_and_changes_nothing() {
    let (logs, _) = run(
        &scenario(Scheduler::RoundRobin, Estimates::Oracle),
        |_, client| client == 4,
    );
    let silences = logs
        .iter()
        .flat_map(|log| &log.round.absent)
        .filter(|a| a.client == ClientId(4))
        .count();
    assert!(silences >= 7, "{silences}");
    for log in &logs {
        assert!(!log.round.participants.contains(&ClientId(4)));
        let row = &log.clients[4];
        if row.state == ClientState::Lost {
            assert!(row.compute_j > 0.0 && row.radio_j > 0.0);
        }
    }
}

#[test]
fn learning_from_uploads_starts_with_a_round_that_everybody_pays_for() {
    let (logs, _) = run(&scenario(Scheduler::Cre, Estimates::Uplink), NOBODY);
    assert_eq!((logs.len(), logs[0].round.round), (26, 0));
    assert_eq!(logs[0].round.participants.len(), 10);
    assert!(
        logs[0]
            .clients
            .iter()
            .all(|row| row.radio_j > 0.0 && row.epochs == 1)
    );
    let (logs, _) = run(&scenario(Scheduler::Cre, Estimates::Oracle), NOBODY);
    assert_eq!(logs[0].round.round, 1, "exact estimates are free");
}

#[test]
fn a_client_lost_in_the_introduction_is_logged_and_the_rounds_go_on_without_its_gradient() {
    let scenario = scenario(Scheduler::Cre, Estimates::Uplink);
    let (logs, state) = run(&scenario, |round, client| round == 0 && client == 4);
    assert_eq!(logs.len(), 26);
    let introduction = &logs[0];
    assert_eq!(introduction.clients[4].state, ClientState::Lost);
    assert!(matches!(&introduction.round.absent[..], [absence] if absence.client == ClientId(4)));
    assert_eq!(introduction.round.participants.len(), 9);
    let rounds_with_somebody = logs[1..]
        .iter()
        .filter(|log| !log.round.participants.is_empty())
        .count();
    assert_eq!(rounds_with_somebody, 25);
    assert!(
        state.model()[0] > 0.1 && state.model()[1] < -0.1,
        "{state:?}"
    );
}

#[test]
fn a_model_that_diverges_stops_the_run_with_the_rate_to_lower() {
    let mut scenario = scenario(Scheduler::Random, Estimates::Oracle);
    scenario.run.rounds = 400;
    let mut fleet = Parabolas {
        rate: 1e9,
        mute: NOBODY,
    };
    let environment = environment::of(&scenario).unwrap();
    let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0, 0.0]);
    let error = std::iter::from_fn(|| Some(engine.step()))
        .find_map(Result::err)
        .unwrap();
    assert!(
        error.to_string().contains("learning.learning_rate"),
        "{error}"
    );
}
