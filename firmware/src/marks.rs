//! Phase marks of a measured board, queued until they are sent.

use gleaner_shared::energy::Phase;
use gleaner_shared::units::{Cycles, Micros};
use gleaner_shared::wire::message::Mark;
use heapless::Deque;

/// Length of the queue of marks; a mark that finds no room is lost and its number is missing.
const MARKS: usize = 8;

/// The marks of a measurement.
#[derive(Debug)]
pub struct Marks {
    open: Option<Mark>,
    over: Deque<Mark, MARKS>,
}

impl Marks {
    /// Returns the state without a measurement.
    pub const fn new() -> Self {
        Self {
            open: None,
            over: Deque::new(),
        }
    }

    /// Returns the current phase, during a measurement.
    pub fn phase(&self) -> Option<Phase> {
        self.open.map(|mark| mark.phase)
    }

    /// Begins a measurement with mark 0.
    pub fn begin(&mut self, phase: Phase, now: Micros, clk_hz: u32) {
        self.over.clear();
        self.open = Some(blank(0, phase, now, clk_hz));
    }

    /// Ends a measurement and its last mark.
    pub fn end(&mut self) {
        if let Some(mark) = self.open.take() {
            let _ = self.over.push_back(mark);
        }
    }

    /// Ends the phase and begins another.
    pub fn enter(&mut self, phase: Phase, now: Micros, clk_hz: u32) {
        if let Some(mark) = self.open {
            let _ = self.over.push_back(mark);
            self.open = Some(blank(mark.seq.wrapping_add(1), phase, now, clk_hz));
        }
    }

    /// Adds work to the current phase.
    pub fn worked(&mut self, cycles: Cycles, samples: u32) {
        if let Some(mark) = &mut self.open {
            mark.cycles = mark.cycles.saturating_add(cycles);
            mark.samples = mark.samples.saturating_add(samples);
        }
    }

    /// Adds cycles of opening or sealing frames to a phase of the line; other phases count their own
    /// work, which the line interrupts.
    pub fn framed(&mut self, cycles: Cycles) {
        if matches!(self.phase(), Some(Phase::Receive | Phase::Transmit)) {
            self.worked(cycles, 0);
        }
    }

    /// Adds bytes to the current phase.
    pub fn passed(&mut self, bytes: usize) {
        if let Some(mark) = &mut self.open {
            mark.bytes = mark.bytes.saturating_add(bytes as u32);
        }
    }

    /// Returns the oldest completed mark.
    pub fn front(&self) -> Option<Mark> {
        self.over.front().copied()
    }

    /// Removes the oldest completed mark after it was sent.
    pub fn pop(&mut self) {
        self.over.pop_front();
    }
}

const fn blank(seq: u32, phase: Phase, t_us: Micros, clk_hz: u32) -> Mark {
    Mark {
        seq,
        phase,
        t_us,
        cycles: Cycles::ZERO,
        samples: 0,
        bytes: 0,
        clk_hz,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(marks: &mut Marks) -> Vec<Mark> {
        core::iter::from_fn(|| {
            let mark = marks.front();
            marks.pop();
            mark
        })
        .collect()
    }

    #[test]
    fn a_mark_is_queued_when_its_phase_ends_with_the_work_done_in_it() {
        let mut marks = Marks::new();
        marks.enter(Phase::Train, Micros(1), 1);
        marks.worked(Cycles(1), 1);
        assert_eq!((marks.phase(), marks.front()), (None, None));

        marks.begin(Phase::Idle, Micros(10), 48);
        marks.passed(7);
        marks.enter(Phase::Train, Micros(20), 48);
        marks.worked(Cycles(300), 60);
        marks.end();
        let told = drain(&mut marks);
        assert_eq!(told.len(), 2);
        assert_eq!((told[0].seq, told[0].bytes), (0, 7));
        let train = told[1];
        assert_eq!((train.seq, train.t_us), (1, Micros(20)));
        assert_eq!((train.cycles, train.samples), (Cycles(300), 60));
        assert_eq!(marks.phase(), None);
    }

    #[test]
    fn cycles_of_frames_are_counted_in_the_phases_of_the_line() {
        let mut marks = Marks::new();
        marks.begin(Phase::Receive, Micros(0), 1);
        marks.framed(Cycles(5));
        marks.enter(Phase::Train, Micros(1), 1);
        marks.worked(Cycles(7), 1);
        marks.framed(Cycles(11));
        marks.enter(Phase::Transmit, Micros(2), 1);
        marks.framed(Cycles(13));
        marks.end();
        let cycles: Vec<u64> = drain(&mut marks).iter().map(|it| it.cycles.0).collect();
        assert_eq!(cycles, [5, 7, 13]);
    }

    #[test]
    fn a_mark_without_room_leaves_a_gap() {
        let mut marks = Marks::new();
        marks.begin(Phase::Idle, Micros(0), 1);
        for at in 0..MARKS as u64 + 3 {
            marks.enter(Phase::Train, Micros(at), 1);
        }
        let told = drain(&mut marks);
        marks.enter(Phase::Idle, Micros(99), 1);
        assert_eq!(told.last().unwrap().seq, MARKS as u32 - 1);
        assert_eq!(marks.front().unwrap().seq, MARKS as u32 + 3);
    }
}
