//! Summary of a trace.

use serde::Serialize;

use super::{About, Block};

/// Energy, range of power and activity of the inputs over all samples of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Summary {
    pub samples: u64,
    pub rate_hz: f64,
    pub energy_j: f64,
    pub min_w: f64,
    pub max_w: f64,
    /// Inputs that were high at some time, one bit each; `None` if the trace has no inputs.
    pub pins_high: Option<u8>,
    /// Inputs that changed their level, one bit each.
    pub pins_moved: Option<u8>,
    #[serde(skip)]
    last_pins: Option<u8>,
    #[serde(skip)]
    sum_w: f64,
}

impl Summary {
    /// Returns the summary of no samples.
    #[must_use]
    pub fn new(about: &About) -> Self {
        Self {
            samples: 0,
            rate_hz: about.rate_hz,
            energy_j: 0.0,
            min_w: f64::INFINITY,
            max_w: f64::NEG_INFINITY,
            pins_high: about.has_pins.then_some(0),
            pins_moved: about.has_pins.then_some(0),
            last_pins: None,
            sum_w: 0.0,
        }
    }

    /// Adds the next samples.
    pub fn add(&mut self, block: &Block) {
        let (mut least, mut most, mut sum) = (f32::INFINITY, f32::NEG_INFINITY, 0.0);
        for &watts in &block.power_w {
            least = least.min(watts);
            most = most.max(watts);
            sum += f64::from(watts);
        }
        self.samples += block.power_w.len() as u64;
        self.sum_w += sum;
        self.energy_j = self.sum_w / self.rate_hz;
        self.min_w = self.min_w.min(f64::from(least));
        self.max_w = self.max_w.max(f64::from(most));
        let mut last = self.last_pins.or_else(|| block.pins.first().copied());
        for &pins in &block.pins {
            if Some(pins) != last {
                let moved = pins ^ last.unwrap_or(pins);
                self.pins_moved = self.pins_moved.map(|all| all | moved);
                last = Some(pins);
            }
            self.pins_high = self.pins_high.map(|all| all | pins);
        }
        self.last_pins = last;
    }

    /// Returns the duration of the trace.
    #[must_use]
    pub fn duration_s(&self) -> f64 {
        self.samples as f64 / self.rate_hz
    }

    /// Returns the mean power; zero if there are no samples.
    #[must_use]
    pub fn mean_w(&self) -> f64 {
        self.sum_w / self.samples.max(1) as f64
    }
}
