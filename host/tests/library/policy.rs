//! Constraints that all schedulers keep, and differences between the paper's baselines.

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

/// Returns a round of the paper's setting in mid-training.
fn instance(seed: u64, round: u32) -> Instance {
    let system = settings::system(&Scenario::default());
    let gains = Emulation::new(seed, 10, 3, system.radio).round(round);
    let mut instance = Instance::paper(&system, gains, SAMPLES.to_vec());
    instance.queue_j = (0..10).map(|client| 2e-4 * f64::from(client)).collect();
    let delta = (0..10).map(|client| 0.25 + 0.01 * f64::from(client));
    instance.delta = delta.collect();
    instance.bound.rho = 1.2;
    instance.bound.beta = 11.0;
    instance
}

/// Returns the same round on different devices: half of the clients compute at a quarter of the
/// clock and harvest less, and two have time reserved at the end.
fn on_different_devices(seed: u64, round: u32) -> Instance {
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

fn decide_by(scenario: &Scenario, instance: &Instance, round: u32) -> Decision {
    let budget = |&epoch_j: &f64| EnergyBudget {
        spendable_j: 4e-3,
        epoch_j,
        order_j: 0.0,
        surplus_j: 4e-4,
    };
    let budgets: Vec<EnergyBudget> = instance.epoch_j.iter().map(budget).collect();
    let view = View {
        seed: 3,
        round,
        instance,
        gradient_norms: &norms(),
        budgets: &budgets,
        attendance: &[Attendance::default(); 10],
        losses: &[None; 10],
    };
    settings::policy(scenario).decide(&view).unwrap()
}

fn decide(scheduler: Scheduler, power: BaselinePower, instance: &Instance, round: u32) -> Decision {
    decide_by(&scenario(scheduler, power), instance, round)
}

fn at_full_power(scheduler: Scheduler, instance: &Instance, round: u32) -> Decision {
    decide(scheduler, BaselinePower::Max, instance, round)
}

fn upload(order: &Order) -> Upload {
    Upload {
        client: order.client.index(),
        channel: order.channel,
        power_w: order.power_w,
    }
}

fn meets_deadline(instance: &Instance, order: &Order) -> bool {
    f64::from(order.epochs) <= epoch_limit(instance, &upload(order)) + 1e-9
}

#[test]
fn every_order_of_every_scheduler_keeps_all_constraints() {
    for &scheduler in Scheduler::VARIANTS {
        for &power in BaselinePower::VARIANTS {
            for round in 1..=50 {
                let instance = match round {
                    ..=25 => instance(5, round),
                    _ => on_different_devices(5, round),
                };
                let orders = decide(scheduler, power, &instance, round).orders;
                let mut channels: Vec<usize> = orders.iter().map(|o| o.channel).collect();
                channels.sort_unstable();
                channels.dedup();
                assert_eq!(channels.len(), orders.len(), "{scheduler}: C3");
                let in_order = orders.is_sorted_by(|a, b| a.client < b.client);
                assert!(in_order, "{scheduler}: clients in order, each once");
                for order in &orders {
                    let Order {
                        power_w, epochs, ..
                    } = *order;
                    assert!(epochs >= 1 && power_w > 0.0, "{scheduler}: {order:?}");
                    assert!(power_w <= instance.power_max_w, "{scheduler}: C4");
                    assert!(
                        meets_deadline(&instance, order),
                        "{scheduler}: C6, {order:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn cre_with_epochs_per_client_orders_unequal_epochs_within_the_deadline() {
    let [own, common] = ["per-client", "common"]
        .map(|epochs| resolve("paper-mlp", &[Override::new("cre.epochs", epochs)]).unwrap());
    let mut unequal = 0;
    for round in 1..=25 {
        let system = settings::system(&Scenario::default());
        let mut instance = random_instance(&system, 10, 3, round.into());
        instance.epoch_s[..5].iter_mut().for_each(|s| *s *= 2.0);
        let [own, common] = [&own, &common].map(|it| decide_by(it, &instance, round));
        assert!(own.promise.unwrap().objective <= common.promise.unwrap().objective + 1e-15);
        for order in &own.orders {
            assert!(meets_deadline(&instance, order), "{order:?}");
        }
        unequal += usize::from(own.orders.windows(2).any(|o| o[0].epochs != o[1].epochs));
    }
    assert!(unequal > 3, "{unequal}");
}

#[test]
fn minimal_power_changes_only_the_power_of_the_papers_baselines() {
    let baselines = Scheduler::PAPER.into_iter().filter(|it| it.is_baseline());
    for scheduler in baselines {
        let instance = instance(6, 4);
        let full = at_full_power(scheduler, &instance, 4);
        let least = decide(scheduler, BaselinePower::Min, &instance, 4);
        for (a, b) in full.orders.iter().zip(&least.orders) {
            let same = (a.client, a.channel, a.epochs) == (b.client, b.channel, b.epochs);
            assert!(same && b.power_w <= a.power_w, "{a:?} {b:?}");
        }
        let total = |decision: &Decision| decision.orders.iter().map(|o| o.power_w).sum::<f64>();
        assert!(total(&least) < total(&full), "{scheduler}");
    }
}

#[test]
fn round_robin_schedules_all_clients_equally_often() {
    let mut visits = [0; 10];
    for round in 1..=10 {
        let decision = at_full_power(Scheduler::RoundRobin, &instance(7, round), round);
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
    let common = at_full_power(Scheduler::Random, &instance, 2).orders;
    let own = at_full_power(Scheduler::FedNova, &instance, 2).orders;
    let clients = |orders: &[Order]| orders.iter().map(|o| o.client).collect::<Vec<_>>();
    assert_eq!(clients(&common), clients(&own));
    let slowest = own.iter().map(|order| order.epochs).min();
    assert!(common.iter().all(|order| Some(order.epochs) == slowest));
    let rule = scenario(Scheduler::FedNova, BaselinePower::Max).rule();
    assert_eq!(rule, Rule::Nova);
}

#[test]
fn importance_aware_takes_the_most_important_client_of_each_fixed_channel() {
    let instance = instance(9, 1);
    let weighted: Vec<f64> = (SAMPLES.iter().zip(norms()))
        .map(|(&samples, norm)| f64::from(samples) * norm)
        .collect();
    for order in at_full_power(Scheduler::ImportanceAware, &instance, 1).orders {
        let (client, channel) = (order.client.index(), order.channel);
        assert_eq!(client % 3, channel);
        for client_of_channel in (channel..10).step_by(3) {
            let upload = Upload {
                client: client_of_channel,
                channel,
                power_w: instance.power_max_w,
            };
            if whole_epochs(epoch_limit(&instance, &upload)) >= 3 {
                assert!(weighted[client] >= weighted[client_of_channel]);
            }
        }
    }
}

#[test]
fn channel_allocate_is_worth_at_least_the_fixed_channels() {
    for round in 1..=25 {
        let instance = instance(10, round);
        let norms = norms();
        let worth = |scheduler| -> f64 {
            let orders = at_full_power(scheduler, &instance, round).orders;
            let clients = orders.iter().map(|order| order.client.index());
            clients.map(|it| f64::from(SAMPLES[it]) * norms[it]).sum()
        };
        let fixed = worth(Scheduler::ImportanceAware);
        assert!(worth(Scheduler::ChannelAllocate) >= fixed - 1e-9);
    }
}

#[test]
fn channel_allocate_takes_the_shortest_of_equally_important_assignments() {
    // Three clients can use any channel; only the order of the channels is left to choose.
    let mut instance = instance(11, 1);
    for (client, gains) in instance.gain.iter_mut().enumerate() {
        let near = if client < 3 { 1.0 } else { 1e-9 };
        for (channel, gain) in gains.iter_mut().enumerate() {
            // Client 0 is best on channel 2, client 1 on channel 0, client 2 on channel 1.
            let best = (client + 2) % 3 == channel;
            *gain = near * if best { 2e-3 } else { 1e-3 };
        }
    }
    let orders = at_full_power(Scheduler::ChannelAllocate, &instance, 1).orders;
    let pair = |order: &Order| (order.client.index(), order.channel);
    let pairs: Vec<(usize, usize)> = orders.iter().map(pair).collect();
    assert_eq!(pairs, [(0, 2), (1, 0), (2, 1)]);
}
