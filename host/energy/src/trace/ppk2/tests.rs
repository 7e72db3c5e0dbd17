use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::trace::{
    About, AnyTrace, Block, Format, Kind, Losses, Missing, Options, Place, Sink, Trace, TraceError,
    copy, open,
};

const GOOD: &str =
    r#"{"metadata":{"samplesPerSecond":100000,"startSystemTime":1700000000000},"formatVersion":2}"#;

fn about(samples: u64, has_pins: bool) -> About {
    About {
        source: "test".to_owned(),
        rate_hz: 100_000.0,
        samples: Some(samples),
        has_pins,
    }
}

/// Samples as a PPK2 would store them at 3.3 V.
fn samples(count: usize) -> Block {
    let current = |at: usize| shown(150.0 + 40.0 * (at % 97) as f64, 0);
    Block {
        power_w: (0..count)
            .map(|at| (f64::from(current(at)) * 3.3e-6) as f32)
            .collect(),
        pins: (0..count).map(|at| (at / 50) as u8).collect(),
    }
}

fn archive(block: &Block, packed: bool) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let about = about(block.power_w.len() as u64, !block.pins.is_empty());
    let mut writer = Writer::try_new(&mut bytes, &about, 3.3, packed).unwrap();
    writer.push(block).unwrap();
    writer.finish().unwrap();
    bytes.into_inner()
}

