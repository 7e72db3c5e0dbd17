//! The firmware's store of keys on flash that loses its power inside any operation: a host always
//! finds a key it holds, the ceremony ends when it is repeated, and then the old key is gone.

use gleaner_firmware::keys::{KeyStore, Slots};
use gleaner_shared::wire::message::{DeviceId, RekeyRefusal};
use gleaner_shared::wire::{DeviceKeys, Generation, HostKeys, Key, Keyring};
use gleaner_tests::nor::{Nor, SECTOR};

const SHARD: Key = Key::new([0xA0; 32]);

fn open(flash: &Nor, shard: Key) -> KeyStore<Nor> {
    KeyStore::open(Some(Slots::new(flash.clone(), 0)), shard)
}

/// The generation a session between the two rests on, as their links would settle it.
fn session(host: &HostKeys, held: DeviceKeys) -> Option<u32> {
    let newest = host.generation();
    [newest, newest.saturating_sub(1)]
        .map(|wanted| held.choose(wanted))
        .into_iter()
        .find(|it| host.key_of(&DeviceId::default(), it.number) == Some(it.key))
        .map(|it| it.number)
}

/// Rotates a key as a host does, however often the power of the device fails; `cuts` are counts of
/// operations after which it does.
fn rotate(flash: &Nor, host: &mut HostKeys, new: Key, cuts: &[u32]) {
    let mut cuts = cuts.iter();
    let mut fail = |flash: &Nor| {
        flash.power_up();
        if let Some(&cut) = cuts.next() {
            flash.fail_after(cut);
        }
    };
    fail(flash);
    loop {
        if flash.is_dead() {
            fail(flash);
        }
        let mut store = open(flash, SHARD);
        while !flash.is_dead() {
            let held = store.held();
            let Some(generation) = session(host, held) else {
                panic!("locked out: {host:?} {held:?}");
            };
            store.confirm(generation);
            if flash.is_dead() {
                break;
            }
            if host.next.is_some() && generation == host.next_generation() {
                *host = HostKeys {
                    generation,
                    ..HostKeys::from(new)
                };
                return;
            }
            (host.generation, host.next) = (generation, Some(new));
            let next = Generation {
                number: generation + 1,
                key: new,
            };
            let taken = store.rekey(generation, next);
            assert!(taken.is_ok() || flash.is_dead(), "{taken:?}");
        }
    }
}

/// A chip and its host after so many rotations without an accident.
fn rotated(times: u8, seed: u64) -> (Nor, HostKeys) {
    let (flash, mut host) = (Nor::new(2, seed), HostKeys::from(SHARD));
    for time in 0..times {
        rotate(&flash, &mut host, Key::new([time + 1; 32]), &[]);
    }
    (flash, host)
}

#[test]
fn generations_count_up_and_each_drops_the_one_before() {
    let (flash, mut host) = rotated(0, 1);
    for generation in 1..=5 {
        let key = Key::new([generation; 32]);
        let old = host.key;
        rotate(&flash, &mut host, key, &[]);
        assert_eq!((host.key, host.generation), (key, generation.into()));
        let held = open(&flash, SHARD).held();
        assert_eq!((held.newest.key, held.previous), (key, None));
        assert!(!flash.contains(old.expose()), "generation {generation}");
    }
}

#[test]
fn a_power_cut_inside_any_operation_and_inside_its_repair_loses_no_key() {
    let new = Key::new([0xEE; 32]);
    let (mut ceremonies, mut most) = (0, 0);
    for rotations in [0, 1, 2] {
        let (flash, mut host) = rotated(rotations, 1);
        let before = flash.operations();
        rotate(&flash, &mut host, new, &[]);
        let operations = flash.operations() - before;
        most = most.max(operations);
        // The repair of the last operation writes a whole record again.
        for (first, second) in (0..operations).flat_map(|first| {
            let seconds = (0..2 * operations).map(Some).chain([None]);
            seconds.map(move |second| (first, second))
        }) {
            for seed in 0..25 {
                let (flash, mut host) = rotated(rotations, seed);
                let old = host;
                let cuts: Vec<u32> = [Some(first), second].into_iter().flatten().collect();
                rotate(&flash, &mut host, new, &cuts);
                ceremonies += 1;
                assert_eq!((host.key, host.next), (new, None));
                for start in 0..3 {
                    flash.power_up();
                    let held = open(&flash, SHARD).held();
                    let case = format!(
                        "{rotations} rotations, cut {first} {second:?}, seed {seed}, start {start}"
                    );
                    assert_eq!(session(&old, held), None, "{case}: the old key is dropped");
                    assert_eq!(session(&host, held), Some(host.generation), "{case}");
                }
            }
        }
    }
    println!("{ceremonies} ceremonies of up to {most} operations cut once or twice");
}

