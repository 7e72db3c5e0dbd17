//! The STM32's image: parity, clock, watchdog, resets and power cuts.

use gleaner_shared::energy::Phase;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::{MeasureRefusal, MeasureStep};
use gleaner_station::device::flash::target::Memory;
use gleaner_tests::emulated::{on_stm32, on_stm32_without_crystal};
use gleaner_tests::power_cut::{Recorded, rest_and_fail};
use gleaner_tests::reset::{self, Moment, reset_at};
use gleaner_tests::station::Station;
use gleaner_tests::wire::{LockstepWire, Wire};

use super::supply;

/// Registers of the STM32L4R5 and what they must say (RM0432).
const FLASH_ACR: u32 = 0x4002_2000;
const PWR_CR5: u32 = 0x4000_7080;
const RCC_CR: u32 = 0x4002_1000;
const RCC_CFGR: u32 = 0x4002_1008;
const RCC_PLLCFGR: u32 = 0x4002_100C;
const RCC_AHB2ENR: u32 = 0x4002_104C;
const RCC_CSR: u32 = 0x4002_1094;
/// AHB1SMENR, AHB2SMENR, AHB3SMENR, APB1SMENR1, APB1SMENR2, APB2SMENR.
const RCC_SLEEP: [u32; 6] = [
    0x4002_1068,
    0x4002_106C,
    0x4002_1070,
    0x4002_1078,
    0x4002_107C,
    0x4002_1080,
];
const TIM5_CR1: u32 = 0x4000_0C00;

