//! What holds for every scheduler, and what tells them apart.

use strum::VariantArray;

use gleaner_cre::channel::Emulation;
use gleaner_cre::optim::epochs::{epoch_limit, whole_epochs};
use gleaner_cre::optim::{Instance, Upload, random_instance};
use gleaner_learn::aggregate::Rule;
use gleaner_sim::policy::{
    Attendance, BaselinePower, Decision, EnergyBudget, Order, Scheduler, View,
};
use gleaner_sim::round::settings;
use gleaner_sim::scenario::{Override, Scenario, resolve};

const SAMPLES: [u32; 10] = [900, 1100, 1000, 950, 1050, 870, 1130, 990, 1010, 1000];

fn scenario(scheduler: Scheduler, power: BaselinePower) -> Scenario {
    let overrides = [
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("baselines.power", power.to_string()),
    ];
    resolve("paper-mlp", &overrides).unwrap()
}

/// The paper's setting in mid-training.
fn instance(seed: u64, round: u32) -> Instance {
    let scenario = Scenario::default();
    let system = settings::system(&scenario);
    let gains = Emulation::new(seed, 10, 3, system.radio).round(round);
    let mut instance = Instance::paper(&system, gains, SAMPLES.to_vec());
    instance.queue_j = (0..10).map(|client| 2e-4 * f64::from(client)).collect();
    let delta = (0..10).map(|client| 0.25 + 0.01 * f64::from(client));
    instance.delta = delta.collect();
    instance.bound.rho = 1.2;
    instance.bound.beta = 11.0;
    instance
}

/// The same round on unlike devices: half of the clients compute at a quarter of the clock on little
/// income, and two must be done early.
fn unlike(seed: u64, round: u32) -> Instance {
    let mut instance = instance(seed, round);
    for client in 0..5 {
        instance.epoch_s[client] *= 4.0;
        instance.epoch_j[client] /= 16.0;
        instance.income_j[client] /= 4.0;
    }
    instance.reserve_s[4] = 1e-3;
    instance.reserve_s[5] = 2e-3;
    instance
}

fn norms() -> Vec<f64> {
    (0..10)
        .map(|client| 0.3 + 0.05 * f64::from((client * 7) % 10))
        .collect()
}

fn decide(scheduler: Scheduler, power: BaselinePower, instance: &Instance, round: u32) -> Decision {
    let norms = norms();
    let budgets: Vec<EnergyBudget> = instance
        .epoch_j
        .iter()
        .map(|&epoch_j| EnergyBudget {
            spendable_j: 4e-3,
            epoch_j,
            order_j: 0.0,
            surplus_j: 4e-4,
        })
        .collect();
    let view = View {
        seed: 3,
        round,
        instance,
        gradient_norms: &norms,
        budgets: &budgets,
        attendance: &[Attendance::default(); 10],
        losses: &[None; 10],
    };
    let policy = settings::policy(&scenario(scheduler, power));
    policy.decide(&view).unwrap()
}

fn epochs_at_full_power(instance: &Instance, client: usize, channel: usize) -> u32 {
    let upload = Upload {
        client,
        channel,
        power_w: instance.power_max_w,
    };
    whole_epochs(epoch_limit(instance, &upload))
}