#[test]
fn a_host_that_lost_the_next_key_hands_over_another() {
    for cut in 0..12 {
        for seed in 0..50 {
            let (flash, mut host) = rotated(1, seed);
            let lost = Generation {
                number: 2,
                key: Key::new([0xDD; 32]),
            };
            open(&flash, SHARD).rekey(1, lost).unwrap();
            rotate(&flash, &mut host, Key::new([0xEE; 32]), &[cut]);
            assert!(!flash.contains(lost.key.expose()));
        }
    }
}

#[test]
fn what_cannot_follow_the_session_is_refused_and_changes_nothing() {
    let (flash, host) = rotated(2, 1);
    let mut store = open(&flash, SHARD);
    let (held, operations) = (store.held(), flash.operations());
    let new = Key::new([0xEE; 32]);
    let expected = RekeyRefusal::Generation { expected: 3 };
    for (number, key, refusal) in [
        (4, new, expected),
        (2, new, expected),
        (2, host.key, expected),
        (0, new, expected),
        (u32::MAX, new, expected),
        (3, Key::PUBLIC, RekeyRefusal::ZeroKey),
    ] {
        let next = Generation { number, key };
        assert_eq!(store.rekey(2, next), Err(refusal), "{number}");
    }
    // Of a session under a key that is not held any more.
    let next = Generation {
        number: 2,
        key: new,
    };
    let expected = RekeyRefusal::Generation { expected: 2 };
    assert_eq!(store.rekey(1, next), Err(expected));
    assert_eq!((store.held(), flash.operations()), (held, operations));
}

#[test]
fn a_board_without_a_key_or_without_flash_takes_none() {
    let next = Generation {
        number: 1,
        key: Key::new([1; 32]),
    };
    let flash = Nor::new(2, 1);
    let mut public = open(&flash, Key::PUBLIC);
    assert_eq!(public.rekey(0, next), Err(RekeyRefusal::NoKey));
    let mut emulated = KeyStore::<Nor>::open(None, SHARD);
    assert_eq!(emulated.rekey(0, next), Err(RekeyRefusal::NoStorage));
    assert_eq!(flash.operations(), 0);
}

#[test]
fn the_same_key_again_is_taken_without_writing() {
    let flash = Nor::new(2, 1);
    let mut store = open(&flash, SHARD);
    let next = Generation {
        number: 1,
        key: Key::new([1; 32]),
    };
    assert_eq!(store.rekey(0, next), Ok(()));
    let operations = flash.operations();
    assert_eq!(store.rekey(0, next), Ok(()));
    assert_eq!(flash.operations(), operations);
}

#[test]
fn flash_that_does_not_keep_what_is_written_is_noticed_and_the_key_stays() {
    let flash = Nor::new(1, 1);
    let mut store = open(&flash, SHARD);
    let next = |number| Generation {
        number,
        key: Key::new([1; 32]),
    };
    assert_eq!(store.rekey(0, next(1)), Ok(()));
    store.confirm(1);
    // The second slot lies behind the end of the chip.
    assert_eq!(store.rekey(1, next(2)), Err(RekeyRefusal::Storage));
    assert_eq!(store.held(), next(1).into());
}

#[test]
fn a_bit_that_is_worn_out_is_noticed_before_the_key_counts() {
    for byte in [0, 4, 8, 39, 40, 55] {
        let flash = Nor::new(2, 1);
        let mut store = open(&flash, SHARD);
        flash.wear_out(byte, 0xFF);
        let next = Generation {
            number: 1,
            key: Key::new([1; 32]),
        };
        assert_eq!(store.rekey(0, next), Err(RekeyRefusal::Storage), "{byte}");
        assert_eq!(store.held(), SHARD.into());
        assert_eq!(open(&flash, SHARD).held(), SHARD.into());
    }
}

/// The mark of a used key does not hold: the old key stays in flash until the mark does, but it is
/// not served while the board runs.
#[test]
fn a_mark_that_is_worn_out_erases_no_key() {
    let (flash, host) = rotated(1, 1);
    let mut store = open(&flash, SHARD);
    let next = Generation {
        number: 2,
        key: Key::new([0xEE; 32]),
    };
    store.rekey(1, next).unwrap();
    flash.wear_out(SECTOR + 56, 1);
    store.confirm(2);
    assert_eq!(store.held(), next.into());
    assert!(flash.contains(host.key.expose()) && flash.contains(next.key.expose()));
}

#[test]
fn a_shard_with_another_key_starts_a_new_history() {
    let (flash, host) = rotated(3, 1);
    let other = host.key;
    let mut store = open(&flash, other);
    assert_eq!(store.held(), other.into());
    let next = Generation {
        number: 1,
        key: Key::new([0xEE; 32]),
    };
    store.rekey(0, next).unwrap();
    store.confirm(1);
    assert_eq!(open(&flash, other).held(), next.into());
    // The old shard again: its own history is overwritten.
    assert_eq!(open(&flash, SHARD).held(), SHARD.into());
    assert_eq!(open(&flash, Key::PUBLIC).held(), Key::PUBLIC.into());
}
