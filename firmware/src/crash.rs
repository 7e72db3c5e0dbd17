//! How the board came to start: a second record in RAM that start-up does not clear, in which the
//! program leaves its last words and the next start finds them, until somebody was told.

use core::fmt::{Display, Write as _};
use core::panic::PanicInfo;

use crc::{CRC_32_ISO_HDLC, Crc};
use gleaner_shared::wire::message::{Crash, PLACE_BYTES, ResetCause};
use heapless::String;
use serde::{Deserialize, Serialize};

/// Bytes of the record in memory.
pub const CRASH_BYTES: usize = 192;

const MAGIC: [u8; 4] = *b"GLC1";
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const BODY: usize = 8;

/// Memory that keeps its content over a reset.
pub trait CrashMemory {
    /// Reads all of it, noise included.
    fn read(&self) -> [u8; CRASH_BYTES];

    /// Writes all of it.
    fn write(&mut self, bytes: &[u8; CRASH_BYTES]);
}

impl<M: CrashMemory> CrashMemory for &mut M {
    fn read(&self) -> [u8; CRASH_BYTES] {
        (**self).read()
    }

    fn write(&mut self, bytes: &[u8; CRASH_BYTES]) {
        (**self).write(bytes);
    }
}

/// Memory of tests.
impl CrashMemory for [u8; CRASH_BYTES] {
    fn read(&self) -> [u8; CRASH_BYTES] {
        *self
    }

    fn write(&mut self, bytes: &[u8; CRASH_BYTES]) {
        *self = *bytes;
    }
}

/// The record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Starts since the memory was noise.
    boots: u32,
    /// How the program said it would end.
    ended: Option<ResetCause>,
    /// The last crash that nobody was told of.
    untold: Option<Crash>,
}

impl Record {
    /// Reads the record; `None` where the memory holds none, as after a power cut.
    fn load(memory: &impl CrashMemory) -> Option<Self> {
        let bytes = memory.read();
        let (head, body) = bytes.split_at(BODY);
        let crc = CRC32.checksum(body).to_le_bytes();
        if head[..4] != MAGIC || head[4..] != crc {
            return None;
        }
        postcard::from_bytes(body).ok()
    }

    fn store(&self, memory: &mut impl CrashMemory) {
        let mut bytes = [0; CRASH_BYTES];
        // The largest record fits; a test stores it.
        if postcard::to_slice(self, &mut bytes[BODY..]).is_ok() {
            bytes[..4].copy_from_slice(&MAGIC);
            let crc = CRC32.checksum(&bytes[BODY..]);
            bytes[4..BODY].copy_from_slice(&crc.to_le_bytes());
        }
        memory.write(&bytes);
    }
}

/// Leaves word that the program is about to restart the board.
pub fn leave_restart(memory: &mut impl CrashMemory) {
    leave(memory, ResetCause::Software, None);
}

/// Leaves what a panic says.
pub fn leave_panic(memory: &mut impl CrashMemory, info: &PanicInfo<'_>) {
    let place = info.location();
    let place = place.map(|it| place_of(it.file(), it.line()));
    let crash = Crash {
        place: place.unwrap_or_default(),
        message: beginning(info.message()),
        ..blank(ResetCause::Panic)
    };
    leave(memory, ResetCause::Panic, Some(crash));
}

/// Leaves where the core faulted; zeros where that is not known.
pub fn leave_fault(memory: &mut impl CrashMemory, pc: u32, lr: u32) {
    let crash = Crash {
        pc,
        lr,
        ..blank(ResetCause::HardFault)
    };
    leave(memory, ResetCause::HardFault, Some(crash));
}

