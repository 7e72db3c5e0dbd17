//! The ledger's identity and the queue, over random schedules.

use gleaner_shared::energy::{EnergyQueue, EnergyStore, Flows, Ledger, Phase, Spent};
use gleaner_shared::units::{Micros, NanoWatts, PicoJoules};
use proptest::prelude::*;

/// An operation on a store.
#[derive(Clone, Copy, Debug)]
enum Event {
    End(u64, u64, Phase, u64),
    Reserve(u64),
    Spend(Phase, u64),
    Settle,
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..2_000_000_000u64, 1 => any::<u64>()]
}

fn event() -> impl Strategy<Value = Event> {
    let phase = (0..8u8).prop_map(|code| Phase::from_code(code).unwrap());
    prop_oneof![
        (amount(), amount(), phase.clone(), amount())
            .prop_map(|(income, time, on, cost)| Event::End(income, time, on, cost)),
        amount().prop_map(Event::Reserve),
        (phase, amount()).prop_map(|(on, amount)| Event::Spend(on, amount)),
        Just(Event::Settle),
    ]
}

proptest! {
    #[test]
    fn identity_holds_after_every_event(
        initial in amount(),
        (capacity, charge_permille, leakage) in (amount(), 0..1_200u16, 0..1_000_000u64),
        (restart, boot) in (amount(), amount()),
        events in prop::collection::vec(event(), 0..200),
    ) {
        let store = EnergyStore {
            capacity: PicoJoules(capacity),
            charge_permille,
            leakage: NanoWatts(leakage),
            restart: PicoJoules(restart),
        };
        let mut ledger = Ledger::new(PicoJoules(initial), store);
        for event in events {
            let before = ledger;
            match event {
                Event::End(income, time, on, cost) => {
                    let mut standing = Spent::ZERO;
                    standing[on] = PicoJoules(cost);
                    let unpaid = ledger.end_round(&Flows {
                        income: PicoJoules(income),
                        standing,
                        period: Micros(time),
                        boot: PicoJoules(boot),
                    }).unpaid;
                    let overflow = ledger.snapshot().since(&before.snapshot()).overflow;
                    prop_assert!(unpaid.0 == 0 || overflow.0 == 0, "{unpaid} {overflow}");
                }
                Event::Reserve(cost) => match ledger.reserve(PicoJoules(cost)) {
                    Ok(()) => prop_assert!(cost <= before.available().0),
                    Err(shortfall) => {
                        prop_assert_eq!(ledger, before);
                        prop_assert_eq!(shortfall.missing().0, cost - before.available().0);
                    }
                },
                Event::Spend(on, amount) => {
                    let payment = ledger.spend(on, PicoJoules(amount));
                    prop_assert_eq!(payment.paid.0 + payment.unpaid.0, amount);
                }
                Event::Settle => ledger.settle(),
            }
            let snapshot = ledger.snapshot();
            prop_assert!(snapshot.is_consistent(), "{:?}", snapshot);
            prop_assert!(snapshot.stored <= store.capacity);
            prop_assert!(ledger.reserved() <= snapshot.stored);
            let restored = Ledger::restore(snapshot, store);
            prop_assert_eq!(restored.map(|ledger| ledger.snapshot()), Some(snapshot));
        }
    }

    #[test]
    fn a_reserved_order_is_always_paid_whole(
        stored in 0..u64::MAX / 2,
        cost in 0..u64::MAX / 2,
        share in 0.0..1.0f64,
    ) {
        let mut ledger = Ledger::new(PicoJoules(stored), EnergyStore::lossless(PicoJoules::MAX));
        if ledger.reserve(PicoJoules(cost)).is_ok() {
            let compute = ((cost as f64 * share) as u64).min(cost);
            prop_assert_eq!(ledger.spend(Phase::Train, PicoJoules(compute)).unpaid.0, 0);
            prop_assert_eq!(ledger.spend(Phase::Transmit, PicoJoules(cost - compute)).unpaid.0, 0);
            prop_assert_eq!(ledger.reserved().0, 0);
        }
    }

    #[test]
    fn queue_follows_the_records_of_the_ledger(
        rounds in prop::collection::vec((0..1_000u64, 0..1_500u64), 1..100),
    ) {
        let mut ledger = Ledger::new(PicoJoules(1_000_000), EnergyStore::lossless(PicoJoules::MAX));
        let mut queue = EnergyQueue::default();
        let mut expected = 0i64;
        for (income, spent) in rounds {
            let before = ledger.snapshot();
            let _ = ledger.spend(Phase::Train, PicoJoules(spent));
            let _ = ledger.end_round(&Flows { income: PicoJoules(income), ..Flows::default() });
            queue.update(&ledger.snapshot().since(&before));
            expected = (expected - (income as i64 - spent as i64)).max(0);
            prop_assert_eq!(queue.0.0 as i64, expected);
        }
    }
}
