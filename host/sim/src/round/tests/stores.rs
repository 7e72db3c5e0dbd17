//! Clients that live on what is in their stores.

use gleaner_shared::energy::{Phase, Snapshot};
use gleaner_shared::units::PicoJoules;

use super::*;

/// The paper's clients with a store of some rounds' income, powers for every state, and an income
/// that comes in spells.
fn poor(scheduler: Scheduler, estimates: Estimates, more: &[(&str, &str)]) -> Scenario {
    let sets = [
        ("device.idle_w", "0.002"),
        ("device.sleep_w", "0.0001"),
        ("device.receive_w", "0.01"),
        ("device.circuit_w", "0.004"),
        ("device.amplifier_efficiency", "0.5"),
        ("device.apply_cycles", "20000"),
        ("device.encode_cycles", "10000"),
        ("device.open_cycles", "5000"),
        ("device.save_s", "0.001"),
        ("device.save_w", "0.004"),
        ("device.evaluate_cycles_per_sample", "40"),
        ("harvest.source", "markov"),
        ("harvest.on_rounds", "3"),
        ("harvest.off_rounds", "3"),
        ("harvest.period_s", "0.02"),
        ("harvest.storage_j", "0.006"),
        ("harvest.stored_j", "0.005"),
        ("harvest.leakage_w", "0.0001"),
        ("harvest.charge_efficiency", "0.9"),
    ];
    let mut overrides = vec![
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("run.rounds", 60),
        Override::new("cre.estimates", estimates.to_string()),
    ];
    let texts = sets.iter().chain(more);
    overrides.extend(texts.map(|(key, value)| format!("{key}={value}").parse().unwrap()));
    resolve("paper-mlp", &overrides).unwrap()
}

/// Walks a run and counts the client-rounds in which more was spent than stored and harvested, an
/// order cost more than was stored before it, or energy overflowed while some stayed unpaid.
pub(super) fn violations(scenario: &Scenario, logs: &[RoundLog]) -> usize {
    let initial = PicoJoules::from_joules(scenario.harvest.stored_j).0;
    let mut stored = [initial; SAMPLES.len()];
    let mut found = 0;
    for row in logs.iter().flat_map(|log| &log.energy) {
        let record = row.record();
        let before = stored[row.client.index()];
        let (spent, income) = (record.spent.total().0, record.harvested.0);
        found += usize::from(spent > before + income);
        let order = spent - record.spent.of(Phase::Sleep).0;
        let ordered = record.spent.of(Phase::Train).0 > 0;
        found += usize::from(ordered && order > before);
        found += usize::from(row.unpaid_pj > 0 && row.overflow_pj > 0);
        let lost = record.conversion.0 + record.overflow.0 + record.leaked.0;
        stored[row.client.index()] = row.stored_pj.unwrap();
        assert_eq!(
            stored[row.client.index()] + spent + lost,
            before + income,
            "{row:?}"
        );
    }
    found
}

#[test]
fn nobody_spends_what_is_not_there_under_any_scheduler() {
    for &scheduler in Scheduler::VARIANTS {
        for estimates in [Estimates::Oracle, Estimates::Uplink] {
            let scenario = poor(scheduler, estimates, &[]);
            let (logs, state) = run(&scenario, NOBODY);
            assert_eq!(violations(&scenario, &logs), 0, "{scheduler}");
            assert!(state.model()[0] > 0.0, "{scheduler} still learns");
            let consistent = |state: &StoreState| state.ledger.is_consistent();
            assert!(state.stores().iter().all(consistent));
        }
    }
}

#[test]
fn an_order_that_cannot_be_paid_is_declined_and_costs_what_resting_does() {
    let scenario = poor(Scheduler::Random, Estimates::Oracle, &[]);
    let (logs, state) = run(&scenario, NOBODY);
    let mut declined = 0;
    for log in &logs {
        for (row, energy) in log.clients.iter().zip(&log.energy) {
            if row.state != ClientState::Declined {
                continue;
            }
            declined += 1;
            assert!(!log.round.participants.contains(&row.client));
            let spent = energy.record().spent;
            assert_eq!(spent.compute(), PicoJoules::ZERO);
            assert_eq!(spent.of(Phase::Transmit), PicoJoules::ZERO);
            let absent = log.round.absent.iter().find(|it| it.client == row.client);
            assert!(absent.unwrap().reason.contains("missing"), "{absent:?}");
        }
    }
    let counted: u32 = state.stores().iter().map(|state| state.declined).sum();
    assert_eq!(counted, declined);
    assert!(declined > 20, "{declined}");
}

