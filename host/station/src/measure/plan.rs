//! The plan of a measurement: what a board does while a meter records its current.

use std::path::Path;
use std::sync::Arc;

use gleaner_shared::energy::Phase;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::MeasureStep;
use serde::{Deserialize, Serialize};

/// The longest wait a board takes in one step.
const LONGEST_WAIT_MS: u32 = 1_000;
/// The most epochs of one step: a board keeps 8 marks until it can tell them.
const MOST_EPOCHS: u16 = 16;
/// The largest transfer every board has room for.
const MOST_BYTES: u32 = 39_000;

/// A sweep over clocks, work and waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// The processor's clocks, in hertz; none leaves the board at its own.
    pub clocks_hz: Vec<u32>,
    /// How often everything is done at each clock.
    pub repeats: u32,
    /// Epochs to train, a step each.
    pub epochs: Vec<u16>,
    /// Bits per weight of updates that are coded and applied, a step each.
    pub code_bits: Vec<u8>,
    /// Bytes that are sent there and back, a transfer each.
    pub transfer_bytes: Vec<u32>,
    /// Waits awake, in milliseconds.
    pub idle_ms: Vec<u32>,
    /// Waits asleep, in milliseconds.
    pub sleep_ms: Vec<u32>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            clocks_hz: Vec::new(),
            repeats: 2,
            epochs: vec![1, 2],
            code_bits: vec![8],
            transfer_bytes: vec![2_000, 16_000],
            idle_ms: vec![50, 100],
            sleep_ms: vec![50, 100],
        }
    }
}

/// A plan that is refused.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {trouble}")]
pub struct PlanError {
    /// The file.
    pub file: String,
    /// What is wrong with it.
    pub trouble: String,
}

/// One step of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something the board does by itself.
    Board(MeasureStep),
    /// Bytes there and back.
    Echo(Arc<[u8]>),
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let refuse = |trouble: String| PlanError {
            file: path.display().to_string(),
            trouble,
        };
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        let plan: Self = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        plan.check().map_err(refuse)?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=1_000).contains(&self.repeats) {
            return Err(format!("repeats = {}: from 1 to 1000", self.repeats));
        }
        let epochs = self
            .epochs
            .iter()
            .find(|it| !(1..=MOST_EPOCHS).contains(it));
        if let Some(epochs) = epochs {
            return Err(format!(
                "epochs has {epochs}: a step is 1 to {MOST_EPOCHS} epochs, for a board keeps few \
                 marks until it can tell them; raise repeats instead"
            ));
        }
        if let Some(bits) = self.code_bits.iter().find(|it| ![8, 16].contains(*it)) {
            return Err(format!(
                "code_bits has {bits}: weights are coded in 8 or 16"
            ));
        }
        let bytes = (self.transfer_bytes.iter()).find(|it| !(1..=MOST_BYTES).contains(it));
        if let Some(bytes) = bytes {
            return Err(format!(
                "transfer_bytes has {bytes}: from 1 to {MOST_BYTES}"
            ));
        }
        let waits = self.idle_ms.iter().chain(&self.sleep_ms);
        let wait = waits
            .copied()
            .find(|it| !(1..=LONGEST_WAIT_MS).contains(it));
        if let Some(wait) = wait {
            return Err(format!(
                "a wait of {wait} ms: from 1 to {LONGEST_WAIT_MS}, or the line is taken to be dead; \
                 raise repeats instead"
            ));
        }
        if self.clocks_hz.contains(&0) {
            return Err("clocks_hz has 0: a processor that works has a clock".to_owned());
        }
        Ok(())
    }

    /// Returns all steps, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Board(MeasureStep::Begin)];
        let clocks = self.clocks_hz.iter().map(|&hz| Some(hz));
        let own = self.clocks_hz.is_empty().then_some(None);
        for clock in clocks.chain(own) {
            if let Some(hz) = clock {
                steps.push(Step::Board(MeasureStep::Clock { hz }));
            }
            for repeat in 0..self.repeats {
                self.work(repeat, &mut steps);
            }
        }
        steps.push(Step::Board(MeasureStep::End));
        steps
    }

    fn work(&self, repeat: u32, steps: &mut Vec<Step>) {
        let mut board = |step| steps.push(Step::Board(step));
        for &epochs in &self.epochs {
            board(MeasureStep::Train { epochs });
        }
        board(MeasureStep::Evaluate);
        // Applying codes first.
        for &bits in &self.code_bits {
            board(MeasureStep::Apply { bits });
        }
        let idle = self.idle_ms.iter().map(|ms| (Phase::Idle, *ms));
        let sleep = self.sleep_ms.iter().map(|ms| (Phase::Sleep, *ms));
        for (state, ms) in idle.chain(sleep) {
            let time = Micros(u64::from(ms) * 1_000);
            board(MeasureStep::Wait { state, time });
        }
        for &bytes in &self.transfer_bytes {
            // Other bytes every time: what a board has already does not come again.
            let bytes = (0..bytes).map(|at| (at * 7 + at / 251 + repeat * 31) as u8);
            steps.push(Step::Echo(bytes.collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, text).unwrap();
        let error = Plan::read(&path).unwrap_err().to_string();
        assert!(error.contains("plan.toml"), "{error}");
        error
    }

    #[test]
    fn a_plan_is_every_work_at_every_clock() {
        let plan = Plan {
            clocks_hz: vec![48_000_000, 125_000_000],
            ..Plan::default()
        };
        let steps = plan.steps();
        assert_eq!(steps.first(), Some(&Step::Board(MeasureStep::Begin)));
        assert_eq!(steps.last(), Some(&Step::Board(MeasureStep::End)));
        let trained = |step: &&Step| matches!(step, Step::Board(MeasureStep::Train { .. }));
        assert_eq!(steps.iter().filter(trained).count(), 2 * 2 * 2);
        let text = toml::to_string(&plan).unwrap();
        assert_eq!(toml::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn bad_plans_are_refused_by_what_is_wrong() {
        for (text, named) in [
            ("repeats = 0", "repeats = 0"),
            ("epochs = [17]", "17"),
            ("code_bits = [7]", "8 or 16"),
            ("transfer_bytes = [0]", "transfer_bytes"),
            ("sleep_ms = [5000]", "5000 ms"),
            ("clocks_hz = [0]", "clocks_hz"),
            ("speed = 3", "speed"),
            ("epochs = [", "line 1"),
        ] {
            let error = refusal(text);
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