fn zipped(entries: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn session(frames: &[(f32, u16)]) -> Vec<u8> {
    let bytes = frames.iter().flat_map(|(current, pairs)| {
        let mut frame = current.to_le_bytes().to_vec();
        frame.extend(pairs.to_be_bytes());
        frame
    });
    bytes.collect()
}

fn file(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("trace.ppk2");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn at_3v3() -> Options {
    Options {
        voltage_v: Some(3.3),
        ..Options::default()
    }
}

fn read(path: &Path, options: &Options) -> Result<Block, TraceError> {
    let mut trace = open(path, options)?;
    let (mut whole, mut block) = (Block::default(), Block::default());
    while trace.read(&mut block)? {
        whole.power_w.extend_from_slice(&block.power_w);
        whole.pins.extend_from_slice(&block.pins);
    }
    assert!(!trace.read(&mut block)?, "the end stays the end");
    Ok(whole)
}

fn refused(bytes: &[u8]) -> TraceError {
    let folder = TempDir::new().unwrap();
    read(&file(&folder, bytes), &at_3v3()).unwrap_err()
}

#[test]
fn logic_levels_are_stored_as_bit_pairs() {
    assert_eq!(pairs(0), 0x5555);
    assert_eq!(pairs(0xFF), 0xAAAA);
    assert_eq!(pairs(0b101), 0x5566);
    for wanted in 0..=255 {
        assert_eq!(levels(pairs(wanted), !wanted), wanted);
    }
    // Both levels within an averaged sample, and an unknown level, are as before.
    assert_eq!(levels(0xFFFF, 0x5A), 0x5A);
    assert_eq!(levels(0, 0x5A), 0x5A);
}

#[test]
fn a_written_archive_is_read_back_bit_for_bit() {
    let folder = TempDir::new().unwrap();
    // More than a block, and not a multiple of one.
    let block = samples(70_001);
    for packed in [false, true] {
        let path = file(&folder, &archive(&block, packed));
        let trace = open(&path, &Options::default()).unwrap();
        assert_eq!(trace.about().samples, Some(70_001));
        assert_eq!(trace.about().rate_hz, 100_000.0);
        assert_eq!(trace.voltage_v(), Some(3.3));
        assert!(read(&path, &Options::default()).unwrap() == block);
    }
}

#[test]
fn a_trace_without_pins_is_read_back_without_pins() {
    let folder = TempDir::new().unwrap();
    let block = Block {
        pins: Vec::new(),
        ..samples(1000)
    };
    let path = file(&folder, &archive(&block, false));
    assert!(!open(&path, &at_3v3()).unwrap().about().has_pins);
    assert_eq!(read(&path, &at_3v3()).unwrap(), block);
}

#[test]
fn the_applications_own_layout_is_read_with_a_stated_voltage() {
    let frames = session(&[(1000.0, pairs(0)), (2000.0, pairs(3)), (2000.0, 0xFFFF)]);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let entries = [
            ("session.raw", &frames[..]),
            ("minimap.raw", b"{}"),
            ("metadata.json", GOOD.as_bytes()),
        ];
        let folder = TempDir::new().unwrap();
        let path = file(&folder, &zipped(&entries, method));
        let block = read(&path, &at_3v3()).unwrap();
        assert_eq!(block.power_w, [3.3e-3, 6.6e-3, 6.6e-3]);
        assert_eq!(block.pins, [0, 3, 3]);
        let silent = read(&path, &Options::default()).unwrap_err();
        assert!(matches!(silent.kind, Kind::NoVoltage), "{silent}");
        let strange = Options {
            voltage_v: Some(-1.0),
            ..Options::default()
        };
        let strange = read(&path, &strange).unwrap_err();
        assert!(matches!(strange.kind, Kind::Voltage(-1.0)), "{strange}");
    }
}

#[test]
fn lost_samples_are_reported_with_their_place_and_reading_continues() {
    let folder = TempDir::new().unwrap();
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = Writer::try_new(&mut bytes, &about(0, true), 3.3, false).unwrap();
    let block = samples(100);
    for lost in [1, 63] {
        writer.push(&block).unwrap();
        writer.lose(lost).unwrap();
    }
    writer.push(&block).unwrap();
    writer.finish().unwrap();
    let mut trace = open(&file(&folder, bytes.get_ref()), &at_3v3()).unwrap();
    let mut found = Block::default();
    let mut told = Vec::new();
    for _ in 0..6 {
        match trace.read(&mut found) {
            Ok(true) => assert_eq!(found, block),
            Ok(false) => break,
            Err(error) => told.push((error.place.unwrap(), error.gap().unwrap())),
        }
    }
    let gap = |at, missing| (Place::Sample(at), Missing::Exactly(missing));
    assert_eq!(told, [gap(100, 1), gap(201, 63)]);
    assert!(!trace.read(&mut found).unwrap());
}

#[test]
fn a_measured_value_is_never_taken_for_a_lost_sample() {
    let folder = TempDir::new().unwrap();
    // 0.2 uA with all inputs low is how the application marks a lost sample.
    let block = Block {
        power_w: vec![(f64::from(LOST_UA) * 3.3e-6) as f32; 64],
        pins: vec![0; 64],
    };
    let back = read(&file(&folder, &archive(&block, false)), &at_3v3()).unwrap();
    for (found, wanted) in back.power_w.iter().zip(&block.power_w) {
        assert!((found / wanted - 1.0).abs() < 1e-6);
    }
}

#[test]
fn implausible_samples_are_rejected_with_their_place() {
    let of = |frames: &[(f32, u16)]| {
        let frames = session(frames);
        let entries = [
            ("session.raw", &frames[..]),
            ("metadata.json", GOOD.as_bytes()),
        ];
        refused(&zipped(&entries, CompressionMethod::Stored))
    };
    let second = |current| {
        let error = of(&[(5.0, 0x5555), (current, 0x5555), (5.0, 0x5555)]);
        assert_eq!(error.place, Some(Place::Sample(1)));
        error.kind
    };
    assert!(matches!(second(f32::NAN), Kind::Gap { missing } if missing.least() == 1));
    assert!(matches!(second(f32::INFINITY), Kind::NotFinite { .. }));
    assert!(matches!(second(4e7), Kind::TooMuch { .. }));
    let amperes = of(&[(0.02, 0xAAAA); 50]).kind;
    assert!(matches!(amperes, Kind::TooLittle { .. }), "{amperes}");
    assert!(matches!(of(&[]).kind, Kind::Empty));
}

#[test]
fn damaged_archives_are_rejected_whichever_byte_is_wrong() {
    let good = archive(&samples(60), false);
    let folder = TempDir::new().unwrap();
    let whole = read(&file(&folder, &good), &at_3v3()).unwrap();
    for cut in (0..good.len()).step_by(37) {
        assert!(
            read(&file(&folder, &good[..cut]), &at_3v3()).is_err(),
            "cut at {cut}"
        );
    }
    // A flipped bit is rejected unless it is in a part that is not read, such as the overview.
    for at in (0..good.len()).step_by(11) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        if let Ok(found) = read(&file(&folder, &bad), &at_3v3()) {
            assert_eq!(found, whole, "byte {at}");
        }
    }
}

