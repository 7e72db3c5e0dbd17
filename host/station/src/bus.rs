//! The bus that carries events from the boards' tasks to the log and the live view.
//!
//! The bus is bounded, and senders do not wait for room: optional events that find no room, or that
//! exceed their sender's quota, are dropped and counted. The record of a round
//! ([`EventKind::is_record`]) always gets through, since a run cannot be replayed without it. It is
//! small, and the fleet waits for the log at the end of every round.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc as blocking;
use std::sync::{Arc, Mutex, PoisonError};

use gleaner_files::Prefix;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::event::{Event, EventKind};
use super::log::EventLogError;
use super::rate_limit::{Admission, EventQuota};

/// Events on the bus before optional ones are dropped.
const ROOM: usize = 4096;

/// Opens a bus: the end that boards publish on, and the end that log and view read.
#[must_use]
pub fn open() -> (EventSender, EventReceiver) {
    let (sender, items) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let receiver = EventReceiver {
        items,
        waiting: Arc::clone(&waiting),
    };
    (EventSender::new(sender, waiting), receiver)
}

/// An item on the bus.
#[allow(
    clippy::large_enum_variant,
    reason = "a few at a time, and nearly all of them are the large one"
)]
pub enum BusItem {
    /// An event of a client.
    Event(Event),
    /// A request to write everything before it to the disk.
    Flush(Flush),
}

/// A request to write all earlier events to the disk; dropping it reports a failure.
pub struct Flush(blocking::SyncSender<Result<Prefix, EventLogError>>);

impl Flush {
    /// Reports length and hash of the log, or its error, to the sender of the request.
    pub fn answer(self, outcome: Result<Prefix, EventLogError>) {
        // The sender may have given up.
        let _ = self.0.send(outcome);
    }
}

/// The sending end; every board has its own.
pub struct EventSender {
    items: mpsc::UnboundedSender<BusItem>,
    /// Events on the bus, of all senders.
    waiting: Arc<AtomicUsize>,
    share: Mutex<Share>,
}

/// The quota of one sender, and its dropped events.
struct Share {
    quota: EventQuota,
    /// Events that were dropped since the last count was published.
    dropped: u64,
}

impl Clone for EventSender {
    fn clone(&self) -> Self {
        Self::new(self.items.clone(), Arc::clone(&self.waiting))
    }
}

impl EventSender {
    fn new(items: mpsc::UnboundedSender<BusItem>, waiting: Arc<AtomicUsize>) -> Self {
        let share = Mutex::new(Share {
            quota: EventQuota::new(),
            dropped: 0,
        });
        Self {
            items,
            waiting,
            share,
        }
    }

