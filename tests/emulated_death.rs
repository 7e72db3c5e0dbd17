//! Images that die in their emulators: a panic, a fault, a stack that overflows and a program that
//! hangs end in a reset, and the next start knows which it was.

use gleaner_shared::units::Micros;
use gleaner_station::device::Board;
use gleaner_station::device::image::Program;
use gleaner_tests::emulated::{on_m4, on_rp2040};
use gleaner_tests::wire::Wire;

/// How long a board may take to die and to say so, in the time it lives in.
const PATIENCE: Micros = Micros(60_000_000);

/// Has a board's self-test die as `byte` says, and returns what it says of it after the reset: words,
/// starts, and where it faulted.
fn died(board: Board, byte: u8) -> Option<(String, u32, u32)> {
    match board {
        Board::M4 => Some(last_words(on_m4(Program::SelfTest, None)?, byte)),
        _ => Some(last_words(on_rp2040(Program::SelfTest, None)?, byte)),
    }
}

fn last_words<W: Wire>(mut line: W, byte: u8) -> (String, u32, u32) {
    let mut heard = Vec::new();
    let deadline = line.now().saturating_add(PATIENCE);
    while line.now() < deadline {
        // A byte that comes before the UART is up is lost, and said again.
        let later = line.now().saturating_add(Micros(20_000));
        heard.extend(line.exchange(&[byte], later));
        let text = String::from_utf8_lossy(&heard);
        // It may have ended its first report before it heard: what counts comes behind.
        let said = text.find("died ").map(|at| &text[at..]);
        if let Some(said) = said.filter(|said| said.contains("end\n"))
            && let Some(said) = said.lines().next()
        {
            let mut parts = said.rsplitn(3, ' ');
            let mut number = || parts.next()?.parse().ok();
            let (pc, boots) = (number().unwrap(), number().unwrap());
            return (parts.next().unwrap().to_owned(), boots, pc);
        }
    }
    panic!("it did not die: {:?}", String::from_utf8_lossy(&heard));
}

#[test]
fn a_panic_is_told_with_its_place_and_words() {
    for board in [Board::M4, Board::Rp2040] {
        let Some((words, boots, _)) = died(board, b'p') else {
            continue;
        };
        let place = "firmware/src/mortal.rs:";
        assert!(
            words.starts_with(&format!("died panic at {place}")),
            "{words}"
        );
        assert!(words.ends_with(": on purpose"), "{words}");
        assert_eq!(boots, 2, "{board}");
    }
}

/// rp2040js raises no faults; the handler is the same.
#[test]
fn a_fault_is_told_with_its_place_and_an_overflowing_stack_is_one() {
    let Some((words, boots, pc)) = died(Board::M4, b'f') else {
        return;
    };
    assert!(words.starts_with("died hard fault"), "{words}");
    let program = Board::M4.program_flash();
    assert!(program.contains(&pc) && pc > 0, "{pc:#x}");
    assert_eq!(boots, 2);
    // Nothing was pushed below the end of RAM, so nobody knows where it was.
    let (words, boots, pc) = died(Board::M4, b'o').expect("the emulator is there");
    assert!(words.starts_with("died hard fault"), "{words}");
    assert_eq!((boots, pc), (2, 0));
}

#[test]
fn a_program_that_hangs_is_told_by_its_watchdog() {
    for board in [Board::M4, Board::Rp2040] {
        if let Some((words, boots, _)) = died(board, b'w') {
            assert!(words.starts_with("died watchdog"), "{words}");
            assert_eq!(boots, 2, "{board}");
        }
    }
}
