//! Unlike devices: a fast class, a slow one with less income that must be done early, and the rest.

use super::*;
use crate::ClientId;
use crate::policy::{BaselinePower, CreEpochs, Decider, Decision, PolicyError, View};
use crate::scenario::ClientDevice;
use gleaner_shared::units::PicoJoules;

const FAST: [usize; 3] = [1, 4, 8];
const SLOW: [usize; 4] = [0, 2, 5, 9];

fn unlike(scheduler: Scheduler, estimates: Estimates, power: BaselinePower) -> Scenario {
    let classes = "device.class=[\
        {name='fast', clients=[1, 4, 8], frequency_hz=1e9, harvest_j=1e-3},\
        {name='slow', clients=[0, 2, 5, 9], frequency_hz=2.5e8, cycles_per_sample=120, \
         energy_coefficient=3e-26, harvest_j=1e-4, deadline_slack_s=3e-4}]";
    let overrides = [
        classes.parse().unwrap(),
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("run.rounds", 25),
        Override::new("cre.estimates", estimates.to_string()),
        Override::new("baselines.power", power.to_string()),
        Override::new("baselines.epochs", 2),
    ];
    resolve("paper-mlp", &overrides).unwrap()
}

/// Every scheduler, and CRE with epochs of each client's own.
fn everywhere() -> impl Iterator<Item = Scenario> {
    let mut own = unlike(Scheduler::Cre, Estimates::Uplink, BaselinePower::Max);
    own.cre.epochs = CreEpochs::PerClient;
    let all = Scheduler::VARIANTS.iter().flat_map(|&scheduler| {
        [
            (Estimates::Oracle, BaselinePower::Max),
            (Estimates::Uplink, BaselinePower::Min),
        ]
        .map(|(estimates, power)| unlike(scheduler, estimates, power))
    });
    all.chain([own])
}

#[test]
fn nobody_is_late_under_any_scheduler_and_every_class_is_heard() {
    for scenario in everywhere() {
        let scheduler = scenario.run.scheduler.clone();
        let (logs, _) = run(&scenario, NOBODY);
        let devices = scenario.devices();
        let mut heard = [0; 3];
        for log in &logs {
            for row in &log.clients {
                assert_ne!(row.state, ClientState::Late, "{scheduler}");
                if row.state != ClientState::Trained || row.round == 0 {
                    continue;
                }
                let device = &devices[row.client.index()];
                heard[device.class.unwrap_or(2)] += 1;
                let end_s = log.round.downlink_s + row.compute_s + row.upload_s;
                let limit_s = scenario.device.deadline_s - device.deadline_slack_s;
                assert!(end_s <= limit_s * (1.0 + 1e-9), "{scheduler}: {end_s}");
            }
        }
        // CRE spares whoever cannot pay, and one rival lets every other chance pass; the others ask
        // everybody in turn or by rank.
        let least = match scheduler {
            Decider::Own(Scheduler::FedBacysOdd) => 15,
            _ => 25,
        };
        assert!(heard.iter().sum::<i32>() >= least, "{scheduler}: {heard:?}");
        if matches!(
            scheduler,
            Decider::Own(Scheduler::Random | Scheduler::RoundRobin | Scheduler::FedNova)
        ) {
            assert!(
                heard.iter().all(|&times| times > 3),
                "{scheduler}: {heard:?}"
            );
        }
    }
}

#[test]
fn a_client_that_keeps_the_round_but_not_its_own_deadline_is_late() {
    /// Orders client 0 alone, so that it ends between its deadline and the round's.
    struct TooLate;

    impl Policy for TooLate {
        fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
            let instance = view.instance;
            let slack_s = instance.slack_s(0, 1.0) + 0.5 * instance.reserve_s[0];
            let order = |client| Order {
                client: ClientId::at(client),
                channel: client,
                power_w: gleaner_cre::optim::power::least_power(instance, client, client, slack_s),
                epochs: 1,
                bit_rate_bps: None,
            };
            Ok(Decision {
                orders: vec![order(0), order(1)],
                ..Decision::default()
            })
        }
    }

    let scenario = unlike(Scheduler::Random, Estimates::Oracle, BaselinePower::Max);
    let mut fleet = Parabolas {
        rate: 0.01,
        mute: NOBODY,
    };
    let environment = environment::of(&scenario).unwrap();
    let engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0, 0.0]);
    let mut engine = engine.with_policy(Box::new(TooLate));
    let log = engine.step().unwrap().remove(0);
    assert_eq!(log.clients[0].state, ClientState::Late);
    assert_eq!(log.clients[1].state, ClientState::Trained);
    let reason = &log.round.absent[0].reason;
    let limit = format!("s of {} s", scenario.device.deadline_s - 3e-4);
    assert!(reason.ends_with(&limit), "{reason}");
}