#[test]
fn every_order_of_every_scheduler_keeps_all_constraints() {
    for &scheduler in Scheduler::VARIANTS {
        for &power in BaselinePower::VARIANTS {
            for round in 1..=50 {
                let instance = match round {
                    ..=25 => instance(5, round),
                    _ => unlike(5, round),
                };
                let decision = decide(scheduler, power, &instance, round);
                let mut channels: Vec<usize> = decision.orders.iter().map(|o| o.channel).collect();
                channels.sort_unstable();
                channels.dedup();
                assert_eq!(channels.len(), decision.orders.len(), "{scheduler}: C3");
                let in_order = decision.orders.is_sorted_by(|a, b| a.client < b.client);
                assert!(in_order, "{scheduler}: clients in order, each once");
                for order in &decision.orders {
                    let Order {
                        client,
                        channel,
                        power_w,
                        epochs,
                    } = *order;
                    assert!(epochs >= 1 && power_w > 0.0, "{scheduler}: {order:?}");
                    assert!(
                        power_w <= instance.power_max_w,
                        "{scheduler}: C4, {order:?}"
                    );
                    let limit = epoch_limit(
                        &instance,
                        &Upload {
                            client: client.index(),
                            channel,
                            power_w,
                        },
                    );
                    assert!(
                        f64::from(epochs) <= limit + 1e-9,
                        "{scheduler}: C6, {order:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn cre_with_epochs_per_client_orders_unequal_ones_that_all_meet_their_deadline() {
    let decide_with = |epochs: &str, instance: &Instance, round| {
        let set = Override::new("cre.epochs", epochs);
        let policy = settings::policy(&resolve("paper-mlp", &[set]).unwrap());
        let view = View {
            seed: 3,
            round,
            instance,
            gradient_norms: &[0.0; 10],
            budgets: &[EnergyBudget::default(); 10],
            attendance: &[Attendance::default(); 10],
            losses: &[None; 10],
        };
        policy.decide(&view).unwrap()
    };
    let mut unequal = 0;
    for round in 1..=25 {
        let system = settings::system(&Scenario::default());
        let mut instance = random_instance(&system, 10, 3, round.into());
        instance.epoch_s[..5].iter_mut().for_each(|s| *s *= 2.0);
        let own = decide_with("per-client", &instance, round);
        let common = decide_with("common", &instance, round);
        assert!(own.promise.unwrap().objective <= common.promise.unwrap().objective + 1e-15);
        for order in &own.orders {
            let upload = Upload {
                client: order.client.index(),
                channel: order.channel,
                power_w: order.power_w,
            };
            let limit = epoch_limit(&instance, &upload);
            assert!(f64::from(order.epochs) <= limit + 1e-9, "{order:?}");
        }
        unequal += usize::from(own.orders.windows(2).any(|o| o[0].epochs != o[1].epochs));
    }
    assert!(unequal > 3, "{unequal}");
}

#[test]
fn least_power_sends_the_same_orders_more_quietly() {
    // Rivals look at the bill, so at another power they may choose others.
    let baselines = Scheduler::PAPER.into_iter().filter(|it| it.is_baseline());
    for scheduler in baselines {
        let instance = instance(6, 4);
        let loud = decide(scheduler, BaselinePower::Max, &instance, 4);
        let quiet = decide(scheduler, BaselinePower::Min, &instance, 4);
        for (a, b) in loud.orders.iter().zip(&quiet.orders) {
            assert_eq!(
                (a.client, a.channel, a.epochs),
                (b.client, b.channel, b.epochs)
            );
            assert!(b.power_w <= a.power_w);
        }
        let total = |decision: &Decision| decision.orders.iter().map(|o| o.power_w).sum::<f64>();
        assert!(total(&quiet) < total(&loud), "{scheduler}");
    }
}

#[test]
fn rotation_visits_everybody_equally_often() {
    let mut visits = [0; 10];
    for round in 1..=10 {
        let instance = instance(7, round);
        let decision = decide(Scheduler::RoundRobin, BaselinePower::Max, &instance, round);
        let ordered = decision.orders.iter().map(|order| order.client);
        ordered
            .chain(decision.infeasible)
            .for_each(|client| visits[client.index()] += 1);
    }
    assert_eq!(visits, [3; 10]);
}

#[test]
fn random_and_fednova_draw_the_same_clients_and_differ_in_epochs() {
    let instance = instance(8, 2);
    let common = decide(Scheduler::Random, BaselinePower::Max, &instance, 2);
    let own = decide(Scheduler::FedNova, BaselinePower::Max, &instance, 2);
    let clients =
        |decision: &Decision| decision.orders.iter().map(|o| o.client).collect::<Vec<_>>();
    assert_eq!(clients(&common), clients(&own));
    let slowest = own.orders.iter().map(|order| order.epochs).min();
    assert!(
        common
            .orders
            .iter()
            .all(|order| Some(order.epochs) == slowest)
    );
    let rule = scenario(Scheduler::FedNova, BaselinePower::Max).rule();
    assert_eq!(rule, Rule::Nova);
}

#[test]
fn importance_decides_channel_by_channel() {
    let instance = instance(9, 1);
    let decision = decide(Scheduler::ImportanceAware, BaselinePower::Max, &instance, 1);
    let weighted: Vec<f64> = SAMPLES
        .iter()
        .zip(norms())
        .map(|(&d, norm)| f64::from(d) * norm)
        .collect();
    for order in &decision.orders {
        assert_eq!(order.client.index() % 3, order.channel);
        let rivals = (order.channel..10).step_by(3);
        for rival in rivals.filter(|&c| epochs_at_full_power(&instance, c, order.channel) >= 3) {
            assert!(weighted[order.client.index()] >= weighted[rival]);
        }
    }
}

#[test]
fn channel_allocation_is_worth_at_least_the_fixed_channels() {
    for round in 1..=25 {
        let instance = instance(10, round);
        let worth = |scheduler| -> f64 {
            let decision = decide(scheduler, BaselinePower::Max, &instance, round);
            let norms = norms();
            decision
                .orders
                .iter()
                .map(|o| f64::from(SAMPLES[o.client.index()]) * norms[o.client.index()])
                .sum()
        };
        let fixed = worth(Scheduler::ImportanceAware);
        assert!(worth(Scheduler::ChannelAllocate) >= fixed - 1e-9);
    }
}

#[test]
fn channel_allocation_takes_the_shortest_of_equally_heavy_ways() {
    // All three clients can use any channel; only the order of the channels is left to choose.
    let mut instance = instance(11, 1);
    for (client, gains) in instance.gain.iter_mut().enumerate() {
        let near = if client < 3 { 1.0 } else { 1e-9 };
        for (channel, gain) in gains.iter_mut().enumerate() {
            // Client 0 is best on channel 2, client 1 on channel 0, client 2 on channel 1.
            let best = (client + 2) % 3 == channel;
            *gain = near * if best { 2e-3 } else { 1e-3 };
        }
    }
    let decision = decide(Scheduler::ChannelAllocate, BaselinePower::Max, &instance, 1);
    let pairs: Vec<(usize, usize)> = decision
        .orders
        .iter()
        .map(|order| (order.client.index(), order.channel))
        .collect();
    assert_eq!(pairs, [(0, 2), (1, 0), (2, 1)]);
}
