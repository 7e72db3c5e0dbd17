use std::path::PathBuf;

use tempfile::TempDir;

use super::super::{Missing, Sink, open};
use super::*;

fn file(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("trace.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn volts(voltage_v: f64) -> Options {
    Options {
        voltage_v: Some(voltage_v),
        ..Options::default()
    }
}

fn columns(text: &str) -> Options {
    Options {
        columns: Some(text.parse().unwrap()),
        ..Options::default()
    }
}

fn read(text: &str, options: &Options) -> Result<(About, Block), TraceError> {
    let folder = TempDir::new().unwrap();
    let mut trace = open(&file(&folder, text), options)?;
    let (mut whole, mut block) = (Block::default(), Block::default());
    while trace.read(&mut block)? {
        whole.power_w.extend_from_slice(&block.power_w);
        whole.pins.extend_from_slice(&block.pins);
    }
    Ok((trace.about().clone(), whole))
}

/// Returns the line of an error, 0 if it concerns the whole file, and its kind.
fn refused(text: &str, options: &Options) -> (u64, Kind) {
    let error = read(text, options).unwrap_err();
    match error.place {
        Some(Place::Line(line)) => (line, error.kind),
        place => {
            assert_eq!(place, None);
            (0, error.kind)
        }
    }
}

#[test]
fn the_ppk2s_table_is_read_with_and_without_columns() {
    let text = "Timestamp(ms),Current(uA),D0-D7\n0,1000.000,00000000\n0.01,2000.000,1X-00000\n\
                0.02,3000.000,01000001\n";
    let (about, block) = read(text, &volts(2.0)).unwrap();
    assert_eq!(about.rate_hz, 100_000.0);
    assert_eq!(block.power_w, [2e-3, 4e-3, 6e-3]);
    assert_eq!(block.pins, [0, 1, 0b1000_0010]);
    let apart = "Timestamp(ms),Current(uA),D0,D1,D2,D3,D4,D5,D6,D7\r\n5,500,1,0,0,0,0,0,0,0\r\n\
                 6,500,1,1,0,0,0,0,0,0\r\n";
    let (about, block) = read(apart, &volts(1.0)).unwrap();
    assert_eq!((about.rate_hz, block.pins), (1000.0, vec![1, 3]));
    let rate = Options {
        rate_hz: Some(100_000.0),
        ..volts(1.0)
    };
    let (about, block) = read("Current(uA)\n7\n8\n", &rate).unwrap();
    assert_eq!((about.has_pins, block.power_w.len()), (false, 2));
    let silent = refused("Current(uA)\n7\n8\n", &volts(1.0));
    assert!(matches!(silent, (0, Kind::NoRate)), "{silent:?}");
}

#[test]
fn a_joulescopes_tables_are_read_with_their_own_voltage() {
    for (header, remark) in [
        ("#time (s),current (A),voltage (V)", ""),
        ("time,current,voltage,power,charge,energy", ""),
        ("#= header=time,current,voltage,power", "#= units=s,A,V,W\n"),
    ] {
        let text = format!(
            "{header}\n{remark}0.0000000,1.0000e-03,3.3000,0,0,0\n0.0000005,2.0000e-03,3.0000,0,0,0\n\
             0.0000010,2.0000e-03,3.0000,0,0,0\n"
        );
        let (about, block) = read(&text, &Options::default()).unwrap();
        assert_eq!(about.rate_hz, 2e6, "{header}");
        assert_eq!(block.power_w, [3.3e-3, 6e-3, 6e-3]);
    }
    let text = "#time (s),current (A),voltage (V)\n0.0,1e-3,3.3\n1.0,1e-3,3.3\n";
    let twice = refused(text, &volts(3.3));
    assert!(matches!(twice, (0, Kind::Column(_))), "{twice:?}");
}

#[test]
fn other_tables_are_read_by_their_declared_columns() {
    let text = "t;ignored;v;i;gpio\n0;x;3300;1.5;2\n10;x;3300;2.5;3\n20;x;3300;2.5;3\n";
    let options = columns("time=t:us,current=i:mA,voltage=v:mV,pins=gpio:mask");
    let (about, block) = read(text, &options).unwrap();
    assert_eq!(about.rate_hz, 100_000.0);
    assert_eq!(block.power_w, [4.95e-3, 8.25e-3, 8.25e-3]);
    assert_eq!(block.pins, [2, 3, 3]);
    // `pyjls export` writes one number a line and no header.
    let bare = Options {
        rate_hz: Some(1e6),
        voltage_v: Some(3.0),
        ..columns("current=1:A")
    };
    let (_, block) = read("1e-3\n2e-3\n", &bare).unwrap();
    assert_eq!(block.power_w, [3e-3, 6e-3]);
    let power = columns("time=1:s,power=2:mW");
    let (_, block) = read("\u{feff}0,5\n1,6\n2,7", &power).unwrap();
    assert_eq!(block.power_w, [5e-3, 6e-3, 7e-3]);
}

#[test]
fn every_gap_is_found_by_time_and_reading_continues_after_it() {
    for lost in 1..64 {
        let folder = TempDir::new().unwrap();
        let mut text = String::from("Timestamp(ms),Current(uA)\n");
        for at in (0..100).chain(100 + lost..200 + lost) {
            text += &format!("{},{}\n", f64::from(at) / 100.0, 500 + at);
        }
        let mut trace = open(&file(&folder, &text), &volts(1.0)).unwrap();
        assert_eq!(trace.about().rate_hz, 100_000.0);
        let mut block = Block::default();
        assert!(trace.read(&mut block).unwrap());
        assert_eq!(block.power_w.len(), 100);
        let error = trace.read(&mut block).unwrap_err();
        assert_eq!(error.place, Some(Place::Line(102)));
        assert_eq!(error.gap(), Some(Missing::Exactly(u64::from(lost as u32))));
        assert!(trace.read(&mut block).unwrap());
        assert_eq!(block.power_w.len(), 100);
        assert!(!trace.read(&mut block).unwrap());
    }
}

#[test]
fn adjacent_gaps_are_all_reported() {
    let folder = TempDir::new().unwrap();
    let text = "Timestamp(ms),Current(uA)\n0,5\n1,5\n2,5\n4,5\n7,5\n8,5\n";
    let mut trace = open(&file(&folder, text), &volts(1.0)).unwrap();
    let (mut block, mut samples, mut told) = (Block::default(), 0, Vec::new());
    loop {
        match trace.read(&mut block) {
            Ok(true) => samples += block.power_w.len(),
            Ok(false) => break,
            Err(error) => told.push((error.place.unwrap(), error.gap().unwrap().least())),
        }
    }
    assert_eq!(samples, 6);
    assert_eq!(told, [(Place::Line(5), 1), (Place::Line(6), 2)]);
}

#[test]
fn an_input_of_unknown_level_keeps_its_level() {
    let mut text = String::from("Timestamp(ms),Current(uA),D0-D7\n0,500,10000000\n");
    for at in 1..9000 {
        text += &format!("{at},500,X0000000\n");
    }
    let (_, block) = read(&text, &volts(1.0)).unwrap();
    assert!(block.pins.len() == 9000 && block.pins.iter().all(|pins| *pins == 1));
}

#[test]
fn lost_samples_are_found_by_their_mark_of_a_fifth_of_a_microampere() {
    let text = |around: &str| {
        format!(
            "Timestamp(ms),Current(uA),D0-D7\n0,{around},00000000\n1,0.200,00000000\n\
             2,0.200,00000000\n3,{around},00000000\n4,{around},00000000\n"
        )
    };
    let (line, gap) = refused(&text("5000"), &volts(3.0));
    assert!(line == 3 && matches!(gap, Kind::Gap { missing } if missing.least() == 2));
    assert_eq!(
        read(&text("0.310"), &volts(3.0)).unwrap().1.power_w.len(),
        5
    );
}

#[test]
fn irregular_time_stamps_are_rejected_by_line() {
    let head = "Timestamp(ms),Current(uA)\n0,5\n1,5\n2,5\n3,5\n";
    let with = |row: &str| {
        let (line, kind) = refused(&format!("{head}{row}\n"), &volts(1.0));
        assert_eq!(line, 6, "{row}");
        kind
    };
    assert!(matches!(with("3,5"), Kind::Backwards { from, to } if from == to));
    assert!(matches!(with("1.5,5"), Kind::Backwards { from, to } if from > to));
    assert!(matches!(with("4.5,5"), Kind::Irregular { .. }));
    assert!(matches!(with("nan,5"), Kind::NotFinite { .. }));
    let still = refused("Timestamp(ms),Current(uA)\n1,5\n1,5\n", &volts(1.0));
    assert!(matches!(still, (0, Kind::Rate(_))), "{still:?}");
}

#[test]
fn invalid_cells_are_rejected_by_line_and_column() {
    let head = "Timestamp(ms),Current(uA),D0-D7\n0,5,00000000\n1,5,00000000\n";
    let with = |rows: &str| {
        let (line, kind) = refused(&format!("{head}{rows}"), &volts(1.0));
        assert_eq!(line, 4, "{rows}");
        kind
    };
    for (row, wrong) in [
        ("2,five,00000000\n", "2"),
        ("2,5,0000000\n", "3"),
        ("2,5,0000000Z\n", "3"),
    ] {
        let kind = with(row);
        assert!(
            matches!(&kind, Kind::Cell { column, .. } if column == wrong),
            "{kind:?}"
        );
    }
    assert!(matches!(with("2,nan,00000000\n"), Kind::NotFinite { .. }));
    assert!(matches!(with("2,inf,00000000\n"), Kind::NotFinite { .. }));
    assert!(matches!(with("2,5\n"), Kind::Column(_)));
    assert!(matches!(with("2,5,00000000"), Kind::Column(_)));
    assert!(matches!(with(&"9".repeat(70_000)), Kind::LongLine(_)));
}

#[test]
fn wrong_units_and_missing_voltages_are_rejected() {
    let plain = |text: &str| refused(text, &Options::default());
    let silent = plain("time,current\n0,0.02\n1,0.02\n");
    assert!(matches!(silent, (0, Kind::NoVoltage)), "{silent:?}");
    // Milliamperes where amperes are declared, and amperes where microamperes are.
    let large = plain("time,current,voltage\n0,20,3\n1,50,3\n");
    assert!(matches!(large, (3, Kind::TooMuch { .. })), "{large:?}");
    let small = "Timestamp(ms),Current(uA)\n0,0.02\n1,0.02\n";
    assert!(matches!(
        refused(small, &volts(3.0)).1,
        Kind::TooLittle { .. }
    ));
    let trusted = Options {
        trust_units: true,
        ..volts(3.0)
    };
    assert!(read(small, &trusted).is_ok());
    let millivolts = plain("time,current,voltage\n0,1,3300\n1,1,3300\n");
    assert!(
        matches!(millivolts.1, Kind::Voltage(3300.0)),
        "{millivolts:?}"
    );
    assert!(matches!(plain("t,i\n0,5\n"), (1, Kind::Unknown(_))));
    let empty = refused("Timestamp(ms),Current(uA)\n", &volts(1.0));
    assert!(matches!(empty.1, Kind::Empty));
}

#[test]
fn random_bytes_never_make_the_reader_panic() {
    use gleaner_shared::rng::{Purpose, Rng};
    let good = "Timestamp(ms),Current(uA),D0-D7\n0,5,00000000\n1,5.25,1X-00000\n2,1e3,00000000\n";
    let folder = TempDir::new().unwrap();
    for seed in 0..400 {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
        let mut bytes = good.as_bytes().to_vec();
        for _ in 0..=rng.below(4) {
            let at = rng.below(bytes.len() as u32) as usize;
            bytes[at] = b"0,;\n\"e-9.XnN\xFF#"[rng.below(14) as usize];
        }
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, &bytes).unwrap();
        let mut block = Block::default();
        if let Ok(mut trace) = open(&path, &volts(1.0)) {
            for _ in 0..20 {
                let _ = trace.read(&mut block);
            }
            assert!(!trace.read(&mut block).unwrap_or(false));
        }
    }
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let folder = TempDir::new().unwrap();
    let block = Block {
        power_w: (0..40_000_u16)
            .map(|at| (100 + at % 977) as f32 * 1e-6)
            .collect(),
        pins: (0..40_000_u16).map(|at| (at >> 8) as u8).collect(),
    };
    let about = About {
        source: String::new(),
        rate_hz: 50_000.0,
        samples: None,
        has_pins: true,
    };
    let path = folder.path().join("trace.csv");
    let target = std::io::BufWriter::new(File::create(&path).unwrap());
    let mut writer = CsvWriter::try_new(target, &about, 1.0).unwrap();
    writer.push(&block).unwrap();
    writer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let (found, back) = read(&text, &volts(1.0)).unwrap();
    assert_eq!(found.rate_hz, 50_000.0);
    assert!(back.pins == block.pins && back.power_w.len() == block.power_w.len());
    let near = |(a, b): (&f32, &f32)| (a / b - 1.0).abs() < 1e-6;
    assert!(back.power_w.iter().zip(&block.power_w).all(near));
}
