//! The engine on clients whose losses are parabolas: everything but the network is real.

use super::*;
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
            if (self.mute)(broadcast.round, order.client) {
                return Reply::Lost("no answer within 2 s".to_owned());
            }
            let mut model = broadcast.model.to_vec();
            for _ in 0..order.epochs {
                let gradient = Self::see(order.client, &model).gradient;
                model
                    .iter_mut()
                    .zip(gradient)
                    .for_each(|(x, g)| *x -= self.rate * g);
            }
            Reply::Trained(Update {
                loss_before: Self::see(order.client, broadcast.model).loss,
                loss_after: Some(Self::see(order.client, &model).loss),
                model,
            })
        };
        Ok(broadcast.orders.iter().map(reply).collect())
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        Ok(questions
            .iter()
            .map(|question| Self::see(question.client, question.model))
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
    let channel = channel::of(scenario).unwrap();
    let mut engine = Engine::new(scenario, &mut fleet, &NoTest, channel, vec![0.0, 0.0]);
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
                queues[row.client] = (queues[row.client] + use_j - row.harvest_j).max(0.0);
                balances[row.client] += row.harvest_j - use_j;
                assert!(
                    (row.queue_j - queues[row.client]).abs() < 1e-12,
                    "{scheduler}"
                );
                assert!(
                    (row.balance_j - balances[row.client]).abs() < 1e-12,
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
        .filter(|a| a.client == 4)
        .count();
    assert!(silences >= 7, "{silences}");
    for log in &logs {
        assert!(!log.round.participants.contains(&4));
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
    assert!(matches!(&introduction.round.absent[..], [absence] if absence.client == 4));
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
    let channel = channel::of(&scenario).unwrap();
    let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, channel, vec![0.0, 0.0]);
    let error = std::iter::from_fn(|| Some(engine.step()))
        .find_map(Result::err)
        .unwrap();
    assert!(
        error.to_string().contains("learning.learning_rate"),
        "{error}"
    );
}

/// Parabolas one of which tampers with what it sends.
struct Liar {
    honest: Parabolas,
    client: usize,
    lie: fn(&mut Update),
}

impl Fleet for Liar {
    fn samples(&self) -> &[u32] {
        self.honest.samples()
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let mut replies = self.honest.train(broadcast)?;
        for (order, reply) in broadcast.orders.iter().zip(&mut replies) {
            if let (true, Reply::Trained(update)) = (order.client == self.client, reply) {
                (self.lie)(update);
            }
        }
        Ok(replies)
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        self.honest.gradients(questions)
    }
}

/// Runs a scenario in which client 4 lies.
fn run_with_liar(scenario: &Scenario, lie: fn(&mut Update)) -> (Vec<RoundLog>, State) {
    let mut fleet = Liar {
        honest: Parabolas {
            rate: scenario.learning.learning_rate as f32,
            mute: NOBODY,
        },
        client: 4,
        lie,
    };
    let channel = channel::of(scenario).unwrap();
    let mut engine = Engine::new(scenario, &mut fleet, &NoTest, channel, vec![0.0, 0.0]);
    let mut logs = Vec::new();
    while !engine.is_finished() {
        logs.extend(engine.step().unwrap());
    }
    let state = engine.state().clone();
    (logs, state)
}

fn doubted(logs: &[RoundLog]) -> Vec<usize> {
    let doubts = logs.iter().flat_map(|log| &log.round.implausible);
    let mut clients: Vec<usize> = doubts.map(|doubt| doubt.client).collect();
    clients.sort_unstable();
    clients.dedup();
    clients
}

#[test]
fn honest_clients_are_never_doubted() {
    for &scheduler in Scheduler::VARIANTS {
        for estimates in [Estimates::Oracle, Estimates::Uplink] {
            let (logs, _) = run(&scenario(scheduler, estimates), NOBODY);
            assert_eq!(doubted(&logs), [0usize; 0], "{scheduler}");
        }
    }
}

#[test]
fn a_client_that_sends_no_numbers_is_lost_with_the_reason_and_the_run_goes_on_under_every_rule() {
    use crate::scenario::AggregationRule;
    for &rule in AggregationRule::VARIANTS {
        for estimates in [Estimates::Oracle, Estimates::Uplink] {
            let mut scenario = scenario(Scheduler::Random, estimates);
            (scenario.aggregation.rule, scenario.radio.channels) = (rule, 6);
            for lie in [
                |update: &mut Update| update.model[1] = f32::NAN,
                |update: &mut Update| update.model[0] = f32::NEG_INFINITY,
                |update: &mut Update| update.model[0] = f32::MAX,
                |update: &mut Update| update.model.truncate(1),
            ] {
                let (logs, state) = run_with_liar(&scenario, lie);
                assert_eq!(doubted(&logs), [4], "{rule}");
                assert!(state.model()[0] > 0.1 && state.model()[0] < 2.0, "{rule}");
                for log in &logs {
                    assert!(!log.round.participants.contains(&4), "{rule}");
                    let lost = log.clients[4].state == ClientState::Lost;
                    let told = |absence: &Absence| {
                        absence.client == 4 && absence.reason.starts_with("an update")
                    };
                    assert_eq!(log.round.absent.iter().any(told), lost, "{rule}");
                }
            }
        }
    }
}

#[test]
fn a_client_that_sends_no_numbers_to_the_introduction_is_lost_there() {
    let scenario = scenario(Scheduler::Cre, Estimates::Uplink);
    let (logs, _) = run_with_liar(&scenario, |update| update.model[0] = f32::NAN);
    assert_eq!(logs[0].clients[4].state, ClientState::Lost);
    assert_eq!(logs[0].round.implausible[0].client, 4);
    assert_eq!(logs.len(), 26);
}

#[test]
fn poison_is_named_even_where_the_mean_takes_it() {
    let scenario = scenario(Scheduler::RoundRobin, Estimates::Oracle);
    let lies: [fn(&mut Update); 2] = [
        |update| update.model.iter_mut().for_each(|x| *x = 100.0 * *x + 50.0),
        |update| update.model.iter_mut().for_each(|x| *x -= 80.0),
    ];
    for lie in lies {
        let (logs, _) = run_with_liar(&scenario, lie);
        let first = logs.iter().find(|log| log.round.participants.contains(&4));
        let named = &first.unwrap().round.implausible;
        assert!(named.iter().any(|doubt| doubt.client == 4), "{named:?}");
    }
}

#[test]
fn a_lie_about_the_loss_moves_no_more_than_its_bound() {
    let scenario = scenario(Scheduler::Cre, Estimates::Uplink);
    let (honest, _) = run(&scenario, NOBODY);
    let (logs, state) = run_with_liar(&scenario, |update| update.loss_before = 20_845.0);
    assert_eq!(doubted(&logs), [4]);
    let loss = |logs: &[RoundLog]| logs[0].round.train_loss.unwrap();
    let share = f64::from(SAMPLES[4]) / f64::from(SAMPLES.iter().sum::<u32>());
    assert!(
        loss(&logs) < loss(&honest) + 23.1 * share,
        "{}",
        loss(&logs)
    );
    assert!(
        state
            .knowledge
            .losses()
            .iter()
            .flatten()
            .all(|loss| *loss < 23.1)
    );
    let (_, state) = run_with_liar(&scenario, |update| update.loss_before = f64::NAN);
    assert!(
        state
            .knowledge
            .losses()
            .iter()
            .flatten()
            .all(|loss| *loss < 23.1)
    );
}

#[test]
fn a_round_that_brings_too_few_for_its_rule_keeps_the_model_and_says_why() {
    let mut scenario = scenario(Scheduler::Random, Estimates::Oracle);
    scenario.aggregation.rule = crate::scenario::AggregationRule::Median;
    // Three channels: whoever is mute leaves two.
    let (logs, _) = run(&scenario, |round, client| round == 3 || client == 4);
    let short: Vec<&RoundLog> = (logs.iter())
        .filter(|log| log.clients[4].state == ClientState::Lost)
        .collect();
    assert!(!short.is_empty());
    for log in short.iter().filter(|log| log.round.round != 3) {
        assert_eq!(log.round.participants, [0usize; 0]);
        let unused = log
            .clients
            .iter()
            .filter(|row| row.state == ClientState::Unused);
        assert_eq!(unused.clone().count(), 2);
        assert!(
            unused.clone().all(|row| row.radio_j > 0.0),
            "they pay all the same"
        );
        let reason = "2 updates arrived, aggregation.rule = \"median\" needs 3";
        let told = log
            .round
            .absent
            .iter()
            .filter(|absence| absence.reason == reason);
        assert_eq!(told.count(), 2);
    }
    let full = logs.iter().filter(|log| log.round.participants.len() == 3);
    assert!(full.count() > 5);
}

#[test]
fn the_model_after_too_few_updates_is_the_model_before() {
    let mut scenario = scenario(Scheduler::Random, Estimates::Oracle);
    scenario.aggregation.rule = crate::scenario::AggregationRule::Median;
    let (_, state) = run(&scenario, |_, client| client > 6);
    let (_, still) = run(&scenario, |_, client| client > 1);
    assert_ne!(state.model(), [0.0, 0.0]);
    assert_eq!(
        still.model(),
        [0.0, 0.0],
        "two that are heard never suffice"
    );
}
