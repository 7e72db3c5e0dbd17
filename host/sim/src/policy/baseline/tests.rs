//! The power rules on random rounds of boards, against a grid of powers.

use super::*;
use crate::policy::fixture::Round;
use crate::policy::{Attendance, Claim, CreEpochs, Glean, Scheduler, Settings};
use gleaner_cre::costs::RadioCost;
use gleaner_cre::optim::{Solver, draw_cap, draw_modem};
use gleaner_shared::rng::{Purpose, Rng};
use strum::VariantArray;

/// Returns a round with radios that waste, draw circuit power and cost energy per upload.
fn random_round(rng: &mut Rng) -> Round {
    let (clients, channels) = (1 + rng.below(8) as usize, 1 + rng.below(4) as usize);
    let mut round = Round::first(clients, channels);
    round.number = 1 + rng.below(50);
    round.seed = u64::from(rng.below(1_000));
    round.instance.deadline_s *= 1.0 + 4.0 * rng.uniform();
    for client in 0..clients {
        round.instance.samples[client] = 500 + rng.below(1_000);
        round.instance.costs[client].radio = RadioCost {
            efficiency: 0.1 + 0.9 * rng.uniform(),
            circuit_w: f64::from(rng.below(3)) * rng.uniform(),
            per_upload_j: 1e-5 * rng.uniform(),
        };
        round.instance.costs[client].order_s = 1e-3 * rng.uniform();
        for gain in &mut round.instance.gain[client] {
            *gain = 1e-1 * (0.01 + rng.uniform());
        }
        round.norms[client] = rng.uniform();
    }
    Attendance::begin_turn(&mut round.attendance, &round.budgets);
    round
}

fn policy(scheduler: Scheduler, power: BaselinePower) -> Box<dyn crate::policy::Policy> {
    scheduler.policy(&Settings {
        power,
        epochs: 3,
        solver: Solver::Auto,
        cre_epochs: CreEpochs::Common,
        common_epochs: crate::policy::CommonEpochs::Most,
        importance: crate::policy::Importance::Weighted,
        fixed_channels: crate::policy::FixedChannels::Residue,
        require_participants: false,
        glean: Glean {
            lambda: 1.0,
            epochs: 1,
            claim: Claim::Age,
        },
    })
}

/// Returns the levels of a transceiver, or a grid of powers up to the largest.
fn powers(instance: &Instance) -> Vec<f64> {
    match instance.rate.modem() {
        Some(modem) => modem.levels.iter().map(|it| it.radiated_w).collect(),
        None => (0..=300)
            .map(|step| instance.power_max_w * 10f64.powf(-f64::from(step) / 50.0))
            .collect(),
    }
}

#[test]
fn under_least_energy_no_upload_costs_more_than_at_gleans_or_any_other_power_in_time() {
    let mut rng = Rng::stream(26, Purpose::Synthetic, 0, 0);
    let (mut orders, mut above) = (0, [0; 3]);
    for seed in 0..300 {
        let mut round = random_round(&mut rng);
        let radio = seed as usize % 3;
        match radio {
            0 => {}
            1 => draw_cap(&mut round.instance, seed),
            _ => draw_modem(&mut round.instance, seed),
        }
        let instance = &round.instance;
        for &scheduler in Scheduler::VARIANTS {
            if !(scheduler.is_baseline() || scheduler == Scheduler::Glean) {
                continue;
            }
            for order in round.orders(&*policy(scheduler, BaselinePower::LeastEnergy)) {
                let (client, channel) = (order.client.index(), order.channel);
                let slack_s = instance.slack_s(client, f64::from(order.epochs));
                let glean = cheapest_upload(instance, client, channel, slack_s);
                let glean_w = glean.map_or(instance.power_max_w, |it| it.power_w);
                assert_eq!(order.power_w, glean_w, "{scheduler}");
                let cost = |power_w| {
                    let time_s = instance.upload_s(client, channel, power_w);
                    (time_s, instance.upload_j(client, power_w, time_s))
                };
                let (time_s, ordered_j) = cost(order.power_w);
                assert!(time_s <= slack_s * (1.0 + 1e-6), "{scheduler} is late");
                let mut lower = false;
                for power_w in powers(instance) {
                    let (time_s, other_j) = cost(power_w);
                    if time_s <= slack_s {
                        assert!(ordered_j <= other_j * (1.0 + 1e-6), "{scheduler}");
                        lower |= power_w < order.power_w * (1.0 - 1e-9);
                    }
                }
                orders += 1;
                above[radio] += usize::from(lower);
            }
        }
    }
    // With each radio the least power is often not the cheapest.
    assert!(
        orders > 3_000 && above.iter().all(|&it| it > 100),
        "{orders} {above:?}"
    );
}

#[test]
fn without_circuit_power_least_energy_is_the_least_power_to_the_bit() {
    let mut rng = Rng::stream(27, Purpose::Synthetic, 0, 0);
    for _ in 0..100 {
        let mut round = random_round(&mut rng);
        for costs in &mut round.instance.costs {
            costs.radio.circuit_w = 0.0;
        }
        for &scheduler in Scheduler::VARIANTS {
            let orders = |power| round.orders(&*policy(scheduler, power));
            let least = orders(BaselinePower::Min);
            assert_eq!(orders(BaselinePower::LeastEnergy), least, "{scheduler}");
        }
    }
}
