//! The rivals on small rounds whose answers are known, and against what breaks schedulers.

use super::*;
use crate::ClientId;
use crate::policy::fixture::Round;
use crate::policy::{Attendance, BaselinePower, Note, Policy, Scheduler, turn_rounds};
use strum::VariantArray;

const LEAST: BaselinePower = BaselinePower::Min;
const GREEDY: Greedy = Greedy { power: LEAST };
const SUSTAINABLE: Sustainable = Sustainable { power: LEAST };
const UNIFORM: UniformEhfl = UniformEhfl { power: LEAST };
const BACYS: FedBacys = FedBacys {
    power: LEAST,
    odd: false,
};
const ODD: FedBacys = FedBacys {
    power: LEAST,
    odd: true,
};
const VERSION: VersionAge = VersionAge { power: LEAST };
const OCEAN: Ocean = Ocean { power: LEAST };
const EAFL: Eafl = Eafl { power: LEAST };

fn everybody() -> [(&'static str, Box<dyn Policy>); 8] {
    [
        ("greedy", Box::new(GREEDY)),
        ("sustainable", Box::new(SUSTAINABLE)),
        ("uniform-ehfl", Box::new(UNIFORM)),
        ("fedbacys", Box::new(BACYS)),
        ("fedbacys-odd", Box::new(ODD)),
        ("version-age", Box::new(VERSION)),
        ("ocean", Box::new(OCEAN)),
        ("eafl", Box::new(EAFL)),
    ]
}

/// Returns what an order costs client 0 in this round.
fn bill_j(round: &Round) -> f64 {
    let bids = bids::Bids::whatever_the_price(&round.view(), LEAST);
    bids.least_bill(0).unwrap()
}

#[test]
fn their_names_are_those_of_the_enum() {
    let names = Scheduler::RIVALS.map(|rival| rival.to_string());
    assert_eq!(names, everybody().map(|(name, _)| name.to_owned()));
    for rival in Scheduler::RIVALS {
        assert!(rival.is_baseline(), "{rival} sends at baselines.power");
        assert!(!Scheduler::PAPER.contains(&rival));
    }
}

#[test]
fn orders_are_one_a_channel_one_a_client_and_in_time_under_all_of_them() {
    for &power in BaselinePower::VARIANTS {
        for rival in Scheduler::RIVALS {
            let settings = crate::policy::Settings {
                power,
                epochs: 3,
                solver: gleaner_cre::optim::Solver::Auto,
                cre_epochs: crate::policy::CreEpochs::Common,
                common_epochs: crate::policy::CommonEpochs::Most,
                importance: crate::policy::Importance::Weighted,
                fixed_channels: crate::policy::FixedChannels::Residue,
                require_participants: false,
                glean: crate::policy::Glean {
                    lambda: 1.0,
                    epochs: 1,
                    claim: crate::policy::Claim::Age,
                },
            };
            let policy = rival.policy(&settings);
            let mut round = Round::first(10, 3);
            for client in 0..10 {
                round.instance.gain[client] = vec![1e-2 * (1.0 + client as f64); 3];
            }
            Attendance::begin_turn(&mut round.attendance, &round.budgets);
            let mut ordered = 0;
            for number in 1..=40 {
                round.number = number;
                let orders = round.orders(&*policy);
                ordered += orders.len();
                for (at, order) in orders.iter().enumerate() {
                    assert_eq!(order.epochs, 1, "{rival}");
                    assert!(order.power_w <= round.instance.power_max_w, "{rival}");
                    let end_s = round.instance.slack_s(order.client.index(), 1.0)
                        - round.instance.upload_s(
                            order.client.index(),
                            order.channel,
                            order.power_w,
                        );
                    assert!(end_s > -1e-9, "{rival} is late by {end_s} s");
                    let full = power == BaselinePower::Max;
                    assert_eq!(order.power_w == round.instance.power_max_w, full, "{rival}");
                    for other in &orders[..at] {
                        assert!(other.client < order.client, "{rival}: in client order");
                        assert_ne!(other.channel, order.channel, "{rival}");
                    }
                }
            }
            assert!(ordered > 30, "{rival}: {ordered}");
        }
    }
}

#[test]
fn nobody_is_ordered_where_nobody_can_pay_except_by_ocean() {
    for (name, rival) in everybody() {
        let mut round = Round::first(6, 3);
        for budget in &mut round.budgets {
            (budget.spendable_j, budget.surplus_j) = (0.0, 0.0);
        }
        let heard: usize = round
            .go_by(&*rival, 20, |_, _| false)
            .iter()
            .map(Vec::len)
            .sum();
        match name {
            // It looks at budgets, not at stores; the clients decline.
            "ocean" => assert!(heard > 0),
            _ => assert_eq!(heard, 0, "{name}"),
        }
    }
}

#[test]
fn nobody_is_ordered_who_cannot_meet_the_deadline_or_has_no_samples() {
    for (name, rival) in everybody() {
        let mut round = Round::first(4, 4);
        round.instance.epoch_s[0] = 0.02;
        round.instance.samples[1] = 0;
        round.instance.gain[2] = vec![1e-9; 4];
        let heard = round.go_by(&*rival, 30, |_, _| false);
        assert!(heard.iter().flatten().all(|&client| client == 3), "{name}");
        assert!(heard.iter().flatten().count() > 5, "{name}");
    }
}

#[test]
fn one_client_is_heard_again_and_again_whatever_the_channels() {
    for (name, rival) in everybody() {
        for channels in [1, 5] {
            let mut round = Round::first(1, channels);
            let heard = round.go_by(&*rival, 20, |_, _| false);
            let times = heard.iter().flatten().count();
            assert!(times >= 5, "{name}: {times}");
        }
    }
}

#[test]
fn what_is_not_a_number_chooses_nobody_and_stops_nothing() {
    for (name, rival) in everybody() {
        let mut round = Round::first(5, 2);
        round.number = 7;
        round.instance.gain[0] = vec![f64::NAN; 2];
        round.budgets[1].spendable_j = f64::NAN;
        round.budgets[2].surplus_j = f64::NAN;
        round.budgets[3].spendable_j = f64::INFINITY;
        round.losses = vec![
            Some(f64::NAN),
            Some(f64::INFINITY),
            Some(1.0),
            None,
            Some(-1.0),
        ];
        round
            .attendance
            .iter_mut()
            .for_each(|one| one.note(3, true));
        for number in 7..40 {
            round.number = number;
            let chosen = round.chosen(&*rival);
            assert!(!chosen.contains(&0), "{name}");
            assert!(name == "ocean" || !chosen.contains(&1), "{name}");
        }
    }
}

#[test]
fn equal_rounds_are_decided_alike_and_other_seeds_are_not() {
    for (name, rival) in everybody() {
        let of = |seed| {
            let mut round = Round::first(9, 2);
            round.seed = seed;
            round.go_by(&*rival, 30, |_, _| false)
        };
        assert_eq!(of(1), of(1), "{name}");
        let draws = !matches!(name, "fedbacys" | "fedbacys-odd" | "ocean");
        assert_eq!(of(1) != of(2), draws, "{name}");
    }
}

#[test]
fn greedy_takes_whoever_can_pay_and_draws_where_channels_are_few() {
    let mut round = Round::first(6, 4);
    for client in [0, 3, 4] {
        round.budgets[client].spendable_j = 0.0;
    }
    assert_eq!(round.chosen(&GREEDY), [1, 2, 5]);
    round.instance.channels = 1;
    let mut seen = [0; 6];
    for number in 1..=60 {
        round.number = number;
        round.chosen(&GREEDY).iter().for_each(|&it| seen[it] += 1);
    }
    assert_eq!([seen[0], seen[3], seen[4]], [0; 3]);
    assert!([1, 2, 5].iter().all(|&client| seen[client] > 9), "{seen:?}");
}

#[test]
fn uniform_keeps_to_what_the_income_of_all_pays_for() {
    let mut round = Round::first(8, 4);
    let bill_j = bill_j(&round);
    let sustained = |round: &mut Round, surplus_j: f64| {
        round
            .budgets
            .iter_mut()
            .for_each(|it| it.surplus_j = surplus_j);
        round.chosen(&UNIFORM).len()
    };
    assert_eq!(sustained(&mut round, bill_j * 2.01 / 8.0), 2);
    assert_eq!(sustained(&mut round, bill_j * 3.99 / 8.0), 3);
    assert_eq!(
        sustained(&mut round, bill_j * 9.0),
        4,
        "no more than channels"
    );
    assert_eq!(
        sustained(&mut round, 0.0),
        1,
        "one at least, while it can pay"
    );
    round.budgets[..7]
        .iter_mut()
        .for_each(|it| it.spendable_j = 0.0);
    assert_eq!(sustained(&mut round, bill_j), 1, "best effort: one can pay");
}

#[test]
fn sustainable_asks_each_client_once_a_cycle_in_a_round_it_draws() {
    let mut round = Round::first(4, 4);
    let bill_j = bill_j(&round);
    let cycles = [1, 2, 3, 5];
    for (budget, cycle) in round.budgets.iter_mut().zip(cycles) {
        budget.surplus_j = bill_j / f64::from(cycle) * 1.001;
    }
    let heard = round.go_by(&SUSTAINABLE, 300, |_, _| false);
    for (client, cycle) in cycles.iter().enumerate() {
        let mut offsets = vec![0; *cycle as usize];
        for rounds in heard.chunks(*cycle as usize) {
            let at: Vec<usize> = (0..rounds.len())
                .filter(|&at| rounds[at].contains(&client))
                .collect();
            assert_eq!(at.len(), 1, "client {client}, once in {cycle} rounds");
            offsets[at[0]] += 1;
        }
        let fair = 300 / cycle / cycle;
        assert!(
            offsets.iter().all(|&times| 3 * times > fair),
            "client {client} draws all rounds of its cycle: {offsets:?}"
        );
    }
}

#[test]
fn sustainable_lets_a_round_pass_that_cannot_be_paid_and_never_asks_who_earns_nothing() {
    let mut round = Round::first(2, 2);
    round.budgets[0].surplus_j = -1e-3;
    let heard = round.go_by(&SUSTAINABLE, 20, |_, _| false);
    assert!(heard.iter().all(|clients| !clients.contains(&0)));
    round.budgets[1].spendable_j = 0.0;
    let decision = round.decide(&SUSTAINABLE);
    assert_eq!(decision.orders, []);
    assert!(
        decision.notes.iter().all(|note| matches!(
            note,
            Note::Renewed {
                client: ClientId(1),
                ..
            }
        )),
        "its cycle runs on: {:?}",
        decision.notes
    );
}

#[test]
fn fedbacys_has_groups_by_wealth_the_richest_first_and_forms_them_once_a_turn() {
    let mut round = Round::first(5, 2);
    for (client, wealth) in [0.3, 0.9, 0.1, 0.7, 0.5].into_iter().enumerate() {
        round.budgets[client].spendable_j = wealth;
    }
    Attendance::begin_turn(&mut round.attendance, &round.budgets);
    assert_eq!(turn_rounds(5, 2), 3);
    assert_eq!(round.chosen(&BACYS), [1, 3]);
    // Wealth that changes within a turn changes nothing.
    round.budgets[2].spendable_j = 5.0;
    round.number = 2;
    assert_eq!(round.chosen(&BACYS), [0, 4]);
    round.number = 3;
    assert_eq!(round.chosen(&BACYS), [2]);
    round.number = 4;
    Attendance::begin_turn(&mut round.attendance, &round.budgets);
    assert_eq!(round.chosen(&BACYS), [1, 2]);
    round.budgets[1].spendable_j = 0.0;
    assert_eq!(round.chosen(&BACYS), [2], "who cannot pay is not replaced");
}

#[test]
fn fedbacys_odd_takes_the_odd_chances_and_a_round_it_cannot_pay_is_none() {
    let mut round = Round::first(1, 1);
    let mut heard = Vec::new();
    for number in 1..=8 {
        // Rounds 3 and 4 are no chances.
        round.budgets[0].spendable_j = if (3..=4).contains(&number) { 0.0 } else { 1.0 };
        heard.extend(round.go_by(&ODD, 1, |_, _| false));
    }
    let heard: Vec<usize> = heard.iter().map(Vec::len).collect();
    assert_eq!(heard, [1, 0, 0, 0, 1, 0, 1, 0]);
}

#[test]
fn version_age_takes_those_who_missed_the_most_models() {
    let mut round = Round::first(4, 2);
    for (client, missed) in [2, 5, 0, 5].into_iter().enumerate() {
        (0..missed).for_each(|_| round.attendance[client].hear(false));
    }
    assert_eq!(round.chosen(&VERSION), [1, 3]);
    round.budgets[3].spendable_j = 0.0;
    assert_eq!(
        round.chosen(&VERSION),
        [0, 1],
        "who cannot pay holds no channel"
    );
    // A dead client keeps its age and its channel: the rule knows no failures.
    let heard = round.go_by(&VERSION, 12, |_, client| client == 1);
    assert!(heard.iter().all(|clients| clients.contains(&1)));
}

#[test]
fn ocean_passes_over_who_is_an_order_in_deficit_until_the_budget_has_made_up_for_it() {
    let mut round = Round::first(3, 3);
    let bill_j = bill_j(&round);
    assert_eq!(round.chosen(&OCEAN), [0, 1, 2]);
    round.attendance[1].spend(bill_j * 1.5, 0.0);
    assert_eq!(round.chosen(&OCEAN), [0, 2]);
    round.attendance[1].spend(0.0, bill_j);
    assert_eq!(round.chosen(&OCEAN), [0, 1, 2]);
    // With fewer channels the smaller deficits go first.
    round.instance.channels = 2;
    assert_eq!(round.chosen(&OCEAN), [0, 2]);
    round
        .attendance
        .iter_mut()
        .for_each(|one| one.spend(1.0, 0.0));
    assert_eq!(round.orders(&OCEAN), []);
}

#[test]
fn eafl_tries_everybody_and_then_prefers_full_stores_and_large_losses() {
    let mut round = Round::first(6, 2);
    let first = round.chosen(&EAFL);
    assert_eq!(
        first.len(),
        2,
        "places that nobody was tried for are explored"
    );
    round.number = 500;
    for client in 0..6 {
        round.attendance[client].note(499, true);
        round.losses[client] = Some(1.0);
        round.budgets[client].spendable_j = 0.01;
    }
    round.budgets[4].spendable_j = 0.1;
    let times = |round: &mut Round, client: usize| {
        (500..700)
            .filter(|&number| {
                round.number = number;
                round.chosen(&EAFL).contains(&client)
            })
            .count()
    };
    // One place: the cut-off leaves the best reward alone.
    round.instance.channels = 1;
    let full = times(&mut round, 4);
    assert!(full > 190, "{full}");
    round.budgets[4].spendable_j = 0.01;
    round.losses[2] = Some(9.0);
    let lossy = times(&mut round, 2);
    assert!(lossy > 190, "{lossy}");
}
