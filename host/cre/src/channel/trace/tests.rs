//! Traces as runs, spreadsheets and enemies write them.

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

#[test]
fn bad_lines_are_named_with_file_line_and_value() {
    let error = |row: &str| {
        parse(&format!("{HEADER}\n0,0,0,-60\n{row}\n"))
            .expect_err(row)
            .to_string()
    };
    assert_eq!(
        error("0,0"),
        "gains.csv:3: 2 fields in `0,0`, expected 4 (round,client,channel,gain_db)"
    );
    assert_eq!(
        error("0,-1,0,-60"),
        "gains.csv:3: client `-1` is not a whole number from 0 on"
    );
    assert_eq!(
        error("0,1,0,loud"),
        "gains.csv:3: gain_db `loud` is not a number"
    );
    assert_eq!(
        error("0,1,0,NaN"),
        "gains.csv:3: gain_db `NaN` is not a finite, positive gain"
    );
    assert_eq!(
        error("0,1,0,1e9"),
        "gains.csv:3: gain_db `1e9` is not a finite, positive gain"
    );
    assert_eq!(
        error("0,0,0,-61"),
        "gains.csv:3: round 0, client 0, channel 0 given twice"
    );
    assert!(
        parse("a,b\n")
            .expect_err("header")
            .to_string()
            .contains("header `a,b`")
    );
    for infinite in ["inf", "-inf", "-1e9"] {
        let said = error(&format!("0,1,0,{infinite}"));
        assert!(said.contains("is not a finite, positive gain"), "{said}");
    }
}

#[test]
fn the_line_is_right_behind_blank_lines_whatever_ends_a_line() {
    for end in ["\n", "\r\n"] {
        let rows = ["", HEADER, "", "0,0,0,-60", "", "  ", "", "0,0,x,-60", ""];
        let error = parse(&rows.join(end)).expect_err("x").to_string();
        assert!(error.starts_with("gains.csv:8: channel `x`"), "{error}");
    }
    let error = parse(&format!("{HEADER}\n0,0,0")).expect_err("short");
    assert!(error.to_string().starts_with("gains.csv:2: 3 fields"));
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
fn what_is_no_trace_is_refused_in_one_short_line() {
    for text in [
        "",
        "\n\n",
        "0,0,0,-60\n",
        "round,client,channel\n",
        "round,client,channel,gain\n0,0,0,-60\n",
        "round;client;channel;gain_db\n0;0;0;-60\n",
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(": header `"), "{error}");
        assert!(error.contains(HEADER), "{error}");
    }
    let open = format!("{HEADER}\n0,0,0,\"-60\n{}", "0,0,1,-61\n".repeat(100));
    let error = parse(&open).expect_err("a quotation mark").to_string();
    assert!(error.starts_with("gains.csv:2: gain_db `-60"), "{error}");
    assert!(error.len() < 150, "{error}");
    let latin = Trace::read(
        "gains.csv",
        &b"round,client,channel,gain_db\n0,0,0,\xb10\n"[..],
    );
    let error = latin.expect_err("not UTF-8").to_string();
    assert_eq!(error, "gains.csv:2: is not UTF-8 text");
}

#[test]
fn a_gap_in_the_trace_is_named() {
    let trace = parse("round,client,channel,gain_db\n0,0,0,-60\n0,0,1,-61\n").expect("good");
    assert!(trace.round(0, 1, 1).is_ok());
    let error = trace.round(0, 1, 2).expect_err("no channel 2").to_string();
    assert!(error.contains("round 0, client 0, channel 2"), "{error}");
}
