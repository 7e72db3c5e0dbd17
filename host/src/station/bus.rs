//! The bus that carries events from the boards' tasks to the log and the live view.
//!
//! It is bounded, and nobody waits for room on it: news that find none are dropped and counted.
//! What belongs to a round's record ([`EventKind::is_record`]) always gets through, for without it
//! a run could not be replayed; there is little of it in a round, and the fleet waits for the log
//! at the end of every round.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc as blocking;

use tokio::sync::mpsc;

use super::event::{Event, EventKind};

/// Events that may wait before news are dropped.
const ROOM: usize = 4096;

/// Opens a bus: the end that boards publish on, and the end that log and view read.
#[must_use]
pub fn open() -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let heard = EventReceiver {
        items: receiver,
        waiting: Arc::clone(&waiting),
    };
    let events = EventSender {
        items: sender,
        waiting,
        dropped: AtomicU64::new(0),
    };
    (events, heard)
}

enum Item {
    Event(Event),
    /// Answered when everything before it was heard.
    Mark(blocking::SyncSender<()>),
}

impl Item {
    /// Returns the event, which waits no longer, or answers the mark.
    fn event(self, waiting: &AtomicUsize) -> Option<Event> {
        match self {
            Self::Event(event) => {
                waiting.fetch_sub(1, Ordering::Relaxed);
                Some(event)
            }
            Self::Mark(mark) => {
                // Whoever waited may have given up.
                let _ = mark.send(());
                None
            }
        }
    }
}

/// The end that tells; every board has its own.
pub struct EventSender {
    items: mpsc::UnboundedSender<Item>,
    /// Events on the way, of all senders.
    waiting: Arc<AtomicUsize>,
    /// News of this sender that found no room and were not told of yet.
    dropped: AtomicU64,
}

impl Clone for EventSender {
    fn clone(&self) -> Self {
        Self {
            items: self.items.clone(),
            waiting: Arc::clone(&self.waiting),
            dropped: AtomicU64::new(0),
        }
    }
}

impl EventSender {
    /// Publishes an event; without a receiver it is forgotten, without room only news are.
    pub fn publish(&self, event: Event) {
        if self.waiting.load(Ordering::Relaxed) >= ROOM {
            if event.what.is_record() {
                self.send(event);
            } else {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        let events = self.dropped.swap(0, Ordering::Relaxed);
        if events > 0 {
            self.send(Event {
                client: event.client,
                round: event.round,
                what: EventKind::Dropped { events },
            });
        }
        self.send(event);
    }

    fn send(&self, event: Event) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // Without a receiver nothing waits for long: the channel takes nothing.
        if self.items.send(Item::Event(event)).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything published so far was read, or nobody reads.
    pub fn flush(&self) {
        let (mark, heard) = blocking::sync_channel(1);
        let _ = self.items.send(Item::Mark(mark));
        // An error is an answer, too: the receiver is gone.
        let _ = heard.recv();
    }
}

/// The end that hears; what it returned counts as heard when it is asked again.
pub struct EventReceiver {
    items: mpsc::UnboundedReceiver<Item>,
    waiting: Arc<AtomicUsize>,
}

impl EventReceiver {
    /// Waits for the next event; `None` when the last sender is gone.
    pub fn wait(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.items.blocking_recv()?.event(&self.waiting) {
                return Some(event);
            }
        }
    }

    /// Returns an event that is here already.
    pub fn try_next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.items.try_recv().ok()?.event(&self.waiting) {
                return Some(event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(client: u32) -> Event {
        Event {
            client,
            round: None,
            what: EventKind::Sent,
        }
    }

    #[test]
    fn whoever_waits_goes_on_after_the_last_news_was_dealt_with() {
        let (sender, mut receiver) = open();
        let (dealt, seen) = blocking::channel();
        let thread = std::thread::spawn(move || {
            while let Some(event) = receiver.wait() {
                dealt.send(event.client).unwrap();
            }
        });
        for client in 0..100 {
            sender.publish(event(client));
        }
        sender.flush();
        assert_eq!(seen.try_iter().count(), 100);
        drop(sender);
        thread.join().unwrap();
    }

    #[test]
    fn nobody_waits_for_a_hearer_that_is_gone() {
        let (sender, receiver) = open();
        drop(receiver);
        sender.publish(event(1));
        sender.flush();
    }

    #[test]
    fn a_flood_nobody_reads_is_dropped_and_counted_and_the_record_gets_through() {
        let (flooder, mut receiver) = open();
        let honest = flooder.clone();
        let flood = 10 * ROOM;
        (0..flood).for_each(|_| flooder.publish(event(1)));
        let arrived = |model: &str| Event {
            client: 2,
            round: Some(1),
            what: EventKind::Arrived {
                model: model.to_owned(),
            },
        };
        honest.publish(arrived("a"));
        let heard: Vec<Event> = std::iter::from_fn(|| receiver.try_next()).collect();
        assert_eq!(heard.len(), ROOM + 1);
        assert_eq!(heard.last(), Some(&arrived("a")));
        // There is room again: whoever lost something says so, and nobody else.
        honest.publish(arrived("b"));
        flooder.publish(event(1));
        let heard: Vec<Event> = std::iter::from_fn(|| receiver.try_next()).collect();
        let events = (flood - ROOM) as u64;
        let dropped = Event {
            what: EventKind::Dropped { events },
            ..event(1)
        };
        assert_eq!(heard, [arrived("b"), dropped, event(1)]);
    }
}