#[test]
fn inconsistent_archives_are_rejected() {
    let frames = session(&[(500.0, 0x5555); 100]);
    let with = |metadata: &str| {
        let entries = [
            ("session.raw", &frames[..]),
            ("metadata.json", metadata.as_bytes()),
        ];
        refused(&zipped(&entries, CompressionMethod::Deflated))
    };
    for rate in ["0", "-5"] {
        assert!(matches!(
            with(&GOOD.replace("100000", rate)).kind,
            Kind::Rate(_)
        ));
    }
    let later = GOOD.replace("\"formatVersion\":2", "\"formatVersion\":3");
    assert!(matches!(with(&later).kind, Kind::Metadata(_)));
    assert!(matches!(with("{").kind, Kind::Metadata(_)));
    assert!(matches!(with(&"x".repeat(70_000)).kind, Kind::Archive(_)));
    let missing = zipped(
        &[("metadata.json", GOOD.as_bytes())],
        CompressionMethod::Stored,
    );
    assert!(matches!(refused(&missing).kind, Kind::Archive(_)));
    let torn = [
        ("session.raw", &frames[..frames.len() - 2]),
        ("metadata.json", GOOD.as_bytes()),
    ];
    let torn = refused(&zipped(&torn, CompressionMethod::Stored));
    assert!(matches!(torn.kind, Kind::Torn(4)), "{torn}");
    // A directory that claims more than its bytes can hold.
    let mut bomb = zipped(
        &[("metadata.json", GOOD.as_bytes()), ("session.raw", &frames)],
        CompressionMethod::Deflated,
    );
    let directory = bomb.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    bomb[directory + 24..directory + 28].copy_from_slice(&0xF000_0000_u32.to_le_bytes());
    let bomb = refused(&bomb).to_string();
    assert!(bomb.contains("claims 4026531840 bytes"), "{bomb}");
}

#[test]
fn an_endless_zip_directory_is_rejected_in_bounded_memory() {
    let frames = session(&[(500.0, 0x5555); 10]);
    let entries = [("metadata.json", GOOD.as_bytes()), ("session.raw", &frames)];
    let good = zipped(&entries, CompressionMethod::Stored);
    let (first, end) = (
        good.windows(4).position(|w| w == b"PK\x01\x02").unwrap(),
        good.windows(4).rposition(|w| w == b"PK\x05\x06").unwrap(),
    );
    let record = &good[first..end];
    let repeated = record.repeat(20_000);
    let mut bad = [&good[..first], &repeated, &good[end..]].concat();
    let tail = first + repeated.len();
    bad[tail + 8..tail + 12].copy_from_slice(&[0x40, 0x9C, 0x40, 0x9C]);
    bad[tail + 12..tail + 16].copy_from_slice(&(repeated.len() as u32).to_le_bytes());
    assert!(matches!(refused(&bad).kind, Kind::Archive(_)));
}

