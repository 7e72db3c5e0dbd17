//! Clients that lie to the engine, and rounds that bring too few updates for their rule.

use super::*;
use crate::ClientId;
use crate::scenario::AggregationRule;

/// Parabolas one of which tampers with what it sends.
struct Liar {
    honest: Parabolas,
    client: usize,
    lie: Box<dyn Fn(&mut Update)>,
}

impl Fleet for Liar {
    fn samples(&self) -> &[u32] {
        self.honest.samples()
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let mut replies = self.honest.train(broadcast)?;
        for (order, reply) in broadcast.orders.iter().zip(&mut replies) {
            if let (true, Reply::Trained(update)) = (order.client.index() == self.client, reply) {
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
pub(super) fn run_with_liar(scenario: &Scenario, lie: fn(&mut Update)) -> (Vec<RoundLog>, State) {
    run_with(scenario, 4, lie)
}

/// Runs a scenario in which one client lies.
pub(super) fn run_with(
    scenario: &Scenario,
    client: usize,
    lie: impl Fn(&mut Update) + 'static,
) -> (Vec<RoundLog>, State) {
    let mut fleet = Liar {
        honest: Parabolas {
            rate: scenario.learning.learning_rate as f32,
            mute: NOBODY,
        },
        client,
        lie: Box::new(lie),
    };
    drive(scenario, &mut fleet)
}

fn doubted(logs: &[RoundLog]) -> Vec<usize> {
    let anomalies = logs.iter().flat_map(|log| &log.round.anomalies);
    let mut clients: Vec<usize> = anomalies.map(|anomaly| anomaly.client.index()).collect();
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
                    assert!(!log.round.participants.contains(&ClientId(4)), "{rule}");
                    let lost = log.clients[4].state == ClientState::Lost;
                    let told = |absence: &Absence| {
                        absence.client == ClientId(4) && absence.reason.starts_with("an update")
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
    assert_eq!(logs[0].round.anomalies[0].client, ClientId(4));
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
        let first = logs
            .iter()
            .find(|log| log.round.participants.contains(&ClientId(4)));
        let named = &first.unwrap().round.anomalies;
        assert!(
            named.iter().any(|anomaly| anomaly.client == ClientId(4)),
            "{named:?}"
        );
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
    let (_, nan) = run_with_liar(&scenario, |update| update.loss_before = f64::NAN);
    for state in [state, nan] {
        let losses = state.knowledge.losses();
        assert!(losses.iter().flatten().all(|loss| *loss < 23.1));
    }
}

#[test]
fn a_round_that_brings_too_few_for_its_rule_keeps_the_model_and_says_why() {
    let mut scenario = scenario(Scheduler::Random, Estimates::Oracle);
    scenario.aggregation.rule = AggregationRule::Median;
    // Three channels: whoever is mute leaves two.
    let (logs, _) = run(&scenario, |round, client| round == 3 || client == 4);
    let short: Vec<&RoundLog> = (logs.iter())
        .filter(|log| log.clients[4].state == ClientState::Lost)
        .collect();
    assert!(!short.is_empty());
    for log in short.iter().filter(|log| log.round.round != 3) {
        assert_eq!(log.round.participants, []);
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
    scenario.aggregation.rule = AggregationRule::Median;
    let (_, state) = run(&scenario, |_, client| client > 6);
    let (_, still) = run(&scenario, |_, client| client > 1);
    assert_ne!(state.model(), [0.0, 0.0]);
    assert_eq!(
        still.model(),
        [0.0, 0.0],
        "two that are heard never suffice"
    );
}
