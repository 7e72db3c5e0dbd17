//! Fault injection into images in their emulators: panic, hard fault, stack overflow and a hanging
//! program end in a reset, and the next start reports which it was.

use gleaner_shared::units::Micros;
use gleaner_station::device::Board;
use gleaner_station::device::image::Program;
use gleaner_tests::emulated::{on_m4, on_rp2040};
use gleaner_tests::wire::Wire;

/// Limit on the time from fault to report, in the board's time.
const PATIENCE: Micros = Micros(60_000_000);

/// Injects the fault that `byte` selects into a board's self-test and returns its report after the
/// reset: text, number of starts, and the address of the fault.
fn inject(board: Board, byte: u8) -> Option<(String, u32, u32)> {
    match board {
        Board::M4 => Some(report_of(on_m4(Program::SelfTest, None)?, byte)),
        _ => Some(report_of(on_rp2040(Program::SelfTest, None)?, byte)),
    }
}

fn report_of<W: Wire>(mut line: W, byte: u8) -> (String, u32, u32) {
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
    panic!(
        "no fault was reported: {:?}",
        String::from_utf8_lossy(&heard)
    );
}

#[test]
fn a_panic_is_reported_with_its_line_and_message() {
    for board in [Board::M4, Board::Rp2040] {
        let Some((words, boots, _)) = inject(board, b'p') else {
            continue;
        };
        assert!(words.starts_with("died panic at firmware/src/"), "{words}");
        assert!(words.ends_with(": on purpose"), "{words}");
        assert_eq!(boots, 2, "{board}");
    }
}

/// rp2040js raises no faults; the handler is the same.
#[test]
fn a_fault_is_reported_with_its_address_and_a_stack_overflow_is_a_fault() {
    let Some((words, boots, pc)) = inject(Board::M4, b'f') else {
        return;
    };
    assert!(words.starts_with("died hard fault"), "{words}");
    let program = Board::M4.program_flash();
    assert!(program.contains(&pc) && pc > 0, "{pc:#x}");
    assert_eq!(boots, 2);
    // The stack frame could not be written below RAM, so the address is unknown.
    let (words, boots, pc) = inject(Board::M4, b'o').expect("the emulator is there");
    assert!(words.starts_with("died hard fault"), "{words}");
    assert_eq!((boots, pc), (2, 0));
}

#[test]
fn a_program_that_hangs_is_reset_by_its_watchdog() {
    for board in [Board::M4, Board::Rp2040] {
        if let Some((words, boots, _)) = inject(board, b'w') {
            assert!(words.starts_with("died watchdog"), "{words}");
            assert_eq!(boots, 2, "{board}");
        }
    }
}
