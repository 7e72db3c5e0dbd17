//! The server's step inside the engine: its memory goes where the state goes.

use super::*;
use gleaner_learn::server::StateError;

const RULES: [&str; 3] = ["momentum", "nesterov", "spectral"];

fn with_server(scheduler: Scheduler, estimates: Estimates, rule: &str) -> Scenario {
    let overrides = [
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("run.rounds", 25),
        Override::new("cre.estimates", estimates.to_string()),
        Override::new("server.rule", rule),
    ];
    resolve("paper-mlp", &overrides).unwrap()
}

#[test]
fn auto_is_plain_for_the_schedulers_of_the_paper_to_the_bit() {
    for &scheduler in Scheduler::VARIANTS {
        let plain = with_server(scheduler, Estimates::Oracle, "plain");
        if scenario(scheduler, Estimates::Oracle).server() != plain.server() {
            continue;
        }
        let auto = run(&scenario(scheduler, Estimates::Oracle), NOBODY);
        assert_eq!(run(&plain, NOBODY), auto, "{scheduler}");
    }
}

#[test]
fn every_step_moves_towards_the_clients_under_every_scheduler() {
    for &scheduler in Scheduler::VARIANTS {
        for estimates in [Estimates::Oracle, Estimates::Uplink] {
            for rule in RULES {
                let (_, state) = run(&with_server(scheduler, estimates, rule), NOBODY);
                let model = state.model();
                let far = |x: f32| x.abs() > 0.1 && x.abs() < 3.0;
                assert!(
                    model[0] > 0.0 && model[1] < 0.0 && far(model[0]) && far(model[1]),
                    "{scheduler} {estimates} {rule}: {model:?}"
                );
            }
        }
    }
}

#[test]
fn a_run_resumed_from_bytes_ends_with_the_bits_of_one_in_one_go() {
    for rule in RULES {
        let scenario = with_server(Scheduler::Cre, Estimates::Uplink, rule);
        let (logs, whole) = run(&scenario, NOBODY);
        let rate = scenario.learning.learning_rate as f32;
        let mut fleet = Parabolas { rate, mute: NOBODY };
        let environment = || environment::of(&scenario).unwrap();
        let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment(), vec![0.0; 2]);
        for _ in 0..11 {
            engine.step().unwrap();
        }
        let bytes = postcard::to_allocvec(&engine.checkpoint()).unwrap();
        let state: State = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(&state, engine.state());
        let mut fleet = Parabolas { rate, mute: NOBODY };
        let mut engine =
            Engine::resume(&scenario, &mut fleet, &NoTest, environment(), state).unwrap();
        let mut rest = Vec::new();
        while !engine.is_finished() {
            rest.extend(engine.step().unwrap());
        }
        assert_eq!(engine.state(), &whole, "{rule}");
        assert_eq!(rest, logs[logs.len() - rest.len()..], "{rule}");
    }
}

#[test]
fn a_state_saved_under_another_step_or_of_another_network_is_refused_by_name() {
    let spectral = with_server(Scheduler::Random, Estimates::Oracle, "spectral");
    let momentum = with_server(Scheduler::Random, Estimates::Oracle, "momentum");
    let (_, state) = run(&spectral, NOBODY);
    let refused = |scenario: &Scenario, state: State| {
        let mut fleet = Parabolas {
            rate: 0.01,
            mute: NOBODY,
        };
        let environment = environment::of(scenario).unwrap();
        match Engine::resume(scenario, &mut fleet, &NoTest, environment, state) {
            Err(EngineError::Server(error @ StateError::Foreign { .. })) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => String::new(),
        }
    };
    assert_eq!(refused(&spectral, state.clone()), "");
    assert!(refused(&momentum, state.clone()).contains("server.rule"));
    let mut other = state;
    other.model.push(0.0);
    assert!(refused(&spectral, other).contains("another network"));
}

#[test]
fn a_client_that_sends_no_numbers_leaves_the_trace_of_one_that_is_never_heard() {
    for rule in RULES {
        let scenario = with_server(Scheduler::RoundRobin, Estimates::Oracle, rule);
        let (_, poisoned) = liars::run_with_liar(&scenario, |update| update.model[1] = f32::NAN);
        let (_, mute) = run(&scenario, |_, client| client == 4);
        assert_eq!(poisoned.server, mute.server, "{rule}");
        assert_eq!(poisoned.model, mute.model, "{rule}");
    }
}

#[test]
fn too_few_updates_for_the_rule_of_aggregation_leave_model_and_memory() {
    for rule in RULES {
        let mut scenario = with_server(Scheduler::Random, Estimates::Oracle, rule);
        scenario.aggregation.rule = crate::scenario::AggregationRule::Median;
        let (_, state) = run(&scenario, |_, client| client > 1);
        let server = settings::server(&scenario, &[], 2);
        assert_eq!(state.model(), [0.0, 0.0], "{rule}");
        assert_eq!(state.server, server.start(&[0.0, 0.0], 10), "{rule}");
    }
}

/// Counts how often a client is asked about the model it has sent itself.
struct Asked {
    clients: Parabolas,
    sent: Vec<Vec<f32>>,
    own: usize,
    at_global: usize,
}

impl Fleet for Asked {
    fn samples(&self) -> &[u32] {
        self.clients.samples()
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let replies = self.clients.train(broadcast)?;
        let model = |reply: &Reply| match reply {
            Reply::Trained(update) => Some(update.model.clone()),
            Reply::Lost(_) | Reply::Declined(_) => None,
        };
        self.sent = replies.iter().filter_map(model).collect();
        Ok(replies)
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        for question in questions {
            if self.sent.iter().any(|sent| sent == question.model) {
                self.own += 1;
            } else if !self.sent.is_empty() {
                self.at_global += 1;
            }
        }
        self.clients.gradients(questions)
    }
}

#[test]
fn the_only_participant_is_asked_at_its_own_model_too_once_the_server_steps_elsewhere() {
    for (rule, own, at_global) in [("plain", 25, 0), ("spectral", 25, 25)] {
        let mut scenario = with_server(Scheduler::Cre, Estimates::Oracle, rule);
        scenario.radio.channels = 1;
        let mut fleet = Asked {
            clients: Parabolas {
                rate: scenario.learning.learning_rate as f32,
                mute: NOBODY,
            },
            sent: Vec::new(),
            own: 0,
            at_global: 0,
        };
        let (logs, state) = drive(&scenario, &mut fleet);
        assert!(logs.iter().all(|log| log.round.participants.len() == 1));
        assert_eq!((fleet.own, fleet.at_global), (own, at_global), "{rule}");
        // Parabolas of curvature 1: whatever pair of models is compared, beta is 1.
        assert!((state.knowledge.beta() - 1.0).abs() < 1e-3, "{rule}");
    }
}
