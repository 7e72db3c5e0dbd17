//! Steps of a measurement: one open at a time, carried out by the runner, which has pins and
//! clocks.

use gleaner_shared::energy;
use gleaner_shared::wire::message::{DeviceToHost, MeasureRefusal, MeasureStep};

use super::{Client, Phase};
use crate::platform::Platform;

impl<P: Platform> Client<'_, P> {
    /// Accepts a step, unless the client is busy with a round or another step.
    pub(super) fn take_step(&mut self, number: u32, step: MeasureStep) {
        let busy = self.step.is_some() || self.job.is_some() || self.question.is_some();
        if busy || self.receiving || self.phase != Phase::Idle {
            self.measured(number, Some(MeasureRefusal::Busy));
        } else {
            self.step = Some((number, step));
        }
    }

    /// Ends the open step.
    pub(crate) fn measured(&mut self, number: u32, refused: Option<MeasureRefusal>) {
        self.step = None;
        self.answer(DeviceToHost::Measured { number, refused });
    }

    /// Records the supply's voltage.
    pub(crate) const fn supplied(&mut self, millivolts: Option<u16>) {
        self.millivolts = millivolts;
    }

    /// Returns the phase of the line, if a transfer is in progress.
    pub(crate) const fn line_phase(&self) -> Option<energy::Phase> {
        match self.phase {
            Phase::Uploading { offered: true, .. } | Phase::Echoing { offered: true, .. } => {
                Some(energy::Phase::Transmit)
            }
            _ if self.receiving => Some(energy::Phase::Receive),
            _ => None,
        }
    }
}
