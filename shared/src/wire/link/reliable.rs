//! Reliable messages, once and in order: one in flight, numbered, repeated until acknowledged.

use heapless::Deque;

use super::timing::{Retry, Timing};
use crate::units::Micros;

/// Most queued reliable messages.
pub const QUEUE: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct Outbox<T> {
    waiting: Deque<T, QUEUE>,
    /// Number of the first message.
    number: u16,
    /// When the first message is to be sent (again).
    retry: Retry,
    /// When the first message was first sent.
    first_said: Option<Micros>,
}

impl<T> Outbox<T> {
    pub(super) const fn new() -> Self {
        Self {
            waiting: Deque::new(),
            number: 0,
            retry: Retry::STOPPED,
            first_said: None,
        }
    }

    /// Adds a message, or returns it if the queue is full.
    pub(super) fn push(&mut self, message: T, timing: &Timing) -> Result<(), T> {
        let idle = self.waiting.is_empty();
        self.waiting.push_back(message)?;
        if idle {
            self.retry = Retry::at_once(timing.retry);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Tells whether every message was sent at least once.
    pub(super) fn is_said(&self) -> bool {
        self.waiting.len() <= usize::from(self.first_said.is_some())
    }

    pub(super) const fn due(&self) -> Option<Micros> {
        self.retry.due()
    }

    /// Returns the message to send now with its number, and whether it was sent before.
    pub(super) fn take_due(&mut self, now: Micros, timing: &Timing) -> Option<(u16, bool, &T)> {
        if !self.retry.is_due(now) {
            return None;
        }
        let front = self.waiting.front()?;
        self.retry.back_off(now, timing.retry_max);
        let repeated = self.first_said.is_some();
        self.first_said.get_or_insert(now);
        Some((self.number, repeated, front))
    }

    /// Removes a message that arrived.
    pub(super) fn acknowledged(&mut self, number: u16, timing: &Timing) {
        if number != self.number || self.first_said.is_none() {
            return;
        }
        self.waiting.pop_front();
        self.number = self.number.wrapping_add(1);
        self.first_said = None;
        self.retry = match self.waiting.is_empty() {
            true => Retry::STOPPED,
            false => Retry::at_once(timing.retry),
        };
    }

    /// Returns the timeout of the first message.
    pub(super) fn stalls_at(&self, timing: &Timing) -> Option<Micros> {
        self.first_said
            .map(|said| said.saturating_add(timing.stall))
    }
}

/// What to do with a numbered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The next message: deliver and acknowledge.
    Deliver,
    /// The last message again: acknowledge only.
    Repeat,
    Ignore,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inbox {
    expected: u16,
}

impl Inbox {
    pub(super) const fn judge(&self, number: u16) -> Verdict {
        if number == self.expected {
            Verdict::Deliver
        } else if number == self.expected.wrapping_sub(1) {
            Verdict::Repeat
        } else {
            Verdict::Ignore
        }
    }

    pub(super) const fn delivered(&mut self) {
        self.expected = self.expected.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing::for_bit_rate(921_600);

    #[test]
    fn repeats_with_growing_waits_until_acknowledged() {
        let mut outbox = Outbox::new();
        outbox.push('a', &TIMING).unwrap();
        outbox.push('b', &TIMING).unwrap();
        let mut said = Vec::new();
        let mut now = Micros(0);
        while said.len() < 5 {
            if let Some((number, _, &message)) = outbox.take_due(now, &TIMING) {
                assert_eq!((number, message), (0, 'a'));
                said.push(now);
            }
            now = outbox.due().unwrap();
        }
        assert!(!outbox.is_said());
        let waits: Vec<u64> = said.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert_eq!(waits, [1, 2, 4, 8].map(|times| times * TIMING.retry.0));
        outbox.acknowledged(7, &TIMING);
        outbox.acknowledged(0, &TIMING);
        assert!(!outbox.is_said());
        assert_eq!(outbox.take_due(now, &TIMING), Some((1, false, &'b')));
        assert!(outbox.is_said());
    }

    #[test]
    fn a_full_queue_returns_the_message() {
        let mut outbox = Outbox::new();
        for message in 0..QUEUE {
            outbox.push(message, &TIMING).unwrap();
        }
        assert_eq!(outbox.push(9, &TIMING), Err(9));
    }

    #[test]
    fn delivers_each_number_once_across_the_wrap() {
        let mut inbox = Inbox { expected: u16::MAX };
        assert_eq!(inbox.judge(u16::MAX), Verdict::Deliver);
        inbox.delivered();
        assert_eq!(inbox.judge(u16::MAX), Verdict::Repeat);
        assert_eq!(inbox.judge(0), Verdict::Deliver);
        assert_eq!(inbox.judge(1), Verdict::Ignore);
    }
}
