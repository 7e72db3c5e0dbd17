//! Room on the disk: a build that runs out of it fails late and in other words.

use std::path::Path;
use std::process::Command;

use crate::process;

/// What the whole suite leaves in `target/`, in gigabytes, counted from nothing.
const WHOLE_GB: f64 = 10.0;

/// Says so if the suite, from nothing, would not find the room it takes.
pub fn remark() {
    let mut df = Command::new("df");
    df.arg("-Pk").arg(crate::root());
    let free_gb = process::output(&mut df).and_then(|table| free_gb(&table));
    let is_cold = !Path::new("target/release").exists();
    if let Some(free_gb) = free_gb.filter(|free_gb| is_cold && *free_gb < WHOLE_GB) {
        println!(
            "setup: {free_gb:.1} GB are free on this disk and the whole suite takes {WHOLE_GB} GB from \
             nothing: make room first, or its last steps fail"
        );
    }
}

/// Reads the fourth column of the second line of `df -Pk`, in blocks of 1,024 bytes.
fn free_gb(table: &str) -> Option<f64> {
    let free = table.lines().nth(1)?.split_whitespace().nth(3)?;
    Some(free.parse::<f64>().ok()? * 1024.0 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_room_is_what_df_calls_available() {
        let table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                     /dev/vda 263174212 90177536 6000000 94% /\n";
        assert_eq!(free_gb(table), Some(6.144));
        assert_eq!(free_gb("df: no such file\n"), None);
        assert_eq!(free_gb(""), None);
    }
}