#[test]
fn files_of_other_formats_are_rejected() {
    let kind = |bytes: &[u8]| refused(bytes).kind;
    assert!(matches!(kind(b"jlsfmt\r\n \n \x1a  \xb2\x1c"), Kind::Jls));
    assert!(matches!(kind(b""), Kind::Empty));
    assert!(matches!(kind(b"\x01\x00\x02\x00"), Kind::Unknown(_)));
    assert!(matches!(kind(b"PK\x05\x06"), Kind::Archive(_)));
    let folder = TempDir::new().unwrap();
    let nowhere = open(&folder.path().join("none"), &at_3v3()).err().unwrap();
    assert!(matches!(nowhere.kind, Kind::Io(_)), "{nowhere}");
}

fn raw() -> Options {
    Options {
        format: Some(Format::Ppk2Raw),
        ..at_3v3()
    }
}

fn dump(parts: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = RawWriter::new(&mut bytes, Calibration::default(), 3.3);
    for (known, lost) in parts {
        let block = Block {
            power_w: vec![1e-3; *known],
            pins: vec![5; *known],
        };
        writer.push(&block).unwrap();
        writer.lose(*lost).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

#[test]
fn every_gap_of_a_serial_line_is_found_from_its_counter() {
    let folder = TempDir::new().unwrap();
    for lost in 1..64 {
        let path = file(&folder, &dump(&[(200, lost), (200, 0)]));
        let mut trace = open(&path, &raw()).unwrap();
        let mut block = Block::default();
        assert!(trace.read(&mut block).unwrap());
        assert_eq!((block.power_w.len(), block.pins[0]), (200, 5));
        assert!((block.power_w[7] / 1e-3 - 1.0).abs() < 1e-3);
        let error = trace.read(&mut block).unwrap_err();
        assert_eq!(error.place, Some(Place::Byte(800)));
        assert_eq!(error.gap(), Some(Missing::Modulo64(lost as u8)));
        assert!(trace.read(&mut block).unwrap());
        assert_eq!(block.power_w.len(), 200);
        assert!(!trace.read(&mut block).unwrap());
    }
    assert_eq!(
        read(&file(&folder, &dump(&[(5000, 0)])), &raw())
            .unwrap()
            .pins
            .len(),
        5000
    );
}

#[test]
fn a_serial_line_that_lost_single_bytes_is_rejected() {
    let folder = TempDir::new().unwrap();
    let mut bytes = dump(&[(100, 0)]);
    bytes.truncate(399);
    let error = read(&file(&folder, &bytes), &raw()).unwrap_err();
    assert!(matches!(error.kind, Kind::Torn(3)), "{error}");
    let mut bytes = dump(&[(1000, 0)]);
    bytes.remove(801);
    bytes.truncate(3000);
    let mut trace = open(&file(&folder, &bytes), &raw()).unwrap();
    let mut block = Block::default();
    let end = loop {
        match trace.read(&mut block) {
            Ok(true) => {}
            Ok(false) => panic!("bytes that do not line up were read to the end"),
            Err(error) if error.gap().is_some() => {}
            Err(error) => break error.kind,
        }
    };
    assert!(matches!(end, Kind::Slipped | Kind::Range(_)), "{end}");
}

#[test]
fn copies_keep_losses_only_if_asked() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, &dump(&[(100, 9), (100, 0)]));
    let copied = |losses| {
        let mut trace: AnyTrace = open(&path, &raw()).unwrap();
        let mut bytes = Cursor::new(Vec::new());
        let writer = Writer::try_new(&mut bytes, &about(0, true), 3.3, false).unwrap();
        copy(&mut trace, writer, losses, |_| ()).map(|()| bytes.into_inner())
    };
    let refused = copied(Losses::Refused).unwrap_err();
    assert_eq!(refused.place, Some(Place::Byte(400)));
    assert_eq!(refused.gap(), Some(Missing::Modulo64(9)));
    let kept = TempDir::new().unwrap();
    let error = read(&file(&kept, &copied(Losses::Kept).unwrap()), &at_3v3()).unwrap_err();
    assert_eq!(error.gap(), Some(Missing::Exactly(9)));
}
