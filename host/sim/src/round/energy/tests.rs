use gleaner_shared::energy::Phase;

use super::*;
use crate::ClientId;
use crate::scenario::{Override, resolve};

const ON_AIR: OnAir = OnAir {
    downlink_s: 1e-3,
    upload_s: 8e-3,
    whole: false,
};

fn order(epochs: u32) -> Order {
    Order {
        client: ClientId(0),
        channel: 0,
        power_w: 0.2,
        epochs,
        bit_rate_bps: None,
    }
}

fn energy_costs(sets: &[Override]) -> EnergyCosts {
    let scenario = resolve("paper-mlp", sets).unwrap();
    let load = Load {
        samples: 1_000,
        nonzero: 150_000,
    };
    let listening = Listening::new(&scenario, scenario.model_bits());
    EnergyCosts::new(&scenario, &[scenario.device.common()], &[load], listening)
}

#[test]
fn the_papers_order_costs_what_the_paper_says() {
    // 3 epochs of 0.25 mJ, 8 ms at 200 mW; waiting and hearing are free.
    let prices = energy_costs(&[]);
    let spent = prices.due(0, &prices.working(&order(3), ON_AIR));
    assert_eq!(spent.of(Phase::Train), PicoJoules(750_000_000));
    assert_eq!(spent.of(Phase::Transmit), PicoJoules(1_600_000_000));
    assert_eq!(spent.total(), PicoJoules(2_350_000_000));
    assert_eq!(prices.due(0, &prices.resting(1e-3)), Spent::ZERO);
}

/// Every power and every overhead, none like another.
fn complete() -> Vec<Override> {
    [
        ("device.deadline_s", 0.04),
        ("harvest.period_s", 0.1),
        ("radio.crystal_ppm", 100.0),
        ("device.cycles_per_nonzero", 0.5),
        ("device.epoch_j", 1e-6),
        ("device.apply_cycles", 10_000.0),
        ("device.apply_whole_cycles", 20_000.0),
        ("device.evaluate_cycles", 1_000.0),
        ("device.evaluate_cycles_per_sample", 40.0),
        ("device.evaluate_cycles_per_nonzero", 0.25),
        ("device.encode_cycles", 30_000.0),
        ("device.open_cycles", 3_000.0),
        ("device.open_whole_cycles", 6_000.0),
        ("device.seal_cycles", 4_000.0),
        ("device.receive_w", 0.05),
        ("device.circuit_w", 0.03),
        ("device.amplifier_efficiency", 0.4),
        ("device.upload_j", 2e-6),
        ("device.idle_w", 0.01),
        ("device.sleep_w", 0.001),
        ("device.save_s", 0.002),
        ("device.save_w", 0.02),
    ]
    .map(|(key, value)| Override::new(key, value))
    .to_vec()
}

#[test]
fn the_plans_prices_add_up_to_what_is_booked() {
    let prices = energy_costs(&complete());
    for whole in [false, true] {
        let on_air = OnAir { whole, ..ON_AIR };
        let activity = prices.working(&order(3), on_air);
        let booked_j = prices.due(0, &activity).total().as_joules();
        let costs = prices.costs(0, ON_AIR.downlink_s, whole);
        // alpha f^2 (a D + b X) + e_epoch, 0.2 ms and 0.15 ms long.
        let (_, epoch_j) = prices.above_sleep(0, (3.5e-4, 4.375e-4 + 1e-6));
        let planned_j = costs.standing_j
            + costs.order_j
            + 3.0 * epoch_j
            + costs.radio.energy_j(0.2, ON_AIR.upload_s);
        assert!(
            (booked_j - planned_j).abs() < 1e-9,
            "{booked_j} {planned_j}"
        );
        let resting_j = prices.due(0, &prices.resting(ON_AIR.downlink_s)).total();
        assert!((resting_j.as_joules() - costs.standing_j).abs() < 1e-11);
        let apply = if whole { 26_000.0 } else { 13_000.0 };
        assert!((costs.order_s - (apply + 112_500.0) / 5e8).abs() < 1e-12);
    }
}