fn leave(memory: &mut impl CrashMemory, ended: ResetCause, crash: Option<Crash>) {
    let mut record = Record::load(memory).unwrap_or_default();
    record.ended = Some(ended);
    record.untold = crash.or(record.untold);
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

/// Returns `file:line`, without the beginning of a path that is too long.
fn place_of(file: &str, line: u32) -> String<PLACE_BYTES> {
    let mut number = String::<11>::new();
    // A colon and ten digits are the most.
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

/// Returns as much of a text as fits.
fn beginning<const N: usize>(text: impl Display) -> String<N> {
    /// Takes characters until there is no room, and says it took them all.
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
    // What does not fit is left out.
    let _ = write!(Cut(&mut cut), "{text}");
    cut
}

/// What is known of the board's starts.
#[derive(Debug)]
pub struct CrashLog<M> {
    memory: M,
    record: Record,
    cause: ResetCause,
}

impl<M: CrashMemory> CrashLog<M> {
    /// Counts a start. The program's own last words tell more than the chip, which says `chip`;
    /// some chips do not tell a brown-out from power that comes, but memory that survived does.
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
        match (&mut record.untold, ended) {
            // Its own words, just found.
            (Some(crash), Some(_)) if crash.boots == 0 => crash.boots = record.boots,
            (untold, None) if cause.is_crash() => {
                *untold = Some(Crash {
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

    /// Returns what led to this start.
    #[must_use]
    pub const fn cause(&self) -> ResetCause {
        self.cause
    }

    /// Returns the starts since the memory was noise.
    #[must_use]
    pub const fn boots(&self) -> u32 {
        self.record.boots
    }

    /// Returns the crash that nobody was told of.
    #[must_use]
    pub const fn untold(&self) -> Option<&Crash> {
        self.record.untold.as_ref()
    }

    /// Forgets the crash: somebody was told.
    pub fn told(&mut self) {
        self.record.untold = None;
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
            untold: Some(Crash {
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
    fn a_fault_is_told_until_somebody_heard_whatever_resets_come_between() {
        let mut memory = start(&NOISE, ResetCause::PowerOn).memory;
        leave_fault(&mut memory, 0x1000_0400, 0x1000_0101);
        let mut log = start(&memory, ResetCause::Software);
        assert_eq!((log.cause(), log.boots()), (ResetCause::HardFault, 2));
        let crash = log.untold().unwrap().clone();
        assert_eq!(
            (crash.pc, crash.lr, crash.boots),
            (0x1000_0400, 0x1000_0101, 2)
        );
        leave_restart(&mut log.memory);
        let mut later = start(&log.memory, ResetCause::Pin);
        assert_eq!((later.cause(), later.boots()), (ResetCause::Software, 3));
        assert_eq!(later.untold(), Some(&crash));
        later.told();
        let last = start(&later.memory, ResetCause::Pin);
        assert_eq!((last.cause(), last.untold()), (ResetCause::Pin, None));
    }

    #[test]
    fn the_chips_word_counts_where_the_program_had_none() {
        let first = start(&NOISE, ResetCause::BrownOut);
        assert_eq!((first.cause(), first.untold()), (ResetCause::PowerOn, None));
        for (chip, cause) in [
            (ResetCause::Watchdog, ResetCause::Watchdog),
            // The chip cannot tell; the memory that survived can.
            (ResetCause::PowerOn, ResetCause::BrownOut),
        ] {
            let log = start(&first.memory, chip);
            assert_eq!(log.cause(), cause);
            assert_eq!(
                log.untold().map(|it| (it.cause, it.boots)),
                Some((cause, 2))
            );
        }
        for harmless in [ResetCause::Pin, ResetCause::Debugger, ResetCause::Software] {
            let log = start(&first.memory, harmless);
            assert_eq!((log.cause(), log.untold()), (harmless, None));
        }
    }

    #[test]
    fn a_newer_crash_takes_the_place_of_an_untold_one() {
        let mut memory = start(&NOISE, ResetCause::PowerOn).memory;
        leave_fault(&mut memory, 4, 8);
        let log = start(&memory, ResetCause::Software);
        let log = start(&log.memory, ResetCause::Watchdog);
        let newest = log.untold().unwrap();
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
