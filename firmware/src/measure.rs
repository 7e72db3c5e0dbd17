//! Steps of a measurement: the work of a round in pieces, at a given clock or waiting, with pins
//! and marks around each.

use gleaner_shared::energy::Phase;
use gleaner_shared::mlp::code::{Code, Draw};
use gleaner_shared::mlp::{Clip, UploadCode, Width};
use gleaner_shared::units::{Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{MeasureRefusal, MeasureStep, ModelHash, Order, RunId};

use crate::app::App;
use crate::client::Work;
use crate::model::{HIDDEN, INPUTS, Memory, OUTPUTS};
use crate::platform::{Clock, Gauge, Platform, StatusLed, Watchdog};
use crate::runner::Runner;
use crate::training::{Outcome, code_change};

/// The longest wait: the base station takes a board silent for longer to be lost.
const LONGEST_WAIT: Micros = Micros(1_000_000);

impl<P: Platform> Runner<P> {
    /// Carries out a step of a measurement and answers.
    pub(crate) async fn measure<A: App>(
        &mut self,
        number: u32,
        step: MeasureStep,
        memory: &mut Memory,
        app: &mut A,
    ) {
        let work = Work::Measure(number, step);
        let refused = self.take_step(work, step, memory, app).await.err();
        if self.marks.phase().is_some() {
            self.enter(Phase::Idle);
        }
        self.client.measured(number, refused);
    }

    async fn take_step<A: App>(
        &mut self,
        work: Work,
        step: MeasureStep,
        memory: &mut Memory,
        app: &mut A,
    ) -> Result<(), MeasureRefusal> {
        if self.marks.phase().is_none() && step != MeasureStep::Begin {
            return Err(MeasureRefusal::NotBegun);
        }
        match step {
            MeasureStep::Begin => self.begin_measuring(),
            MeasureStep::End => self.end_measuring(),
            MeasureStep::Clock { hz } => {
                if !self.parts.gauge.set_clock(hz) {
                    let hz = self.parts.gauge.clock_hz();
                    return Err(MeasureRefusal::Clock { hz });
                }
            }
            MeasureStep::Train { epochs } => {
                return self.run_epochs(work, epochs, memory, app).await;
            }
            MeasureStep::Evaluate => return self.run_epochs(work, 0, memory, app).await,
            MeasureStep::Encode { code } => {
                self.code_nothing(code, memory)?;
            }
            MeasureStep::Apply { bits } => self.apply_nothing(bits, memory)?,
            MeasureStep::Wait { state, time } => return self.wait_in(state, time).await,
        }
        Ok(())
    }

    fn begin_measuring(&mut self) {
        self.parts.led.set(false);
        self.client.supplied(self.parts.gauge.millivolts());
        self.parts.gauge.begin();
        let (now, hz) = (self.parts.clock.now(), self.parts.gauge.clock_hz());
        self.marks.begin(Phase::Idle, now, hz);
        self.parts.gauge.show(Phase::Idle);
    }

    fn end_measuring(&mut self) {
        self.marks.end();
        self.parts.gauge.end();
    }

    /// Trains and evaluates as in a round, or evaluates alone; the model does not change.
    async fn run_epochs<A: App>(
        &mut self,
        work: Work,
        epochs: u16,
        memory: &mut Memory,
        app: &mut A,
    ) -> Result<(), MeasureRefusal> {
        self.client.model().ok_or(MeasureRefusal::NoModel)?;
        let order = rehearsed(epochs);
        let mut report = self.blank_report(&order);
        match self.work_on(work, &order, memory, app, &mut report).await {
            Some(Outcome::Cancelled) => Err(MeasureRefusal::Busy),
            Some(_) => Ok(()),
            None => Err(MeasureRefusal::NoSamples),
        }
    }

    /// Codes the difference of the model to itself; returns its length.
    fn code_nothing(
        &mut self,
        code: UploadCode,
        memory: &mut Memory,
    ) -> Result<usize, MeasureRefusal> {
        self.client.model().ok_or(MeasureRefusal::NoModel)?;
        memory.local.params().copy_from(&memory.global);
        let (local, global, rows) = (&mut memory.local, &memory.global, &mut memory.rows);
        let draw = Draw {
            seed: 0,
            client: self.client.number(),
            round: 0,
        };
        self.enter(Phase::Encode);
        let (length, cycles) =
            self.metered(|| code_change(code, Clip::NONE, draw, local.params(), global, rows));
        let length = length.ok_or(MeasureRefusal::Invalid)?;
        self.marks.worked(cycles, 0);
        Ok(length)
    }

    /// Applies a change that is zero everywhere.
    fn apply_nothing(&mut self, bits: u8, memory: &mut Memory) -> Result<(), MeasureRefusal> {
        let (code, width) = match bits {
            8 => (UploadCode::Q8, Width::Byte),
            16 => (UploadCode::Q16, Width::Wide),
            _ => return Err(MeasureRefusal::Invalid),
        };
        let length = self.code_nothing(code, memory)?;
        let (global, rows) = (&mut memory.global, &mut memory.rows);
        self.enter(Phase::Apply);
        let (applied, cycles) = self.metered(|| {
            let code = Code::<'_, INPUTS, HIDDEN, OUTPUTS>::parse(&rows.bytes()[..length], width);
            code.map(|code| code.apply(global))
        });
        self.marks.worked(cycles, 0);
        applied.map_err(|_| MeasureRefusal::Invalid)
    }

    /// Waits without serving the link, whose driver keeps receiving.
    async fn wait_in(&mut self, state: Phase, time: Micros) -> Result<(), MeasureRefusal> {
        let waits = matches!(state, Phase::Idle | Phase::Sleep);
        if !waits || time > LONGEST_WAIT {
            return Err(MeasureRefusal::Invalid);
        }
        self.parts.watchdog.feed();
        self.parts.gauge.sleep_deep(state == Phase::Sleep);
        self.enter(state);
        let until = self.parts.clock.now().saturating_add(time);
        self.parts.clock.wait_until(until).await;
        self.enter(Phase::Idle);
        self.parts.gauge.sleep_deep(false);
        Ok(())
    }
}

/// Returns the order of a step, with a usual learning rate.
fn rehearsed(epochs: u16) -> Order {
    Order {
        run: RunId::default(),
        round: 0,
        participate: true,
        channel: 0,
        code: UploadCode::Q8,
        epochs,
        power: NanoWatts::ZERO,
        drawn: NanoWatts::ZERO,
        airtime: Micros::ZERO,
        learning_rate_q24: 1 << 22,
        seed: 0,
        model: ModelHash::default(),
        period: Micros::ZERO,
        listening: Micros::ZERO,
        receiving: Micros::ZERO,
        income: PicoJoules::ZERO,
        clip_q16: 0,
    }
}
