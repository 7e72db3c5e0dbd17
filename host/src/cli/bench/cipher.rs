//! `gleaner bench cipher`: has a board seal and open frames in its emulator and says what it costs,
//! beside other ciphers.

use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

use crate::cli::board::emulated_by_chip;
use gleaner_shared::board::Shape;
use gleaner_station::device::Board;
use gleaner_station::device::emulator::Emulator;
use gleaner_station::device::emulator::figures::{Figure, FrameCost, figures, keep};
use gleaner_station::device::image::Program;

/// Count what a sealed frame costs a board, in the emulator.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board: an RP2040 in rp2040js, or a Cortex-M4 in QEMU.
    #[arg(long, value_parser = emulated_by_chip(), default_value = Board::Rp2040.chip())]
    board: Board,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Everything that is printed.
#[derive(Debug, Serialize)]
struct Table {
    board: Board,
    /// What the emulator counts: cycles, or instructions.
    unit: &'static str,
    rows: Vec<Row>,
    /// Frames of a model in 8-bit codes.
    frames_of_a_model: usize,
    /// What taking in one such model and sending another costs.
    model_each_way: u64,
}

/// One thing a board did with a payload.
#[derive(Debug, Serialize)]
struct Row {
    what: String,
    payload_bytes: usize,
    count: u64,
    per_byte: f64,
}

/// Measures and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let unit = Emulator::of(args.board)?.unit();
    let figures = figures(args.board, Program::Ciphers)?;
    let frames = FrameCost::of(unit, &figures).context("the image said nothing of frames")?;
    keep((args.board, Shape::PAPER), "frames", &frames).context("cannot write beside the image")?;
    let table = Table {
        board: args.board,
        unit,
        rows: figures.into_iter().map(row).collect(),
        frames_of_a_model: frames.frames_of_a_model,
        model_each_way: frames.model_each_way,
    };
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&table)?);
    } else {
        print(&table)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(figure: Figure) -> Row {
    Row {
        per_byte: figure.number as f64 / figure.bytes as f64,
        what: figure.what,
        payload_bytes: figure.bytes,
        count: figure.number,
    }
}

fn print(table: &Table) -> anyhow::Result<()> {
    let Table { board, unit, .. } = table;
    outln!("{board}, {unit} in its emulator; `cipher` is what frames are sealed with");
    outln!("{:<34} {:>8} {:>9} {:>9}", "", "payload", unit, "a byte");
    for row in &table.rows {
        outln!(
            "{:<34} {:>8} {:>9} {:>9.1}",
            row.what,
            row.payload_bytes,
            row.count,
            row.per_byte
        );
    }
    outln!(
        "a model in 8-bit codes each way ({} frames): {} {unit}",
        table.frames_of_a_model,
        table.model_each_way
    );
    Ok(())
}
