//! The clock of `embassy-time`, with the driver that the board brings.

use embassy_time::{Instant, Timer};
use gleaner_shared::units::Micros;

use crate::platform::Clock;

pub struct EmbassyClock;

impl Clock for EmbassyClock {
    fn now(&self) -> Micros {
        Micros(Instant::now().as_micros())
    }

    async fn wait_until(&self, at: Micros) {
        Timer::at(Instant::from_micros(at.0)).await;
    }
}
