//! Crash reports: a record in RAM that start-up does not clear. Panic and fault handlers write it,
//! and the next start keeps it until the base station has received it.

use core::fmt::{Display, Write as _};
use core::panic::PanicInfo;

use gleaner_shared::wire::message::{Crash, PLACE_BYTES, ResetCause};
use heapless::String;
use serde::{Deserialize, Serialize};

use crate::retained::{self, Retained};

/// Size of the record in RAM.
pub const CRASH_BYTES: usize = 192;

const MAGIC: [u8; 4] = *b"GLC1";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Starts since the last power cut.
    boots: u32,
    /// The cause that the program recorded before its last reset.
    ended: Option<ResetCause>,
    /// The last crash that was not reported yet.
    unreported: Option<Crash>,
}

impl Record {
    fn load(memory: &impl Retained<CRASH_BYTES>) -> Option<Self> {
        retained::load(MAGIC, memory)
    }

    fn store(&self, memory: &mut impl Retained<CRASH_BYTES>) {
        retained::store(MAGIC, self, memory);
    }
}

/// Records that the program is about to restart the board.
pub fn record_restart(memory: &mut impl Retained<CRASH_BYTES>) {
    record(memory, ResetCause::Software, None);
}

/// Records the place and message of a panic.
pub fn record_panic(memory: &mut impl Retained<CRASH_BYTES>, info: &PanicInfo<'_>) {
    let place = info.location();
    let place = place.map(|it| place_of(it.file(), it.line()));
    let crash = Crash {
        place: place.unwrap_or_default(),
        message: beginning(info.message()),
        ..blank(ResetCause::Panic)
    };
    record(memory, ResetCause::Panic, Some(crash));
}

/// Records where the core faulted; zeros if unknown.
pub fn record_fault(memory: &mut impl Retained<CRASH_BYTES>, pc: u32, lr: u32) {
    let crash = Crash {
        pc,
        lr,
        ..blank(ResetCause::HardFault)
    };
    record(memory, ResetCause::HardFault, Some(crash));
}

fn record(memory: &mut impl Retained<CRASH_BYTES>, ended: ResetCause, crash: Option<Crash>) {
    let mut record = Record::load(memory).unwrap_or_default();
    record.ended = Some(ended);
    record.unreported = crash.or(record.unreported);
    record.store(memory);
}

const fn blank(cause: ResetCause) -> Crash {
    Crash {
        cause,
        boots: 0,
        place: String::new(),
        message: String::new(),
        pc: 0,
        lr: 0,
    }
}

/// Returns `file:line`, cut at the front if it is too long.
fn place_of(file: &str, line: u32) -> String<PLACE_BYTES> {
    let mut number = String::<11>::new();
    // At most a colon and ten digits.
    let _ = write!(number, ":{line}");
    let mut from = (file.len() + number.len()).saturating_sub(PLACE_BYTES);
    while !file.is_char_boundary(from) {
        from += 1;
    }
    let mut place = String::new();
    let _ = place.push_str(&file[from..]);
    let _ = place.push_str(&number);
    place
}

/// Returns the beginning of a text, as much as fits.
fn beginning<const N: usize>(text: impl Display) -> String<N> {
    /// Writes characters until the string is full.
    struct Cut<'a, const N: usize>(&'a mut String<N>);
    impl<const N: usize> core::fmt::Write for Cut<'_, N> {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            for letter in text.chars() {
                if self.0.push(letter).is_err() {
                    return Err(core::fmt::Error);
                }
            }
            Ok(())
        }
    }
    let mut cut = String::new();
    // The rest is left out.
    let _ = write!(Cut(&mut cut), "{text}");
    cut
}

/// The cause of this start, the number of starts, and a crash that was not reported yet.
#[derive(Debug)]
pub struct CrashLog<M> {
    memory: M,
    record: Record,
    cause: ResetCause,
}

impl<M: Retained<CRASH_BYTES>> CrashLog<M> {
    /// Counts a start. A cause recorded by the program is more precise than `chip`, the cause that
    /// the chip reports; some chips do not distinguish brown-out from power-on, but RAM that
    /// survived does.
    pub fn open(mut memory: M, chip: ResetCause) -> Self {
        let kept = Record::load(&memory);
        let survived = kept.is_some();
        let mut record = kept.unwrap_or_default();
        record.boots = record.boots.wrapping_add(1);
        let ended = record.ended.take();
        let cause = ended.unwrap_or(match chip {
            ResetCause::PowerOn | ResetCause::BrownOut if survived => ResetCause::BrownOut,
            ResetCause::BrownOut => ResetCause::PowerOn,
            chip => chip,
        });
        match (&mut record.unreported, ended) {
            // The crash report that the program itself has just written.
            (Some(crash), Some(_)) if crash.boots == 0 => crash.boots = record.boots,
            (unreported, None) if cause.is_crash() => {
                *unreported = Some(Crash {
                    boots: record.boots,
                    ..blank(cause)
                });
            }
            _ => {}
        }
        record.store(&mut memory);
        Self {
            memory,
            record,
            cause,
        }
    }

