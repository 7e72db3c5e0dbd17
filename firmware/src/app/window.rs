//! An application that looks at one sensor: as many readings as a sample has pixels are a window,
//! which is classified and kept in a ring, labelled where somebody says what it was.

use gleaner_shared::mlp::Guess;
use gleaner_shared::units::Micros;

use super::{App, Desk};
use crate::gather::Gathered;
use crate::model::INPUTS;

/// Readings taken in one go; a window of 784 is seven of them.
const AT_ONCE: usize = 112;

/// What a window is made of.
pub trait Sensor {
    /// Reads the world, from dark to bright, in some ten microseconds.
    fn read(&mut self) -> u8;

    /// Returns what is there, if somebody says so, as by pins.
    fn label(&mut self) -> Option<u8>;
}

/// The application; with `LEARNS` the client also trains on what was labelled.
pub struct Window<S, R, const LEARNS: bool> {
    sensor: S,
    ring: R,
    /// Between two goes.
    every: Micros,
    readings: [u8; INPUTS],
    taken: usize,
    last: Option<Guess>,
}

impl<S: Sensor, R: Gathered, const LEARNS: bool> Window<S, R, LEARNS> {
    /// Looks at `sensor` now and then and keeps what it saw in `ring`.
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

    /// Returns what the model said of the last whole window.
    #[must_use]
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