/// Returns what an order costs by the device of its client, in the integers of the books.
fn computing(device: &ClientDevice, samples: u32, epochs: u32) -> PicoJoules {
    let per_cycle = device.energy_coefficient * device.frequency_hz * device.frequency_hz;
    let cycles = device.cycles_per_sample * f64::from(samples) * f64::from(epochs);
    PicoJoules::from_joules(per_cycle * cycles)
}

#[test]
fn every_class_is_booked_by_its_own_clock_and_income() {
    for scenario in everywhere() {
        let scheduler = scenario.run.scheduler.clone();
        let (logs, _) = run(&scenario, NOBODY);
        let devices = scenario.devices();
        assert!(FAST.iter().all(|&client| devices[client].harvest_j == 1e-3));
        assert!(SLOW.iter().all(|&client| devices[client].harvest_j == 1e-4));
        let mut balance_j = [0.0; 10];
        for log in &logs {
            let mut harvest_j = 0.0;
            for row in &log.clients {
                let device = &devices[row.client.index()];
                assert_eq!(row.harvest_j, device.harvest_j, "{scheduler}");
                harvest_j += device.harvest_j;
                let expected =
                    computing(device, SAMPLES[row.client.index()], row.epochs).as_joules();
                assert!(
                    (row.compute_j - expected).abs() <= 1e-6 * expected,
                    "{scheduler}: {} {expected}",
                    row.compute_j
                );
                balance_j[row.client.index()] += device.harvest_j - row.compute_j - row.radio_j;
                let balance_j = balance_j[row.client.index()];
                assert!((row.balance_j - balance_j).abs() < 1e-12, "{scheduler}");
                // C5, by the income of the client's own class.
                assert!(
                    balance_j.abs() < 1e-12 || row.within_income == (balance_j > 0.0),
                    "{scheduler}"
                );
            }
            assert!((log.round.harvest_j - harvest_j).abs() < 1e-15);
        }
    }
}

#[test]
fn a_run_on_unlike_devices_goes_on_from_a_checkpoint_to_the_same_bits() {
    for scenario in everywhere() {
        let (whole, end) = run(&scenario, NOBODY);
        let mut fleet = Parabolas {
            rate: scenario.learning.learning_rate as f32,
            mute: NOBODY,
        };
        let environment = environment::of(&scenario).unwrap();
        let mut engine = Engine::new(&scenario, &mut fleet, &NoTest, environment, vec![0.0, 0.0]);
        let mut logs = Vec::new();
        while engine.state().round() < 11 {
            logs.extend(engine.step().unwrap());
        }
        let saved = engine.checkpoint();
        let mut fleet = Parabolas {
            rate: scenario.learning.learning_rate as f32,
            mute: NOBODY,
        };
        let environment = environment::of(&scenario).unwrap();
        let resumed = Engine::resume(&scenario, &mut fleet, &NoTest, environment, saved);
        let mut engine = resumed.unwrap();
        while !engine.is_finished() {
            logs.extend(engine.step().unwrap());
        }
        assert_eq!(logs, whole, "{}", scenario.run.scheduler);
        assert_eq!(engine.state(), &end);
    }
}

#[test]
fn classes_that_say_nothing_new_change_no_bit() {
    for &scheduler in Scheduler::VARIANTS {
        let alike = scenario(scheduler, Estimates::Uplink);
        let set = "device.class=[{share=0.4}, {clients=[3], harvest_j=0.4e-3, deadline_slack_s=0}]";
        let mut named = alike.clone();
        named.device.class = resolve("paper-mlp", &[set.parse().unwrap()])
            .unwrap()
            .device
            .class;
        assert_eq!(run(&alike, NOBODY), run(&named, NOBODY), "{scheduler}");
    }
}