    /// Returns the cause of this start.
    pub const fn cause(&self) -> ResetCause {
        self.cause
    }

    /// Returns the number of starts since the last power cut.
    pub const fn boots(&self) -> u32 {
        self.record.boots
    }

    /// Returns the crash that was not reported yet.
    pub const fn unreported(&self) -> Option<&Crash> {
        self.record.unreported.as_ref()
    }

    /// Deletes the crash after it was reported.
    pub fn mark_reported(&mut self) {
        self.record.unreported = None;
        self.record.store(&mut self.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: [u8; CRASH_BYTES] = [0xA5; CRASH_BYTES];

    fn start(memory: &[u8; CRASH_BYTES], chip: ResetCause) -> CrashLog<[u8; CRASH_BYTES]> {
        CrashLog::open(*memory, chip)
    }

    #[test]
    fn the_largest_record_comes_back_and_every_flipped_bit_is_noise() {
        let record = Record {
            boots: u32::MAX,
            ended: Some(ResetCause::HardFault),
            unreported: Some(Crash {
                boots: u32::MAX,
                place: beginning("p".repeat(99)),
                message: beginning("m".repeat(999)),
                pc: u32::MAX,
                lr: u32::MAX,
                ..blank(ResetCause::HardFault)
            }),
        };
        let mut memory = NOISE;
        record.store(&mut memory);
        assert_eq!(Record::load(&memory), Some(record));
        for bit in 0..CRASH_BYTES * 8 {
            let mut flipped = memory;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::load(&flipped), None, "bit {bit}");
        }
    }

    #[test]
    fn a_fault_is_reported_until_acknowledged_across_resets() {
        let mut memory = start(&NOISE, ResetCause::PowerOn).memory;
        record_fault(&mut memory, 0x1000_0400, 0x1000_0101);
        let mut log = start(&memory, ResetCause::Software);
        assert_eq!((log.cause(), log.boots()), (ResetCause::HardFault, 2));
        let crash = log.unreported().unwrap().clone();
        assert_eq!(
            (crash.pc, crash.lr, crash.boots),
            (0x1000_0400, 0x1000_0101, 2)
        );
        record_restart(&mut log.memory);
        let mut later = start(&log.memory, ResetCause::Pin);
        assert_eq!((later.cause(), later.boots()), (ResetCause::Software, 3));
        assert_eq!(later.unreported(), Some(&crash));
        later.mark_reported();
        let last = start(&later.memory, ResetCause::Pin);
        assert_eq!((last.cause(), last.unreported()), (ResetCause::Pin, None));
    }

    #[test]
    fn the_chips_cause_counts_where_the_program_recorded_none() {
        let first = start(&NOISE, ResetCause::BrownOut);
        assert_eq!(
            (first.cause(), first.unreported()),
            (ResetCause::PowerOn, None)
        );
        for (chip, cause) in [
            (ResetCause::Watchdog, ResetCause::Watchdog),
            // The chip cannot tell; the memory that survived can.
            (ResetCause::PowerOn, ResetCause::BrownOut),
        ] {
            let log = start(&first.memory, chip);
            assert_eq!(log.cause(), cause);
            assert_eq!(
                log.unreported().map(|it| (it.cause, it.boots)),
                Some((cause, 2))
            );
        }
        for harmless in [ResetCause::Pin, ResetCause::Debugger, ResetCause::Software] {
            let log = start(&first.memory, harmless);
            assert_eq!((log.cause(), log.unreported()), (harmless, None));
        }
    }

    #[test]
    fn a_newer_crash_replaces_an_unreported_one() {
        let mut memory = start(&NOISE, ResetCause::PowerOn).memory;
        record_fault(&mut memory, 4, 8);
        let log = start(&memory, ResetCause::Software);
        let log = start(&log.memory, ResetCause::Watchdog);
        let newest = log.unreported().unwrap();
        assert_eq!(
            (newest.cause, newest.boots, newest.pc),
            (ResetCause::Watchdog, 3, 0)
        );
    }

    #[test]
    fn long_places_lose_their_beginning_and_long_messages_their_end() {
        assert_eq!(place_of("src/client.rs", 7), "src/client.rs:7");
        let long = format!("{}/src/ring.rs", "ä".repeat(40));
        let place = place_of(&long, u32::MAX);
        assert!(place.ends_with("ä/src/ring.rs:4294967295"), "{place}");
        assert!(place.len() <= PLACE_BYTES);
        let message: String<5> = beginning(format_args!("{}{}", "wörter", 5));
        assert_eq!(message, "wört");
    }
}
