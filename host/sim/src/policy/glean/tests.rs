//! glean on small rounds whose answers are known, and against every assignment tried.

use super::*;
use crate::policy::EnergyBudget;
use crate::policy::fixture::Round;
use crate::policy::offer::rounding_j;
use gleaner_cre::costs::RadioCost;
use gleaner_cre::optim::power::{Transmission, least_power};
use gleaner_shared::energy::{Activity, CostModel, RadioModel};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};

const GLEAN: Glean = Glean {
    lambda: 1.0,
    epochs: 1,
    claim: Claim::Age,
};

impl Round {
    fn clients(&self, glean: Glean) -> Vec<usize> {
        self.chosen(&glean)
    }

    /// Lets rounds go by in which those ordered answer unless they are dead.
    fn live(&mut self, rounds: u32, dead: impl Fn(u32, usize) -> bool) -> Vec<Vec<usize>> {
        self.go_by(&GLEAN, rounds, dead)
    }
}

#[test]
fn one_client_is_heard_in_every_round() {
    for channels in [1, 3] {
        let mut round = Round::first(1, channels);
        assert_eq!(round.live(20, |_, _| false), vec![vec![0]; 20]);
    }
}

#[test]
fn nobody_who_cannot_pay_is_ordered_and_a_picojoule_decides() {
    let mut round = Round::first(4, 2);
    let order = round.orders(&GLEAN)[0];
    let slack_s = round.instance.slack_s(0, 1.0);
    let upload = Transmission {
        power_w: order.power_w,
        time_s: slack_s,
    };
    let rounding_j = rounding_j(&round.instance, 0, upload);
    let booked_j = 2.5e-4 + order.power_w * slack_s + rounding_j;
    round.budgets.fill(EnergyBudget {
        spendable_j: booked_j - 1e-12,
        epoch_j: 2.5e-4,
        ..EnergyBudget::default()
    });
    assert_eq!(round.orders(&GLEAN), []);
    round.budgets[2].spendable_j = booked_j;
    assert_eq!(round.clients(GLEAN), [2]);
}

#[test]
fn nobody_who_misses_the_deadline_or_needs_more_than_full_power_is_ordered() {
    let mut round = Round::first(3, 3);
    round.instance.epoch_s[0] = 0.0091;
    round.instance.gain[1] = vec![1e-4; 3];
    assert_eq!(round.clients(GLEAN), [2]);
    round.instance.downlink_s = 0.02;
    assert_eq!(round.orders(&GLEAN), []);
}

#[test]
fn more_channels_than_clients_leave_the_worst_channels_empty() {
    let mut round = Round::first(2, 5);
    round.instance.gain[0] = vec![1e-2, 2e-2, 9e-2, 3e-2, 1e-2];
    round.instance.gain[1] = vec![1e-2, 2e-2, 9e-2, 8e-2, 1e-2];
    // Alike in age, so the sum of the bills decides; both on channel 2 cannot be.
    let orders = round.orders(&Glean {
        lambda: 0.5,
        ..GLEAN
    });
    let pairs: Vec<_> = orders
        .iter()
        .map(|o| (o.client.index(), o.channel))
        .collect();
    assert_eq!(pairs, [(0, 2), (1, 3)]);
}

#[test]
fn a_client_without_samples_is_never_ordered_and_does_not_disturb_the_others() {
    let mut round = Round::first(3, 3);
    round.instance.samples[1] = 0;
    round.budgets[1].epoch_j = 0.0;
    let heard = round.live(30, |_, _| false);
    assert!(heard.iter().all(|clients| !clients.contains(&1)));
    assert!(heard.iter().flatten().count() >= 30);
    round.instance.samples = vec![0; 3];
    assert_eq!(round.orders(&GLEAN), []);
}

#[test]
fn everybody_is_heard_about_equally_often_where_all_are_alike() {
    let mut round = Round::first(10, 3);
    let heard = round.live(200, |_, _| false);
    let times = |client| heard.iter().filter(|who| who.contains(&client)).count();
    let times: Vec<usize> = (0..10).map(times).collect();
    let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    // Ties go to the first, so cohorts form; none is forgotten.
    assert!(*least >= 50 && *most <= 67, "{times:?}");
}

