//! Reports flash, RAM and stack of every image, and the cycles of its sealed frames.

mod image;
mod measured;

use anyhow::{Result, bail};
use serde_json::json;

use crate::board::{BOARDS, Board};
use image::Usage;
use measured::{Figure, Frames, Stack};

struct Row {
    board: &'static Board,
    usage: Usage,
    stack: Figure<Stack>,
    frames: Figure<Frames>,
}

/// Prints a row per image, or JSON, and fails if one does not fit.
pub fn report(as_json: bool) -> Result<()> {
    let rows: Vec<Row> = BOARDS.into_iter().map(row).collect::<Result<_>>()?;
    if as_json {
        let rows: Vec<_> = rows.iter().map(Row::to_json).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print(&rows);
    }
    let over = rows.iter().filter(|row| !row.usage.fits());
    let over: Vec<&str> = over.map(|row| row.board.name).collect();
    if !over.is_empty() {
        bail!("images over their limits: {}", over.join(", "));
    }
    Ok(())
}

fn row(board: &'static Board) -> Result<Row> {
    Ok(Row {
        board,
        usage: image::measure(board)?,
        stack: measured::stack(board),
        frames: measured::frames(board),
    })
}

fn print(rows: &[Row]) {
    println!(
        "{:<10} {:>27} {:>27} {:>11} {:>8}",
        "image", "flash", "RAM (statics)", "stack left", "samples"
    );
    for Row { board, usage, .. } in rows {
        println!(
            "{:<10} {:>27} {:>27} {:>11} {:>8}",
            board.name,
            share(usage.flash, usage.flash_limit),
            share(usage.ram, usage.ram_limit),
            usage.stack_left(),
            board.most_samples
        );
    }
    println!("\nin its emulator: stack used, and a sealed frame");
    for row in rows {
        println!("{:<10} {}", row.board.name, row.stack);
        if row.frames != Figure::NotRun {
            println!("{:<10} {}", "", row.frames);
        }
    }
}

fn share(used: u64, limit: u64) -> String {
    let percent = (used * 100).div_ceil(limit.max(1));
    format!("{used} of {limit} ({percent:>3} %)")
}

impl Row {
    fn to_json(&self) -> serde_json::Value {
        let Self { board, usage, .. } = self;
        json!({
            "image": board.name,
            "board": board.title,
            "flash_bytes": usage.flash,
            "flash_limit_bytes": usage.flash_limit,
            "static_ram_bytes": usage.ram,
            "ram_bytes": usage.ram_limit,
            "stack_left_bytes": usage.stack_left(),
            "most_samples": board.most_samples,
            "stack": self.stack.to_json(),
            "frames": self.frames.to_json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_up() {
        assert_eq!(share(1, 1000), "1 of 1000 (  1 %)");
        assert_eq!(share(1000, 1000), "1000 of 1000 (100 %)");
    }
}
