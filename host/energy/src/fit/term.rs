//! Coefficients of the model, and the amount of each in an interval.

use std::fmt;

use gleaner_shared::energy::Phase;

use super::integrate::Measured;

/// A kind of coefficient: powers of phases, energies per byte and per cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Sleep,
    /// Power awake without work, also part of all phases that compute.
    Idle,
    Receive,
    ReceiveByte,
    Transmit,
    TransmitByte,
    /// Energy of a processor cycle at one clock, above idling.
    Cycle,
}

impl Kind {
    /// All kinds in the order of a profile.
    pub const ALL: [Self; 7] = [
        Self::Sleep,
        Self::Idle,
        Self::Receive,
        Self::ReceiveByte,
        Self::Transmit,
        Self::TransmitByte,
        Self::Cycle,
    ];

    /// Returns the name in a profile.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Idle => "idle",
            Self::Receive => "receive",
            Self::ReceiveByte => "receive-byte",
            Self::Transmit => "transmit",
            Self::TransmitByte => "transmit-byte",
            Self::Cycle => "cycle",
        }
    }

    /// Returns the unit in a profile.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::ReceiveByte | Self::TransmitByte => "J/byte",
            Self::Cycle => "J/cycle",
            _ => "W",
        }
    }
}

/// A coefficient: its kind, and its clock if it holds at one clock only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub struct Term {
    pub kind: Kind,
    pub clock_hz: Option<u32>,
}

impl Term {
    /// Returns a coefficient that holds at every clock.
    #[must_use]
    pub const fn any(kind: Kind) -> Self {
        Self {
            kind,
            clock_hz: None,
        }
    }

    /// Returns a coefficient of one clock.
    #[must_use]
    pub const fn at(kind: Kind, clock_hz: u32) -> Self {
        Self {
            kind,
            clock_hz: Some(clock_hz),
        }
    }

    /// Returns the amount in an interval: seconds, bytes or cycles.
    #[must_use]
    pub fn amount(&self, part: &Part) -> f64 {
        if self.clock_hz.is_some_and(|clock| clock != part.clk_hz) {
            return 0.0;
        }
        let during = |phase: Phase, amount: f64| if part.phase == phase { amount } else { 0.0 };
        match self.kind {
            Kind::Sleep => during(Phase::Sleep, part.seconds),
            Kind::Idle if computes(part.phase) => part.seconds,
            Kind::Idle => during(Phase::Idle, part.seconds),
            Kind::Receive => during(Phase::Receive, part.seconds),
            Kind::ReceiveByte => during(Phase::Receive, part.bytes),
            Kind::Transmit => during(Phase::Transmit, part.seconds),
            Kind::TransmitByte => during(Phase::Transmit, part.bytes),
            Kind::Cycle => part.cycles,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match self.clock_hz {
            Some(clock_hz) => write!(f, " at {} MHz", f64::from(clock_hz) / 1e6),
            None => Ok(()),
        }
    }
}

/// Returns whether the processor computes in a phase.
#[must_use]
pub const fn computes(phase: Phase) -> bool {
    matches!(
        phase,
        Phase::Apply | Phase::Train | Phase::Evaluate | Phase::Encode
    )
}

/// Activity of an interval or of its inner part.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Part {
    pub phase: Phase,
    pub clk_hz: u32,
    pub seconds: f64,
    pub cycles: f64,
    pub bytes: f64,
}

impl Measured {
    /// Returns the activity of the whole interval.
    #[must_use]
    pub fn whole(&self) -> Part {
        self.part(self.to_s - self.from_s)
    }

    /// Returns the activity between the guards, with its share of cycles and bytes.
    #[must_use]
    pub fn inner(&self) -> Part {
        self.part(self.inner_s)
    }

    fn part(&self, seconds: f64) -> Part {
        let share = seconds / (self.to_s - self.from_s);
        Part {
            phase: self.mark.phase,
            clk_hz: self.mark.clk_hz,
            seconds,
            cycles: share * self.mark.cycles as f64,
            bytes: share * f64::from(self.mark.bytes),
        }
    }
}