#[test]
fn glean_orders_nothing_that_is_declined_whatever_the_forecast() {
    for forecast in ["oracle", "last"] {
        let more = [
            ("harvest.forecast", forecast),
            ("harvest.storage_j", "0.003"),
            ("harvest.stored_j", "0.001"),
        ];
        let scenario = poor(Scheduler::Glean, Estimates::Oracle, &more);
        let (logs, state) = run(&scenario, NOBODY);
        let trained: usize = logs.iter().map(|log| log.round.participants.len()).sum();
        assert!(trained > 20, "{forecast}: {trained}");
        let stores = state.stores().iter();
        assert_eq!(stores.map(|state| state.declined).sum::<u32>(), 0);
    }
}

#[test]
fn an_empty_store_trains_only_after_a_harvest() {
    for &scheduler in Scheduler::VARIANTS {
        let empty = [("harvest.stored_j", "0"), ("harvest.source", "constant")];
        let scenario = poor(scheduler, Estimates::Oracle, &empty);
        let (logs, _) = run(&scenario, NOBODY);
        let first = logs.iter().find(|log| log.round.round == 1).unwrap();
        assert_eq!(first.round.participants, [], "{scheduler}");
        assert_eq!(violations(&scenario, &logs), 0, "{scheduler}");
    }
}

#[test]
fn a_client_that_browned_out_rests_until_its_store_has_recovered() {
    let more = [
        ("device.sleep_w", "0.02"),
        ("device.idle_w", "0.02"),
        ("device.circuit_w", "0.02"),
        ("device.boot_s", "0.01"),
        ("harvest.restart_j", "0.002"),
    ];
    let scenario = poor(Scheduler::Random, Estimates::Oracle, &more);
    let (logs, _) = run(&scenario, NOBODY);
    assert_eq!(violations(&scenario, &logs), 0);
    let (mut off, mut starts) = ([false; SAMPLES.len()], 0);
    for row in logs.iter().flat_map(|log| &log.energy) {
        let was_off = off[row.client.index()];
        if was_off {
            assert_eq!((row.sleep_pj, row.receive_pj, row.train_pj), (0, 0, 0));
        }
        let started = was_off && row.idle_pj > 0;
        starts += usize::from(started);
        off[row.client.index()] = row.unpaid_pj > 0 || was_off && !started;
    }
    assert!(starts > 5, "{starts}");
}

#[test]
fn a_store_that_cannot_pay_for_sleep_browns_out() {
    let more = [
        ("device.idle_w", "0.004"),
        ("device.sleep_w", "0.004"),
        ("device.harvest_j", "0.00001"),
    ];
    let scenario = poor(Scheduler::Glean, Estimates::Oracle, &more);
    let (logs, state) = run(&scenario, NOBODY);
    assert!(state.stores().iter().all(|state| state.brownouts > 0));
    let unpaid = |log: &RoundLog| log.energy.iter().any(|row| row.unpaid_pj > 0);
    assert!(logs.iter().any(unpaid));
    assert_eq!(violations(&scenario, &logs), 0);
}

#[test]
fn stores_go_on_after_a_checkpoint_and_forged_ones_are_refused() {
    let scenario = poor(Scheduler::Random, Estimates::Oracle, &[]);
    let (_, whole) = run(&scenario, NOBODY);
    let mut fleet = Parabolas {
        rate: scenario.learning.learning_rate as f32,
        mute: NOBODY,
    };
    let environment = || environment::of(&scenario).unwrap();
    let mut engine = Engine::new(
        &scenario,
        &mut fleet,
        &NoTest,
        environment(),
        vec![0.0, 0.0],
    );
    for _ in 0..30 {
        engine.step().unwrap();
    }
    let saved = engine.checkpoint();
    let mut fleet = Parabolas {
        rate: scenario.learning.learning_rate as f32,
        mute: NOBODY,
    };
    let resumed = Engine::resume(&scenario, &mut fleet, &NoTest, environment(), saved.clone());
    let mut engine = resumed.unwrap();
    while !engine.is_finished() {
        engine.step().unwrap();
    }
    assert_eq!(engine.state(), &whole);

    let mut forged = saved;
    let ledger = forged.store_states[3].ledger;
    forged.store_states[3].ledger = Snapshot {
        stored: PicoJoules(ledger.stored.0 + 1),
        ..ledger
    };
    let refused = Engine::resume(&scenario, &mut fleet, &NoTest, environment(), forged);
    let words = refused.err().unwrap().to_string();
    assert!(words.contains("9 usable stores"), "{words}");
}
