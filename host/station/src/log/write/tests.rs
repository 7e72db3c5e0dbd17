//! Tests of the log on a full disk and after a crash, at every byte.

use super::*;
use crate::log::read::parse;
use crate::log::{EVENTS, each_line, each_line_within};

fn event(round: u32, what: EventKind) -> Event {
    Event {
        client: ClientId(2),
        round: Some(round),
        what,
    }
}

fn absent(round: u32) -> Event {
    let reason = "gone".to_owned();
    let declined = false;
    event(round, EventKind::Absent { reason, declined })
}

fn optional(round: u32) -> Event {
    event(round, EventKind::Sent)
}

/// A disk of limited size, which takes as much of a line as fits, as a file system does.
#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    room: usize,
    cuts: bool,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room.saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(&bytes[..taken]);
        match taken {
            0 => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for Disk {
    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        if !self.cuts && self.bytes.len() as u64 > bytes {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.bytes.truncate(bytes as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn log_on(room: usize, cuts: bool) -> EventLog<Disk> {
    let bytes = Vec::new();
    let disk = Disk { bytes, room, cuts };
    EventLog::on(disk, Path::new("run/events.jsonl"), GrowingHash::default())
}

/// Reads every line, none of which may be broken.
fn events_on(disk: &Disk) -> Vec<Event> {
    let text = std::str::from_utf8(&disk.bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let event = |line: &str| match parse(line.as_bytes()).unwrap() {
        Line::Event { event, .. } => event,
        Line::Session { .. } => panic!("{line}"),
    };
    text.lines().map(event).collect()
}

#[test]
fn a_full_disk_leaves_whole_lines_and_counts_dropped_events() {
    let dropped = |events| event(1, EventKind::Dropped { events });
    for room in 0..400 {
        let mut log = log_on(room, true);
        for _ in 0..5 {
            log.append(&optional(1)).unwrap();
        }
        let before = events_on(&log.storage);
        assert!(before.iter().all(|event| *event == optional(1)));
        // There is room again.
        log.storage.room = usize::MAX;
        log.append(&absent(1)).unwrap();
        log.sync().unwrap();
        let lost = 5 - before.len() as u64;
        let counted = (lost > 0).then(|| dropped(lost));
        let expected: Vec<Event> = before
            .into_iter()
            .chain(counted)
            .chain([absent(1)])
            .collect();
        assert_eq!(events_on(&log.storage), expected, "room for {room} bytes");
    }
}

#[test]
fn a_round_without_its_record_is_never_synced() {
    let whole = {
        let mut log = log_on(usize::MAX, true);
        log.append(&absent(1)).unwrap();
        log.storage.bytes.len()
    };
    for room in 0..whole - 6 {
        let mut log = log_on(room, true);
        let refused = log.append(&absent(1)).unwrap_err();
        assert!(matches!(refused, EventLogError::Unwritten { .. }));
        // Room comes too late: the line is missing, and the next ones would hide that.
        log.storage.room = usize::MAX;
        assert!(log.append(&absent(1)).is_err());
        assert!(log.sync().is_err());
        assert_eq!(events_on(&log.storage), []);
        assert!(log.finish().is_err());
    }
}

#[test]
fn half_a_line_that_could_not_be_cut_off_is_cut_off_before_the_next() {
    let mut log = log_on(20, false);
    log.append(&optional(1)).unwrap();
    assert_eq!(log.storage.bytes.len(), 20);
    log.append(&optional(1)).unwrap();
    log.storage.room = usize::MAX;
    log.storage.cuts = true;
    log.append(&absent(1)).unwrap();
    let dropped = event(1, EventKind::Dropped { events: 2 });
    assert_eq!(events_on(&log.storage), [dropped, absent(1)]);
}

#[test]
fn dropped_events_are_counted_in_the_log_or_returned() {
    let mut log = log_on(0, true);
    log.append(&optional(1)).unwrap();
    log.append(&optional(1)).unwrap();
    assert_eq!(log.finish().unwrap(), 2);
    let mut log = log_on(0, true);
    log.append(&optional(1)).unwrap();
    log.storage.room = usize::MAX;
    assert_eq!(log.finish().unwrap(), 0);
}

#[test]
fn written_lines_are_read_after_a_crash_at_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(EVENTS);
    let mut log = EventLog::open(&path, 0).unwrap();
    log.append(&absent(1)).unwrap();
    let one = log.whole.bytes() as usize;
    log.append(&absent(2)).unwrap();
    drop(log);
    let whole = std::fs::read(&path).unwrap();
    let rounds = || -> Vec<Option<u32>> {
        let lines = each_line(&path).unwrap().map(Result::unwrap);
        let round = |line| match line {
            Line::Event { event, .. } => event.round,
            Line::Session { .. } => None,
        };
        lines.map(round).collect()
    };
    for length in one..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        // The last line may lack its end alone.
        assert_eq!(rounds()[..2], [None, Some(1)], "{length} bytes");
        let mut log = EventLog::open(&path, 1).unwrap();
        log.append(&absent(3)).unwrap();
        assert_eq!(rounds(), [None, Some(1), None, Some(3)], "{length} bytes");
    }
}

#[test]
fn a_long_piece_without_an_end_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(EVENTS);
    drop(EventLog::open(&path, 0).unwrap());
    let mut text = std::fs::read(&path).unwrap();
    let length = text.len();
    // What a power cut may leave of a file that had grown.
    text.resize(length + 20_000, 0);
    std::fs::write(&path, text).unwrap();
    drop(EventLog::open(&path, 1).unwrap());
    assert_eq!(each_line(&path).unwrap().map(Result::unwrap).count(), 2);
}

#[test]
fn a_log_is_written_by_one_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(EVENTS);
    let first = EventLog::open(&path, 0).unwrap();
    let refused = EventLog::open(&path, 0).unwrap_err();
    assert!(matches!(refused, EventLogError::InUse { .. }), "{refused}");
    drop(first);
    EventLog::open(&path, 0).unwrap();
}

#[test]
fn a_round_beyond_the_scenario_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(EVENTS);
    let mut log = EventLog::open(&path, 0).unwrap();
    log.append(&absent(5)).unwrap();
    let read = || each_line_within(&path, 5).unwrap();
    assert_eq!(read().map(Result::unwrap).count(), 2);
    log.append(&absent(4_000_000_000)).unwrap();
    let message = read().last().unwrap().unwrap_err().to_string();
    let end = "line 3: round 4000000000, but the scenario has 5 rounds";
    assert!(message.ends_with(end), "{message}");
}
