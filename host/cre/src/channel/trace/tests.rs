//! Tests of traces, well-formed and malformed.

use super::*;
use crate::channel::{Emulation, Recorder};
use crate::system::System;

const HEADER: &str = "round,client,channel,gain_db";

fn parse(text: &str) -> Result<Trace, TraceError> {
    Trace::read("gains.csv", text.as_bytes())
}

#[test]
fn a_recorded_run_reads_back_to_identical_gains() {
    let emulation = Emulation::new(42, 40, 5, System::paper_cnn().radio);
    let mut recorder = Recorder::new(Vec::new()).expect("a vector takes bytes");
    for round in 0..20 {
        recorder
            .record(round, &emulation.round(round))
            .expect("a vector takes bytes");
    }
    let bytes = recorder.finish().expect("a vector takes bytes");
    let trace = parse(std::str::from_utf8(&bytes).expect("CSV is text")).expect("own format");
    for round in 0..20 {
        assert_eq!(
            trace.round(round, 40, 5).expect("all there"),
            emulation.round(round)
        );
    }
}

/// Returns the line and the problem of a malformed trace.
fn refused(bytes: &[u8]) -> (usize, String) {
    match Trace::read("gains.csv", bytes) {
        Err(TraceError::Line { line, problem, .. }) => (line, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn malformed_rows_are_rejected_with_line_and_value() {
    for (row, value) in [
        ("0,0", "`0,0`"),
        ("0,-1,0,-60", "client `-1`"),
        ("0,1,0,loud", "gain_db `loud`"),
        ("0,1,0,NaN", "`NaN`"),
        ("0,1,0,1e9", "`1e9`"),
        ("0,1,0,inf", "`inf`"),
        ("0,1,0,-1e9", "`-1e9`"),
        ("0,0,0,-61", "round 0, client 0, channel 0"),
    ] {
        let (line, problem) = refused(format!("{HEADER}\n0,0,0,-60\n{row}\n").as_bytes());
        assert_eq!(line, 3, "{row}");
        assert!(problem.contains(value), "{problem}");
    }
}

#[test]
fn the_line_is_right_after_blank_lines_with_any_line_end() {
    for end in ["\n", "\r\n"] {
        let rows = ["", HEADER, "", "0,0,0,-60", "", "  ", "", "0,0,x,-60", ""];
        assert_eq!(refused(rows.join(end).as_bytes()).0, 8);
    }
    assert_eq!(refused(format!("{HEADER}\n0,0,0").as_bytes()).0, 2);
}

#[test]
fn spreadsheets_may_add_a_byte_order_mark_carriage_returns_quotes_and_spaces() {
    let quoted = "\"round\",\"client\",\"channel\",\"gain_db\"";
    for text in [
        format!("\u{feff}{HEADER}\r\n0,0,0,-60\r\n0,0,1,-61\r\n"),
        format!("{quoted}\n\"0\",\"0\",\"1\",\"-61\"\n0,0,0,-60"),
        format!("{HEADER} \n\n  0, 0, 1, -61\n0 ,0 ,0 ,-6e1\n\n"),
    ] {
        let round = parse(&text).expect(&text).round(0, 1, 1).expect(&text);
        assert_eq!(round.downlink, [Db(-60.0).to_linear().0]);
        assert_eq!(round.uplink, [[Db(-61.0).to_linear().0]]);
    }
}

#[test]
fn other_files_are_rejected_with_a_short_message() {
    for text in [
        "",
        "\n\n",
        "0,0,0,-60\n",
        "round,client,channel\n",
        "round,client,channel,gain\n0,0,0,-60\n",
        "round;client;channel;gain_db\n0;0;0;-60\n",
    ] {
        let (_, problem) = refused(text.as_bytes());
        assert!(problem.contains(HEADER), "{problem}");
    }
    let open = format!("{HEADER}\n0,0,0,\"-60\n{}", "0,0,1,-61\n".repeat(100));
    let (line, problem) = refused(open.as_bytes());
    assert!(line == 2 && problem.len() < 130, "{problem}");
    assert_eq!(refused(format!("{HEADER}\n0,0,0,").as_bytes()).0, 2);
    assert_eq!(
        refused(&b"round,client,channel,gain_db\n0,0,0,\xb10\n"[..]).0,
        2
    );
}

#[test]
fn a_gap_in_the_trace_is_named() {
    let trace = parse("round,client,channel,gain_db\n0,0,0,-60\n0,0,1,-61\n").expect("good");
    assert!(trace.round(0, 1, 1).is_ok());
    let error = trace.round(0, 1, 2).expect_err("no channel 2");
    assert!(
        matches!(error, TraceError::Missing { channel: 2, .. }),
        "{error}"
    );
}
