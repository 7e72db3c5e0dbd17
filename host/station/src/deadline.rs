//! Wall time of a round: how long its work should take, and how long the base station waits for it.
//!
//! Wall time decides nothing but who is absent. One limit holds for the whole round of a board,
//! whatever happens in it: connecting, transfers, training, resets and new sessions.

use std::time::Duration;

use gleaner_shared::board::Shape;
use gleaner_shared::energy::{CostModel, Pace};

use crate::fleet_file::Entry;

/// Time to connect, and for whatever an order does not foresee.
const MARGIN: Duration = Duration::from_secs(30);

/// Limit of a round over the expected time of its longest order.
const RESERVE: u32 = 4;

/// Bits on the line for every byte of a model: start and stop bits, frames and acknowledgements.
const BITS_PER_BYTE: f64 = 12.0;

/// Training time for each parameter and sample on the slowest board, with a reserve.
const STEP_S: f64 = 2e-8;

/// How much slower an emulated board may be than a real one, with several on one processor.
const EMULATED: f64 = 100.0;

/// Speed of a board and its line, as far as the fleet file tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    bit_rate: f64,
    epoch_s: f64,
    /// Time of receiving, evaluating and coding.
    order_s: f64,
    slowness: f64,
}

impl Speed {
    /// Returns the speed of a board that trains a network on so many samples: the modelled one, or
    /// that of the slowest board if the model has a faster one.
    #[must_use]
    pub fn of(entry: &Entry, cost: &CostModel, pace: &Pace, network: Shape, samples: u32) -> Self {
        let clock = cost.clock.0.max(1) as f64;
        let order = (pace.applying(true))
            .saturating_add(pace.evaluate)
            .saturating_add(pace.encode)
            .saturating_add(pace.seal);
        let slowest_s = STEP_S * network.parameters() as f64 * f64::from(samples);
        Self {
            bit_rate: f64::from(entry.baud.max(1)),
            epoch_s: (pace.epoch.0 as f64 / clock).max(slowest_s),
            order_s: (order.0 as f64 / clock).max(slowest_s),
            slowness: match entry.link.emulated() {
                Some(_) => EMULATED,
                None => 1.0,
            },
        }
    }

    /// Returns how long an order of so many epochs should take, with `bytes` on the line; transfers
    /// take `paced` at least.
    #[must_use]
    pub fn expected(&self, epochs: u32, bytes: usize, paced: Duration) -> Duration {
        let line_s = BITS_PER_BYTE * bytes as f64 / self.bit_rate;
        let work_s = f64::from(epochs) * self.epoch_s + self.order_s;
        let line = seconds(self.slowness * line_s).max(paced);
        line.saturating_add(seconds(self.slowness * work_s))
    }
}

/// Returns the limit of a round whose longest order should take `expected`, of which modelled
/// transfers are `paced`; `set` is the limit that the user wants.
#[must_use]
pub fn limit(set: Option<Duration>, expected: Duration, paced: Duration) -> Duration {
    match set {
        Some(limit) if paced.is_zero() => limit,
        // No limit is shorter than what the pace asks for.
        Some(limit) => limit.max(expected.saturating_add(MARGIN)),
        None => expected.saturating_mul(RESERVE).saturating_add(MARGIN),
    }
}

/// Converts seconds; too many are the longest time there is.
#[must_use]
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Board;
    use crate::fleet_file::Link;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns the speed of a board with 1,000 samples of the paper's network.
    fn speed(link: Link, clock_hz: f64, pace: Pace) -> Speed {
        let entry = Entry::new("board", 0, link);
        let cost = CostModel::paper(1e-26, clock_hz);
        Speed::of(&entry, &cost, &pace, Shape::PAPER, 1_000)
    }

    fn tcp() -> Link {
        Link::Tcp {
            address: "board:1".to_owned(),
        }
    }

    #[test]
    fn an_order_is_expected_to_take_its_transfers_and_its_epochs() {
        // Costs of the paper: a board is not believed to be as fast as that.
        let board = speed(tcp(), 5e8, Pace::default());
        let bytes = 120_000;
        let [one, three] = [1, 3].map(|epochs| board.expected(epochs, bytes, Duration::ZERO));
        let epoch = (three - one) / 2;
        assert!((700..900).contains(&epoch.as_millis()), "{epoch:?}");
        // 120 KB at 921,600 bit/s take 1.3 s without frames.
        assert!(one > epoch + SECOND * 13 / 10, "{one:?}");
        assert!(one < SECOND * 5, "{one:?}");
        // A modelled epoch that takes longer counts.
        let pace = Pace {
            epoch: gleaner_shared::units::Cycles(1_250_000_000),
            ..Pace::default()
        };
        let slow = speed(tcp(), 125e6, pace);
        assert!(slow.expected(1, bytes, Duration::ZERO) > SECOND * 10);
        // Emulators need far longer.
        let emulated = speed(
            Link::Emulated {
                board: Board::Rp2040,
            },
            5e8,
            Pace::default(),
        );
        assert!(emulated.expected(1, bytes, Duration::ZERO) > SECOND * 100);
    }

    #[test]
    fn a_round_has_its_modelled_transfers_and_a_margin_whatever_limit_is_set() {
        let board = speed(tcp(), 5e8, Pace::default());
        let hour = SECOND * 3600;
        let paced = board.expected(1, 0, hour);
        assert!(paced > hour);
        assert_eq!(limit(Some(SECOND), SECOND * 9, Duration::ZERO), SECOND);
        assert_eq!(limit(Some(SECOND), paced, hour), paced + MARGIN);
        assert_eq!(limit(Some(hour * 9), paced, hour), hour * 9);
        assert_eq!(
            limit(None, SECOND, Duration::ZERO),
            MARGIN + SECOND * RESERVE
        );
    }

    #[test]
    fn no_time_is_longer_than_the_clock_can_tell() {
        let board = speed(tcp(), 1e-9, Pace::default());
        let forever = board.expected(u32::MAX, usize::MAX, Duration::MAX);
        assert_eq!(limit(None, forever, Duration::MAX), Duration::MAX);
        assert_eq!(seconds(f64::NAN), Duration::ZERO);
        assert_eq!(seconds(f64::INFINITY), Duration::MAX);
    }
}