#[test]
fn dead_clients_are_asked_ever_more_rarely_and_heard_at_once_when_they_return() {
    let mut round = Round::first(10, 3);
    let dead = |number: u32, client: usize| client < 3 && number <= 300;
    let heard = round.live(300, dead);
    let asked = |rounds: &[Vec<usize>], client: usize| {
        let times = rounds.iter().filter(|who| who.contains(&client));
        times.count()
    };
    for client in 0..3 {
        let (early, late) = (
            asked(&heard[..100], client),
            asked(&heard[200..300], client),
        );
        assert!(
            early > late && late < 10,
            "client {client}: {early} then {late}"
        );
        assert!(asked(&heard, client) >= 5, "it is not given up");
    }
    for client in 3..10 {
        let times = asked(&heard, client);
        assert!(
            times > 70,
            "the living take the channels: {client}, {times}"
        );
    }
    let after = round.live(200, dead);
    for client in 0..3 {
        let times = asked(&after, client);
        assert!(times > 40, "client {client} returned and was heard {times}");
    }
}

#[test]
fn the_assignment_is_the_best_of_all() {
    let mut rng = Rng::stream(7, Purpose::Synthetic, 0, 0);
    for _ in 0..200 {
        let (clients, channels) = (1 + rng.below(5) as usize, 1 + rng.below(4) as usize);
        let mut round = Round::first(clients, channels);
        round.number = 20;
        for client in 0..clients {
            round.instance.samples[client] = 500 + rng.below(1000);
            round.attendance[client].note(rng.below(20), rng.below(3) > 0);
            round.budgets[client].spendable_j = 2.0e-4 + 4e-4 * rng.uniform();
            for gain in &mut round.instance.gain[client] {
                *gain = 1e-1 * (0.02 + rng.uniform());
            }
        }
        let view = round.view();
        let offers: Vec<Vec<Option<Offer>>> = (0..clients)
            .map(|i| (0..channels).map(|c| GLEAN.offer(&view, i, c)).collect())
            .collect();
        // The definition, written down once more: shares of age and of the bill.
        let able: Vec<usize> = (0..clients)
            .filter(|&i| offers[i].iter().any(Option::is_some))
            .collect();
        let age = |i: usize| {
            let age = round.attendance[i].age(20);
            f64::from(round.instance.samples[i]) * age * age
        };
        let ages: f64 = able.iter().map(|&i| age(i)).sum();
        let bill: f64 = able
            .iter()
            .map(|&i| {
                let bills = offers[i].iter().flatten().map(|offer| offer.bill_j);
                bills.fold(f64::INFINITY, f64::min)
            })
            .sum();
        let worth = |i: usize, c: usize| Some(age(i) / ages - offers[i][c]?.bill_j / bill);
        let best = best_of_all(0, &mut vec![false; clients], channels, &worth);
        let found: f64 = round
            .orders(&GLEAN)
            .iter()
            .map(|order| worth(order.client.index(), order.channel).unwrap())
            .sum();
        assert!((found - best).abs() < 1e-8, "{found} {best}");
        assert_eq!(able.is_empty(), round.orders(&GLEAN).is_empty());
    }
}

/// Tries every assignment of the channels from `channel` on.
fn best_of_all(
    channel: usize,
    taken: &mut Vec<bool>,
    channels: usize,
    worth: &impl Fn(usize, usize) -> Option<f64>,
) -> f64 {
    if channel == channels {
        return 0.0;
    }
    let mut best = best_of_all(channel + 1, taken, channels, worth);
    for client in 0..taken.len() {
        if let (false, Some(value)) = (taken[client], worth(client, channel)) {
            taken[client] = true;
            best = best.max(value + best_of_all(channel + 1, taken, channels, worth));
            taken[client] = false;
        }
    }
    best
}

#[test]
fn the_bill_counts_as_much_as_lambda_says() {
    // Client 0 is nearest; all are of one age. Without the bill nobody stays out.
    let mut round = Round::first(3, 3);
    round.instance.gain[0] = vec![1e-1; 3];
    round.instance.gain[1] = vec![2e-3; 3];
    let of = |lambda| round.clients(Glean { lambda, ..GLEAN });
    assert_eq!(of(0.0), [0, 1, 2]);
    assert!(!of(1.0).contains(&1), "its bill is most of the sum");
    assert!(of(1.0).contains(&0));
}

#[test]
fn draws_are_of_seed_and_round_and_pay_like_everybody() {
    let mut round = Round::first(8, 2);
    let draw = Glean {
        lambda: 0.0,
        claim: Claim::Draw,
        ..GLEAN
    };
    round.budgets[3].spendable_j = 0.0;
    let mut seen = [false; 8];
    for number in 1..60 {
        round.number = number;
        let clients = round.clients(draw);
        assert_eq!(clients, round.clients(draw));
        clients.iter().for_each(|&client| seen[client] = true);
    }
    assert_eq!(seen, [true, true, true, false, true, true, true, true]);
}