    /// Publishes an event. An optional event is dropped if there is no room or no quota, any event if
    /// there is no receiver.
    pub fn publish(&self, event: Event) {
        let mut share = self.share.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.waiting.load(Ordering::Relaxed) < ROOM;
        let passes = match share.quota.admit(Instant::now(), &event) {
            Admission::Always => true,
            Admission::IfRoom => room,
            Admission::Never => false,
        };
        if !passes {
            share.dropped += 1;
            return;
        }
        if room && share.dropped > 0 {
            let events = std::mem::take(&mut share.dropped);
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
        // A channel without a receiver takes nothing.
        if self.items.send(BusItem::Event(event)).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything published so far is on the disk; returns length and hash of the log.
    ///
    /// # Errors
    /// Returns the error of the log.
    pub fn flush(&self) -> Result<Prefix, EventLogError> {
        let (flush, answered) = blocking::sync_channel(1);
        let _ = self.items.send(BusItem::Flush(Flush(flush)));
        answered.recv().unwrap_or(Err(EventLogError::Closed))
    }
}

/// The receiving end, of log and view.
pub struct EventReceiver {
    items: mpsc::UnboundedReceiver<BusItem>,
    waiting: Arc<AtomicUsize>,
}

impl EventReceiver {
    /// Waits for the next item; returns `None` when the last sender is gone.
    pub fn wait(&mut self) -> Option<BusItem> {
        let item = self.items.blocking_recv()?;
        if let BusItem::Event(_) = item {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        Some(item)
    }

    /// Returns the next event without waiting.
    pub fn try_next(&mut self) -> Option<Event> {
        loop {
            match self.items.try_recv().ok()? {
                BusItem::Event(event) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    return Some(event);
                }
                // A receiver that does not wait writes nothing to the disk.
                BusItem::Flush(flush) => flush.answer(Ok(Prefix::default())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gleaner_sim::ClientId;
    use std::time::Duration;

    use gleaner_shared::energy::{Phase, Snapshot, Spent};
    use gleaner_shared::units::PicoJoules;

    use super::*;
    use crate::event::Measured;
    use crate::log::{EVENTS, EventLog};

    fn event(client: u32) -> Event {
        Event {
            client: ClientId(client),
            round: None,
            what: EventKind::Sent,
        }
    }

    #[test]
    fn a_flush_returns_after_all_earlier_events_were_handled() {
        let (sender, mut receiver) = open();
        let (dealt, seen) = blocking::channel();
        let thread = std::thread::spawn(move || {
            while let Some(item) = receiver.wait() {
                match item {
                    BusItem::Event(event) => dealt.send(event.client).unwrap(),
                    BusItem::Flush(flush) => flush.answer(Ok(Prefix::default())),
                }
            }
        });
        for client in 0..100 {
            sender.publish(event(client));
        }
        sender.flush().unwrap();
        assert_eq!(seen.try_iter().count(), 100);
        drop(sender);
        thread.join().unwrap();
    }

    #[test]
    fn a_flush_without_a_receiver_fails() {
        let (sender, receiver) = open();
        drop(receiver);
        sender.publish(event(1));
        assert!(matches!(sender.flush(), Err(EventLogError::Closed)));
    }

    fn arrived(client: u32, round: u32) -> Event {
        Event {
            client: ClientId(client),
            round: Some(round),
            what: EventKind::Arrived {
                exact: true,
                model: "a".to_owned(),
            },
        }
    }

    #[test]
    fn a_flood_is_dropped_and_counted_and_the_record_gets_through() {
        const EACH: usize = 1_000;
        let (honest, mut receiver) = open();
        let flooders = [(); 5].map(|()| honest.clone());
        let flood = |sender: &EventSender| (0..EACH).for_each(|_| sender.publish(event(1)));
        flooders.iter().for_each(flood);
        honest.publish(arrived(2, 1));
        let events: Vec<Event> = std::iter::from_fn(|| receiver.try_next()).collect();
        assert_eq!(events.len(), ROOM + 1);
        assert_eq!(events.last(), Some(&arrived(2, 1)));
        // There is room again: every sender with dropped events reports them.
        honest.publish(arrived(2, 2));
        flooders
            .iter()
            .for_each(|flooder| flooder.publish(event(1)));
        let received: Vec<Event> = std::iter::from_fn(|| receiver.try_next()).collect();
        let events = (5 * EACH - ROOM) as u64;
        let dropped = Event {
            what: EventKind::Dropped { events },
            ..event(1)
        };
        let others = [(); 4].map(|()| event(1));
        let expected = [arrived(2, 2)].into_iter().chain(others);
        assert_eq!(
            received,
            expected.chain([dropped, event(1)]).collect::<Vec<_>>()
        );
    }

    /// Every event that a board, or anybody on its line, can cause without end.
    fn floods() -> Vec<EventKind> {
        let text = || "\\u{1b}".repeat(40);
        let ledger = Snapshot {
            initial: PicoJoules(u64::MAX),
            stored: PicoJoules(u64::MAX),
            harvested: PicoJoules(u64::MAX),
            conversion: PicoJoules(u64::MAX),
            overflow: PicoJoules(u64::MAX),
            leaked: PicoJoules(u64::MAX),
            spent: Spent([PicoJoules(u64::MAX); Phase::COUNT]),
            rounds: u32::MAX,
            off: true,
        };
        let measured = Measured {
            loss_before: 1.0 / 3.0,
            loss_after: 2.0 / 3.0,
            samples: u32::MAX,
            epochs: u16::MAX,
            cycles: u64::MAX,
            cycles_per_sample: 1.0 / 3.0,
            compute_j: 1.0 / 3.0,
            radio_j: 1.0 / 3.0,
            harvest_j: 1.0 / 3.0,
            stored_j: 1.0 / 3.0,
        };
        vec![
            EventKind::Opened { place: text() },
            EventKind::Gone { reason: text() },
            EventKind::Connected {
                board: text(),
                build: text(),
                samples: Some(u32::MAX),
                shard_crc: Some(u32::MAX),
            },
            EventKind::Refused {
                reason: text(),
                times: u64::MAX,
            },
            EventKind::Lost { reason: text() },
            EventKind::LedgerDiffers {
                expected: ledger,
                found: ledger,
            },
            EventKind::LedgerRefused {
                field: "conversion".to_owned(),
                reported: u64::MAX,
                least: u64::MAX,
                most: u64::MAX,
                found: ledger,
            },
            EventKind::Sending {
                bytes: usize::MAX,
                whole: true,
            },
            EventKind::Sent,
            EventKind::Ordered {
                epochs: u32::MAX,
                channel: usize::MAX,
                power_w: 1.0 / 3.0,
            },
            EventKind::Epoch { done: u16::MAX },
            EventKind::Reported(Box::new(measured)),
            EventKind::Implausible { what: text() },
            EventKind::Receiving { have: 1, of: 2 },
        ]
    }

    #[tokio::test(start_paused = true)]
    async fn no_board_makes_the_log_grow_by_a_megabyte_in_a_minute_and_no_record_is_lost() {
        const A_SECOND: u64 = 500;
        const MINUTES: u32 = 2;
        for what in floods() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(EVENTS);
            let mut log = EventLog::open(&path, 0).unwrap();
            let length = || std::fs::metadata(&path).unwrap().len();
            let (station, mut receiver) = open();
            let board = station.clone();
            let (mut arrivals, mut counted) = (0, 0);
            for minute in 1..=MINUTES {
                let before = length();
                for second in 0..60 {
                    for number in 0..A_SECOND {
                        board.publish(Event {
                            client: ClientId(1),
                            // A new session comes between rounds, or in the middle of one.
                            round: (number % 2 == 0).then_some(minute),
                            what: what.clone(),
                        });
                    }
                    // A round of ten clients lasts six seconds.
                    if second % 6 == 0 {
                        let round = 10 * minute + second / 6;
                        (0..10).for_each(|client| station.publish(arrived(client, round)));
                    }
                    while let Some(event) = receiver.try_next() {
                        match event.what {
                            EventKind::Arrived { .. } => arrivals += 1,
                            EventKind::Dropped { events } => counted += events,
                            _ => counted += 1,
                        }
                        log.append(&event).unwrap();
                    }
                    tokio::time::advance(Duration::from_secs(1)).await;
                }
                let grown = length() - before;
                assert!(grown < 1_000_000, "{what:?}: {grown} bytes");
            }
            assert_eq!(arrivals, MINUTES * 10 * 10, "{what:?}");
            // All but those of the last second are published or counted.
            let published = u64::from(MINUTES) * 60 * A_SECOND;
            assert!(
                (published - A_SECOND..=published).contains(&counted),
                "{what:?}: {counted}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_record_of_a_round_gets_through_after_a_flood() {
        let (board, mut receiver) = open();
        let refused = |round| Event {
            client: ClientId(1),
            round: Some(round),
            what: EventKind::Lost {
                reason: "flood".repeat(1_000),
            },
        };
        (0..1_000).for_each(|_| board.publish(refused(1)));
        std::iter::from_fn(|| receiver.try_next()).for_each(drop);
        for round in 1..=3 {
            let ordered = Event {
                client: ClientId(1),
                round: Some(round),
                what: EventKind::Ordered {
                    epochs: 1,
                    channel: 0,
                    power_w: 0.1,
                },
            };
            // The count of dropped events comes first, and then one order.
            (0..1_000).for_each(|_| board.publish(ordered.clone()));
            let events: Vec<Event> = std::iter::from_fn(|| receiver.try_next()).collect();
            assert!(
                matches!(events[0].what, EventKind::Dropped { .. }),
                "{events:?}"
            );
            assert_eq!(events[1], ordered);
            (0..1_000).for_each(|_| board.publish(refused(round)));
        }
    }
}
