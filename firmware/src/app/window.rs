//! An application with one sensor: as many readings as a sample has pixels form a window, which is
//! classified and stored in a ring, with a label if the sensor gives one.

use gleaner_shared::mlp::Guess;
use gleaner_shared::units::Micros;

use super::{App, Desk};
use crate::gather::Gathered;
use crate::model::INPUTS;

/// Readings taken in one call; a window of 784 takes seven calls.
const AT_ONCE: usize = 112;

/// A source of readings and labels.
pub trait Sensor {
    /// Takes one reading, 0 to 255, in about ten microseconds.
    fn read(&mut self) -> u8;

    /// Returns the label of the current window, if one is set, for example on pins.
    fn label(&mut self) -> Option<u8>;
}

/// The application; with `LEARNS` the client also trains on the labelled windows.
pub struct Window<S, R, const LEARNS: bool> {
    sensor: S,
    ring: R,
    /// Time between two calls.
    every: Micros,
    readings: [u8; INPUTS],
    taken: usize,
    last: Option<Guess>,
}

impl<S: Sensor, R: Gathered, const LEARNS: bool> Window<S, R, LEARNS> {
    /// Reads `sensor` every `every` and stores its windows in `ring`.
    pub const fn new(sensor: S, ring: R, every: Micros) -> Self {
        Self {
            sensor,
            ring,
            every,
            readings: [0; INPUTS],
            taken: 0,
            last: None,
        }
    }

    /// Returns the class of the last complete window.
    pub const fn last(&self) -> Option<Guess> {
        self.last
    }
}

impl<S: Sensor, R: Gathered, const LEARNS: bool> App for Window<S, R, LEARNS> {
    const LEARNS: bool = LEARNS;

    fn tick(&mut self, desk: &mut Desk<'_>) -> Option<Micros> {
        let rest = &mut self.readings[self.taken..];
        let count = rest.len().min(AT_ONCE);
        rest[..count].fill_with(|| self.sensor.read());
        self.taken += count;
        if self.taken == INPUTS {
            self.taken = 0;
            self.last = desk.classify(&self.readings);
            self.ring.gather(&self.readings, self.sensor.label());
        }
        Some(desk.now().saturating_add(self.every))
    }

    fn gathered(&mut self) -> Option<&mut dyn Gathered> {
        Some(&mut self.ring)
    }
}
