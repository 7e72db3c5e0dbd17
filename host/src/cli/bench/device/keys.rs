//! Counted cycles as keys of a preset's `[device]`.

use anyhow::Context;
use gleaner_shared::energy::Pace;
use gleaner_shared::units::Cycles;
use gleaner_sim::scenario::Load;
use gleaner_station::device::Board;
use gleaner_station::device::emulator::count::PassCycles;
use serde::Serialize;

/// Closed rounds in one of which a board writes its model to flash.
const ROUNDS_PER_SAVE: f64 = 8.0;

/// Passes over one shard.
#[derive(Debug, Serialize)]
pub(super) struct CountedShard {
    samples: u32,
    nonzero: u64,
    epoch: u64,
    evaluate: u64,
}

/// Cycles of every kind of work, under the names of a preset's keys.
#[derive(Debug, Serialize)]
pub(super) struct DeviceKeys {
    cycles_per_sample: f64,
    cycles_per_nonzero: f64,
    cycles_per_epoch: f64,
    evaluate_cycles: f64,
    evaluate_cycles_per_sample: f64,
    evaluate_cycles_per_nonzero: f64,
    apply_cycles: f64,
    apply_whole_cycles: f64,
    encode_cycles: f64,
    clip_cycles: f64,
    open_cycles: f64,
    open_whole_cycles: f64,
    seal_cycles: f64,
    /// Time of writing a model to flash: counted operations and typical times of the data sheet.
    save_s: Option<f64>,
    /// Passes that the fit is made of.
    pub(super) shards: Vec<CountedShard>,
    /// Largest relative error of a pass over samples.
    pub(super) largest_error: f64,
}

impl DeviceKeys {
    /// Fits passes over samples to what a board counted on several shards; work that does not depend on
    /// the samples is that of the first. `bounded` is the work on the last shard under a bound on the update,
    /// which costs what encoding takes longer. `written` are sectors erased and pages programmed.
    pub(super) fn of(
        board: Board,
        counted: &[(Load, Pace)],
        bounded: &Pace,
        written: Option<(u32, u32)>,
    ) -> anyhow::Result<Self> {
        let pass = |cycles: fn(&Pace) -> Cycles| {
            let points: Vec<(Load, u64)> = counted
                .iter()
                .map(|(load, pace)| (*load, cycles(pace).0))
                .collect();
            let pass = PassCycles::fit(&points).context("the shards are too much alike")?;
            let error = pass.error(&points);
            anyhow::Ok((pass, error))
        };
        let (epoch, epoch_error) = pass(|pace| pace.epoch)?;
        let (evaluate, evaluate_error) = pass(|pace| pace.evaluate)?;
        let (_, work) = counted.first().context("no shard was counted")?;
        let (_, unbounded) = counted.last().context("no shard was counted")?;
        let times = board.row().flash;
        let save_s = written.map(|(erases, programs)| {
            let write_s = f64::from(erases) * times.erase_s + f64::from(programs) * times.program_s;
            write_s / ROUNDS_PER_SAVE
        });
        let cycles = |cycles: Cycles| cycles.0 as f64;
        Ok(Self {
            cycles_per_sample: epoch.per_sample,
            cycles_per_nonzero: epoch.per_nonzero,
            cycles_per_epoch: epoch.fixed,
            evaluate_cycles: evaluate.fixed,
            evaluate_cycles_per_sample: evaluate.per_sample,
            evaluate_cycles_per_nonzero: evaluate.per_nonzero,
            apply_cycles: cycles(work.apply_change),
            apply_whole_cycles: cycles(work.apply_whole),
            encode_cycles: cycles(work.encode),
            clip_cycles: cycles(bounded.encode.saturating_sub(unbounded.encode)),
            open_cycles: cycles(work.open_change),
            open_whole_cycles: cycles(work.open_whole),
            seal_cycles: cycles(work.seal),
            save_s,
            shards: counted
                .iter()
                .map(|(load, pace)| CountedShard {
                    samples: load.samples,
                    nonzero: load.nonzero,
                    epoch: pace.epoch.0,
                    evaluate: pace.evaluate.0,
                })
                .collect(),
            largest_error: epoch_error.max(evaluate_error),
        })
    }

    /// Returns the keys with their values to four digits, as a preset has them.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            ("cycles_per_sample", self.cycles_per_sample),
            ("cycles_per_nonzero", self.cycles_per_nonzero),
            ("cycles_per_epoch", self.cycles_per_epoch),
            ("evaluate_cycles", self.evaluate_cycles),
            (
                "evaluate_cycles_per_sample",
                self.evaluate_cycles_per_sample,
            ),
            (
                "evaluate_cycles_per_nonzero",
                self.evaluate_cycles_per_nonzero,
            ),
            ("apply_cycles", self.apply_cycles),
            ("apply_whole_cycles", self.apply_whole_cycles),
            ("encode_cycles", self.encode_cycles),
            ("clip_cycles", self.clip_cycles),
            ("open_cycles", self.open_cycles),
            ("open_whole_cycles", self.open_whole_cycles),
            ("seal_cycles", self.seal_cycles),
        ];
        rows.extend(self.save_s.map(|save_s| ("save_s", save_s)));
        rows.into_iter()
            .map(|(key, value)| (key, rounded(value)))
            .collect()
    }
}

/// Returns a number to four digits, as TOML writes it: thousands and more in thousands or millions.
fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0.0".to_owned();
    }
    let (scaled, power) = match value.abs() {
        1e6.. => (value / 1e6, "e6"),
        1e3.. => (value / 1e3, "e3"),
        _ => (value, ""),
    };
    let digits = (3 - scaled.abs().log10().floor() as i32).max(1) as usize;
    format!("{scaled:.digits$}{power}")
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn values_keep_four_digits_and_are_floats_of_toml() {
        let of = [12_345_678.0, 43_219.0, 412.39, 1.0704, 0.0];
        let found = of.map(rounded);
        assert_eq!(found, ["12.35e6", "43.22e3", "412.4", "1.070", "0.0"]);
    }
}