#[test]
fn a_transceivers_level_is_booked_with_its_own_draw_to_the_picojoule() {
    let sets = ["radio.rate=gfsk", "radio.max_power_dbm=14"].map(|set| set.parse().unwrap());
    let sets = [complete(), sets.to_vec()].concat();
    let (prices, scenario) = (energy_costs(&sets), resolve("paper-mlp", &sets).unwrap());
    let model = scenario.rate_model();
    let modem = model.modem().unwrap();
    let load = Load {
        samples: 1_000,
        nonzero: 150_000,
    };
    let system = settings::system(&scenario);
    let gains = gleaner_cre::channel::RoundState {
        downlink: vec![1e-3],
        uplink: vec![vec![1e-3]],
    };
    let mut instance = gleaner_cre::optim::Instance::paper(&system, gains, vec![load.samples]);
    instance.rate = model.clone();
    instance.costs[0] = prices.costs(0, ON_AIR.downlink_s, false);
    let above_sleep = 0.001;
    for (level, milliwatts) in [(0, 66.0), (9, 98.3), (23, 148.5)] {
        let power_w = modem.levels[level].radiated_w;
        let order = Order {
            power_w,
            ..order(1)
        };
        let drawn = prices.drawn(&order);
        // The level's draw and the circuit's 30 mW, in whole nanowatts.
        assert_eq!(drawn, NanoWatts((milliwatts * 1e6) as u64 + 30_000_000));
        let upload_s = instance.upload_s(0, 0, power_w);
        assert_eq!(upload_s, instance.model_bits / 250e3);
        let on_air = OnAir { upload_s, ..ON_AIR };
        let activity = prices.working(&order, on_air);
        assert_eq!(
            (activity.drawn, activity.airtime),
            (drawn, micros(upload_s))
        );
        let booked = prices.due(0, &activity).of(Phase::Transmit);
        let by_hand = (u128::from(drawn.0) * u128::from(activity.airtime.0) + 500) / 1_000;
        assert_eq!(
            u128::from(booked.0),
            by_hand + 2_000_000,
            "and 2 uJ to start"
        );
        // The plan counts what sending draws above sleep.
        let planned_j = instance.upload_j(0, power_w, upload_s) + above_sleep * upload_s;
        assert!(
            (planned_j - booked.as_joules()).abs() < 1e-11,
            "{planned_j}"
        );
    }
}

#[test]
fn a_participant_sleeps_from_the_end_of_its_upload() {
    let prices = energy_costs(&complete());
    let activity = prices.working(&order(1), ON_AIR);
    let asleep = prices.due(0, &activity).of(Phase::Sleep);
    // 100 ms less 1.02 ms of listening and a beacon of 3 us, 0.35 ms of an epoch, 0.251 ms beside it and 8 ms of sending.
    assert_eq!(asleep, PicoJoules(90_376_000));
}

#[test]
fn clients_listen_to_the_beacon_for_as_long_as_two_crystals_drift() {
    let prices = energy_costs(&complete());
    // 1,024 of the 318,080 bits that take 1 ms, and twice 100 ppm of 100 ms.
    assert_eq!(prices.resting(ON_AIR.downlink_s).listening, Micros(23));
}

#[test]
fn a_budget_with_a_store_can_pay_what_is_reserved_and_no_picojoule_less() {
    let prices = energy_costs(&complete());
    let activity = prices.working(&order(2), ON_AIR);
    let needed = prices.due(0, &activity).total();
    let costs = prices.costs(0, ON_AIR.downlink_s, false);
    let budget = prices.budget(0, &costs, needed.as_joules(), true);
    let bill_j = 2.0 * budget.epoch_j + budget.order_j + costs.radio.energy_j(0.2, ON_AIR.upload_s);
    // The margin of rounding is on the safe side and small.
    let short_j = bill_j - budget.spendable_j;
    assert!(short_j > 0.0 && short_j < 1e-7, "{short_j}");
}