/// A radio that wastes three quarters and draws 40 mW while it sends.
const BOARD: RadioModel = RadioModel {
    efficiency_permille: 250,
    circuit: NanoWatts(40_000_000),
    per_upload: PicoJoules(1_234_567),
};

#[test]
fn with_circuit_power_the_order_is_the_cheapest_and_no_power_of_the_grid_is_cheaper() {
    let mut faster = 0;
    for circuit_w in [0.0, 1e-3, 40e-3, 1.0, 1e3] {
        let mut round = Round::first(1, 1);
        round.instance.gain = vec![vec![5e-2]];
        round.instance.deadline_s = 0.03;
        let radio = RadioCost {
            circuit_w,
            ..BOARD.into()
        };
        round.instance.costs[0].radio = radio;
        round.budgets[0].spendable_j = f64::MAX;
        let order = round.orders(&GLEAN)[0];
        let energy_j = |power_w| radio.energy_j(power_w, round.instance.upload_s(0, 0, power_w));
        let slack_s = round.instance.slack_s(0, 1.0);
        let least_w = least_power(&round.instance, 0, 0, slack_s);
        assert!(order.power_w >= least_w && order.power_w <= round.instance.power_max_w);
        for step in 0..=1000 {
            let power_w = least_w + f64::from(step) / 1000.0 * (0.2 - least_w);
            assert!(energy_j(order.power_w) <= energy_j(power_w) * (1.0 + 1e-12));
        }
        faster += usize::from(order.power_w > least_w);
    }
    assert!(faster >= 2, "{faster}");
}

#[test]
fn what_is_ordered_can_be_paid_by_the_books_of_any_radio() {
    let mut rng = Rng::stream(11, Purpose::Synthetic, 0, 0);
    let mut ordered = 0;
    for _ in 0..2_000 {
        let model = RadioModel {
            efficiency_permille: 1 + rng.below(1000) as u16,
            circuit: NanoWatts(u64::from(rng.below(3) * rng.below(50_000_000))),
            per_upload: PicoJoules(u64::from(rng.below(2) * rng.below(9_999_999))),
        };
        let costs = CostModel {
            radio: model,
            ..CostModel::paper(1e-26, 5e8)
        };
        let mut round = Round::first(1, 1);
        round.instance.gain = vec![vec![1e-2 * (0.5 + 10.0 * rng.uniform())]];
        round.instance.costs[0].radio = model.into();
        let order_pj = u64::from(rng.below(1_000_000));
        round.budgets[0] = EnergyBudget {
            spendable_j: f64::MAX,
            epoch_j: 2.5e-4,
            order_j: PicoJoules(order_pj).as_joules(),
            ..EnergyBudget::default()
        };
        let Some(offer) = GLEAN.offer(&round.view(), 0, 0) else {
            continue;
        };
        // The least budget with which it is still ordered, within a picojoule.
        let (mut refused_j, mut paid_j) = (0.0, 2.0 * offer.bill_j);
        while paid_j - refused_j > 1e-12 {
            let middle_j = 0.5 * (refused_j + paid_j);
            round.budgets[0].spendable_j = middle_j;
            match GLEAN.offer(&round.view(), 0, 0) {
                Some(_) => paid_j = middle_j,
                None => refused_j = middle_j,
            }
        }
        ordered += 1;
        let airtime_s = round.instance.upload_s(0, 0, offer.power_w);
        let booked = costs.round(&Activity {
            train: Cycles(100_000),
            epochs: 1,
            drawn: model.drawn(NanoWatts((offer.power_w * 1e9).round() as u64)),
            airtime: Micros((airtime_s * 1e6).round() as u64),
            ..Activity::default()
        });
        let booked_j = booked.total().as_joules() + PicoJoules(order_pj).as_joules();
        assert!(booked_j <= paid_j, "{model:?}: {booked_j} of {paid_j}");
        // And it asks for no more than rounding can come to.
        assert!(paid_j - booked_j < 2e-3 * booked_j + 1e-11, "{model:?}");
    }
    assert!(ordered > 1_000, "{ordered}");
}

#[test]
fn the_costs_of_an_order_are_part_of_the_bill() {
    let mut round = Round::first(2, 1);
    round.budgets[0].order_j = 1e-3;
    assert_eq!(round.clients(GLEAN), [1], "the other bill is dearer");
    round.budgets[1].order_j = 2.0;
    assert_eq!(round.clients(GLEAN), [0], "it cannot pay");
    round.instance.costs[0].order_s = 0.0089;
    assert_eq!(round.orders(&GLEAN), [], "no time is left to send");
}
