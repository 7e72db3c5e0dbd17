//! The bus that carries events from the boards' tasks to the log and the live view.

use std::sync::mpsc as blocking;

use tokio::sync::mpsc;

use super::event::Event;

/// Opens a bus: the end that boards publish on, and the end that log and view read.
#[must_use]
pub fn open() -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (EventSender(sender), EventReceiver(receiver))
}

enum Item {
    Event(Event),
    /// Answered when everything before it was heard.
    Mark(blocking::SyncSender<()>),
}

impl Item {
    /// Returns the event, or answers the mark.
    fn event(self) -> Option<Event> {
        match self {
            Self::Event(event) => Some(event),
            Self::Mark(mark) => {
                // Whoever waited may have given up.
                let _ = mark.send(());
                None
            }
        }
    }
}

/// The end that tells.
#[derive(Clone)]
pub struct EventSender(mpsc::UnboundedSender<Item>);

impl EventSender {
    /// Publishes an event; without a receiver it is forgotten.
    pub fn publish(&self, event: Event) {
        let _ = self.0.send(Item::Event(event));
    }

    /// Waits until everything published so far was read, or nobody reads.
    pub fn flush(&self) {
        let (mark, heard) = blocking::sync_channel(1);
        let _ = self.0.send(Item::Mark(mark));
        // An error is an answer, too: the receiver is gone.
        let _ = heard.recv();
    }
}

/// The end that hears; what it returned counts as heard when it is asked again.
pub struct EventReceiver(mpsc::UnboundedReceiver<Item>);

impl EventReceiver {
    /// Waits for the next event; `None` when the last sender is gone.
    pub fn wait(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.0.blocking_recv()?.event() {
                return Some(event);
            }
        }
    }

    /// Returns an event that is here already.
    pub fn try_next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.0.try_recv().ok()?.event() {
                return Some(event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::event::EventKind;

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
}