fn register(wire: &mut LockstepWire, address: u32) -> u32 {
    let mut bytes = [0; 4];
    wire.board().read(address, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

/// The emulator knows the manual's rules for clock, voltage and wait states, and names whoever
/// breaks one on the way.
#[test]
fn an_stm32_climbs_to_120_mhz_by_the_manual_and_locks_to_its_crystal_if_there_is_one() {
    for (wire, locked) in [(on_stm32(None), true), (on_stm32_without_crystal(), false)] {
        let Some(mut wire) = wire else {
            return;
        };
        // The crystal takes 2 s, and the board greets long before.
        let ran = wire.board().run(1_000_000, &[], None).unwrap();
        assert!(!ran.tx.is_empty(), "no greeting");
        assert_eq!(register(&mut wire, RCC_CR) >> 2 & 1, 0);
        wire.board().run(6_000_000, &[], None).unwrap();
        assert_eq!(register(&mut wire, FLASH_ACR) & 0xF, 5, "wait states");
        assert_eq!(register(&mut wire, PWR_CR5) >> 8 & 1, 0, "R1MODE");
        // MSI over 1 times 60 over 2, and the AHB at the speed of the PLL.
        let pll = register(&mut wire, RCC_PLLCFGR);
        let (source, divided, times, over) = (pll & 3, pll >> 4 & 15, pll >> 8 & 0x7F, pll >> 25);
        assert_eq!((source, divided, times, over & 3), (1, 0, 60, 0));
        assert_eq!(
            register(&mut wire, RCC_CFGR) & 0xFF,
            0b1111,
            "PLL, undivided"
        );
        let lock = register(&mut wire, RCC_CR) >> 2 & 1;
        assert_eq!(lock == 1, locked, "MSIPLLEN");
        let clocking = wire.board().clocking().unwrap();
        assert_eq!(clocking.hertz, 120e6);
        assert_eq!(clocking.violations, [""; 0]);
        let ran = wire.board().run(1, &[], None).unwrap();
        assert_eq!((ran.stat.resets, ran.stat.lost_bytes), (0, 0));
    }
}

/// Flash, SRAM1; SRAM2, SRAM3; nothing; TIM5, PWR; LPUART1; nothing.
const LINK_TIME_AND_MEMORY: [u32; 6] = [3 << 8, 3 << 9, 0, 1 << 3 | 1 << 28, 1, 0];

#[test]
fn an_stm32_sleeps_with_the_clocks_of_link_time_and_memory_alone_and_is_idle_with_all() {
    let Some(wire) = on_stm32(None) else {
        return;
    };
    let gates =
        |station: &mut Station<_>| RCC_SLEEP.map(|address| register(&mut station.wire, address));
    let mut station = Station::new(wire);
    station.connect();
    assert_eq!(gates(&mut station), LINK_TIME_AND_MEMORY);

    let steps = [
        MeasureStep::Begin,
        MeasureStep::Wait {
            state: Phase::Sleep,
            time: Micros(20_000),
        },
    ];
    for (number, step) in steps.into_iter().enumerate() {
        assert_eq!(station.measure(number as u32, step), None, "{step:?}");
    }
    let all = gates(&mut station);
    for (all, least) in all.into_iter().zip(LINK_TIME_AND_MEMORY) {
        assert!(all & least == least && all != least, "{all:x}");
    }
    assert_eq!(station.measure(2, MeasureStep::End), None);
    assert_eq!(gates(&mut station), LINK_TIME_AND_MEMORY);
    assert!(
        station.marks.iter().any(|mark| mark.phase == Phase::Sleep),
        "no mark of sleep"
    );
    let clocking = station.wire.board().clocking().unwrap();
    assert_eq!(clocking.violations, [""; 0]);
}

/// The emulated converter has no noise: its step is 2 mV.
#[test]
fn an_stm32_tells_the_voltage_that_its_reference_is_measured_at() {
    let Some(wire) = on_stm32(None) else {
        return;
    };
    let mut station = Station::new(wire);
    station.connect();
    let told = supply(&mut station).expect("no voltage");
    assert!(told.abs_diff(3_300) <= 2, "{told} mV");
    assert_eq!(register(&mut station.wire, RCC_AHB2ENR) >> 13 & 1, 0, "on");
}

/// A wait takes as long at every clock, by the emulator's time and by the board's, and the link
/// goes on; a clock that is not there changes nothing.
#[test]
fn an_stm32_keeps_time_and_link_at_three_clocks() {
    const WAIT: Micros = Micros(50_000);
    let Some(wire) = on_stm32(None) else {
        return;
    };
    let mut station = Station::new(wire);
    station.connect();
    assert_eq!(station.measure(0, MeasureStep::Begin), None);
    let clocks = [60_000_000, 30_000_000, 120_000_000, 30_000_000];
    for (number, hz) in (1..).zip(clocks) {
        assert_eq!(station.measure(number, MeasureStep::Clock { hz }), None);
        assert_eq!(
            station.wire.board().clocking().unwrap().hertz,
            f64::from(hz)
        );
        let before = station.wire.now();
        let wait = MeasureStep::Wait {
            state: Phase::Sleep,
            time: WAIT,
        };
        assert_eq!(station.measure(100 + number, wait), None);
        let took = station.wire.now().0 - before.0;
        assert!((50_000..60_000).contains(&took), "{took} us at {hz} Hz");
    }
    let none = MeasureStep::Clock { hz: 48_000_000 };
    let stays = MeasureRefusal::Clock { hz: 30_000_000 };
    assert_eq!(station.measure(5, none), Some(stays));
    assert_eq!(station.measure(6, MeasureStep::End), None);
    let clocking = station.wire.board().clocking().unwrap();
    assert_eq!(clocking.hertz, 120e6);
    assert_eq!(clocking.violations, [""; 0]);

    let slept: Vec<_> = (station.marks.iter().zip(&station.marks[1..]))
        .filter(|(mark, _)| mark.phase == Phase::Sleep)
        .map(|(mark, next)| (mark.clk_hz, next.t_us.0 - mark.t_us.0))
        .collect();
    assert_eq!(slept.len(), clocks.len());
    for ((found, lasted), hz) in slept.into_iter().zip(clocks) {
        assert_eq!(found, hz);
        assert!((50_000..50_100).contains(&lasted), "{lasted} us at {hz} Hz");
    }
}

#[test]
fn an_stm32_whose_time_stops_is_reset_by_its_watchdog_and_greets_again() {
    let Some(mut wire) = on_stm32(None) else {
        return;
    };
    // One that nobody talks to is left alone.
    let ran = wire.board().run(5_000_000, &[], None).unwrap();
    assert!(!ran.watchdog && ran.stat.resets == 0);
    wire.board().write(TIM5_CR1, &[0; 4]).unwrap();
    let ran = wire.board().run(3_000_000, &[], None).unwrap();
    assert!(ran.watchdog && ran.stat.resets == 1, "{ran:?}");
    assert!(!ran.tx.is_empty(), "it does not greet again");
    // IWDGRSTF, which the program has read and cleared.
    assert_eq!(register(&mut wire, RCC_CSR) >> 29 & 1, 0);
}

#[test]
fn an_stm32_is_back_in_step_within_two_seconds_of_a_reset_at_work() {
    for moment in [Moment::Downloading, Moment::Training, Moment::Uploading] {
        let Some(wire) = on_stm32(Some(&reset::shard())) else {
            return;
        };
        let recovery = reset_at(&mut Station::new(wire), moment);
        println!("stm32: reset when {moment:?}, in step after {recovery}");
        assert!(recovery <= Micros(2_000_000), "{moment:?}: {recovery}");
    }
}

/// Closing a round on an STM32 erases a page of the journal, programs its record in 31 words of eight
/// bytes and its mark, erases 20 pages of a model, programs 9,955 words, a header of 31 and its mark.
const OPERATIONS: u32 = 1 + 32 + 20 + 9_955 + 32;
const BACK_WITHIN: Micros = Micros(3_000_000);

#[test]
fn an_stm32_whose_power_fails_in_its_flash_is_back_in_step_within_three_seconds() {
    let Some(mut wire) = on_stm32(Some(&reset::shard())) else {
        return;
    };
    wire.cut_at_flash_op(20);
    let mut station = Station::new(wire);
    let restart = rest_and_fail(&mut station);
    println!("stm32: power cut in a word of its journal: {restart:?}");
    assert!(!restart.knew_the_round && restart.after <= BACK_WITHIN);
    let stat = station.wire.stat();
    assert_eq!((stat.power_cuts, stat.resets), (1, 1));
    assert!(stat.flash_ecc_errors > 0, "nobody read the torn word");
}

/// Half done are an erasure of the journal, its record's last word and its mark, an erasure of the
/// model's area, a word of the model, its header and the header's mark.
#[test]
fn an_stm32_loses_nothing_that_was_closed_to_a_cut_in_any_kind_of_operation() {
    let Some(wire) = on_stm32(Some(&reset::shard())) else {
        return;
    };
    let mut closed = Recorded::close(wire);
    assert_eq!(closed.operations(), OPERATIONS);
    let cuts = [1, 32, 33, 40, 5_000, OPERATIONS - 5, OPERATIONS];
    for operation in cuts {
        let restart = closed.cut(operation, operation == OPERATIONS);
        println!("stm32: power cut in operation {operation}: {restart:?}");
        // A record whose words are all there counts, whatever became of its mark.
        assert_eq!(restart.knew_the_round, operation > 32, "{operation}");
        assert!(
            !restart.held_the_model,
            "{operation}: a model counts when it is marked"
        );
        assert!(restart.after <= BACK_WITHIN, "{operation}: {restart:?}");
    }
    let stat = closed.station.wire.stat();
    // No start but after a cut of ours: a reader of torn words goes on.
    assert_eq!(stat.resets as usize, cuts.len());
    assert!(stat.flash_ecc_errors as usize >= cuts.len(), "{stat:?}");
}
