//! The plan of a measurement: the steps that a board takes while a meter records its current.

use std::path::Path;
use std::sync::Arc;

use gleaner_shared::energy::Phase;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::MeasureStep;
use serde::{Deserialize, Serialize};

/// The longest wait of one step.
const LONGEST_WAIT_MS: u32 = 1_000;
/// The most epochs of one step: a board keeps 8 marks until it can send them.
const MOST_EPOCHS: u16 = 16;
/// The largest transfer every board has room for.
const MOST_BYTES: u32 = 39_000;

/// A measurement plan: a sweep over clocks, computing, transfers and waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Clocks of the processor, in hertz; an empty list leaves the board at its own.
    pub clocks_hz: Vec<u32>,
    /// Repetitions of all steps at each clock.
    pub repeats: u32,
    /// Epochs to train, one step each.
    pub epochs: Vec<u16>,
    /// Bits per weight of updates that are coded and applied, one step each.
    pub code_bits: Vec<u8>,
    /// Bytes to send there and back, one transfer each.
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

/// An unreadable or invalid plan.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub struct InvalidPlan {
    pub file: String,
    pub what: String,
}

/// One step of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A step that the board takes by itself.
    Board(MeasureStep),
    /// A transfer there and back.
    Echo(Arc<[u8]>),
}

impl Plan {
    /// Reads a plan from a TOML file.
    ///
    /// # Errors
    /// Names the file, the key, the value and the range.
    pub fn read(path: &Path) -> Result<Self, InvalidPlan> {
        let invalid = |what: String| InvalidPlan {
            file: path.display().to_string(),
            what,
        };
        let text = gleaner_files::read_text(path).map_err(|error| invalid(error.to_string()))?;
        let plan: Self = toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        match plan.problem() {
            Some(problem) => Err(invalid(problem)),
            None => Ok(plan),
        }
    }

    /// Returns the first key that is out of range, with the range.
    fn problem(&self) -> Option<String> {
        if !(1..=1_000).contains(&self.repeats) {
            return Some(format!("repeats = {}: from 1 to 1000", self.repeats));
        }
        let epochs = self
            .epochs
            .iter()
            .find(|it| !(1..=MOST_EPOCHS).contains(it));
        if let Some(epochs) = epochs {
            return Some(format!(
                "epochs has {epochs}: use 1 to {MOST_EPOCHS}, since a board keeps few marks until it can send \
                 them; raise repeats instead"
            ));
        }
        if let Some(bits) = self.code_bits.iter().find(|it| ![8, 16].contains(*it)) {
            return Some(format!("code_bits has {bits}: use 8 or 16"));
        }
        let bytes = (self.transfer_bytes.iter()).find(|it| !(1..=MOST_BYTES).contains(it));
        if let Some(bytes) = bytes {
            return Some(format!(
                "transfer_bytes has {bytes}: from 1 to {MOST_BYTES}"
            ));
        }
        let waits = self.idle_ms.iter().chain(&self.sleep_ms);
        let wait = waits
            .copied()
            .find(|it| !(1..=LONGEST_WAIT_MS).contains(it));
        if let Some(wait) = wait {
            return Some(format!(
                "a wait of {wait} ms: use 1 to {LONGEST_WAIT_MS}, or the line times out; \
                 raise repeats instead"
            ));
        }
        if self.clocks_hz.contains(&0) {
            return Some("clocks_hz has 0: use more than 0".to_owned());
        }
        None
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
                self.repetition(repeat, &mut steps);
            }
        }
        steps.push(Step::Board(MeasureStep::End));
        steps
    }

    fn repetition(&self, repeat: u32, steps: &mut Vec<Step>) {
        let mut board = |step| steps.push(Step::Board(step));
        for &epochs in &self.epochs {
            board(MeasureStep::Train { epochs });
        }
        board(MeasureStep::Evaluate);
        // This step codes an update before it applies it.
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
            // Other bytes every time, since the board skips chunks that it already has.
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
    fn a_plan_repeats_every_step_at_every_clock() {
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
    fn invalid_plans_are_refused_with_key_and_value() {
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
