//! One order carried out: epochs in small steps, the link attended between them, every cycle
//! paid for.

use gleaner_shared::mlp::{
    self, Helper, LearningRate, Samples, Step, Trainer, code, evaluate_with,
};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, PicoJoules};
use gleaner_shared::wire::message::{DeviceToHost, Order, Progress, Report};

use crate::app::App;
use crate::client::{Work, upload_width};
use crate::fmt::info;
use crate::gather::Joined;
use crate::model::{HIDDEN, INPUTS, Memory, OUTPUTS};
use crate::platform::{Clock, CycleCounter, Platform};
use crate::runner::Runner;

/// Rows summed between two looks at the link: about 200,000 cycles, 1.6 ms on an RP2040, in which
/// the line brings 150 bytes.
const STEP_ROWS: u32 = 1_024;
/// Samples a core evaluates between two looks at the link.
const STEP_SAMPLES: usize = 8;

impl<P: Platform> Runner<P> {
    /// Trains as ordered, codes the update into the error rows and reports; returns early when
    /// the order is cancelled.
    pub(crate) async fn train<A: App>(&mut self, order: &Order, memory: &mut Memory, app: &mut A) {
        let begin = self.parts.clock.now();
        let mut report = self.blank_report(order);
        let mut length = 0;
        let mut helper = self.parts.helper.take();
        let (second, told) = (helper.as_mut(), &mut report);
        let outcome = match (self.client.data(), app.gathered()) {
            (Some(shard), Some(gathered)) if A::LEARNS => {
                let samples = Joined::new(shard, gathered.samples());
                self.epochs(order, &samples, memory, second, told).await
            }
            (Some(shard), _) => self.epochs(order, &shard, memory, second, told).await,
            (None, _) => None,
        };
        self.parts.helper = helper;
        if let Some(outcome) = outcome {
            if self.client.work() != Work::Train(*order) {
                return;
            }
            if outcome == Outcome::Trained {
                length = self.code_update(order, memory);
                report.trained = length > 0;
                let (radio, _) = self.client.store().pay_radio(order.power, order.airtime);
                report.radio = radio;
            }
        }
        report.elapsed = self.parts.clock.now().saturating_sub(begin);
        report.ledger = self.client.store().snapshot().unwrap_or_default();
        self.client.finish_training(report, length);
    }

    /// Runs the epochs and evaluates the result.
    async fn epochs(
        &mut self,
        order: &Order,
        data: &impl Samples<INPUTS>,
        memory: &mut Memory,
        mut helper: Option<&mut Helper<'static, P::Partner, HIDDEN, OUTPUTS>>,
        report: &mut Report,
    ) -> Option<Outcome> {
        report.samples = data.len() as u32;
        memory.local.params().copy_from(&memory.global);
        let rng = Rng::stream(
            order.seed,
            Purpose::Training,
            self.client.number(),
            order.round,
        );
        let mut trainer = Trainer::try_new(
            memory.local.params(),
            data,
            &mut memory.work,
            memory.rows.words(),
            LearningRate(order.learning_rate_q24),
            rng,
        )
        .ok()?
        .with_helper(helper.as_deref_mut().map(Helper::reborrow));
        for epoch in 1..=order.epochs {
            let mut spent = Cycles::ZERO;
            let result = loop {
                let (step, cycles) = self.metered(|| trainer.step(STEP_ROWS));
                spent = spent.saturating_add(cycles);
                self.attend().await;
                if self.client.work() != Work::Train(*order) {
                    return Some(Outcome::Cancelled);
                }
                if let Step::Done(result) = step {
                    break result;
                }
            };
            if epoch == 1 {
                report.loss_before_q16 = result.mean_loss();
            }
            report.epochs = epoch;
            report.cycles = report.cycles.saturating_add(spent);
            if !self.pay(spent, 1, report) {
                return Some(Outcome::Exhausted);
            }
            info!("epoch {}: {} cycles", epoch, spent.0);
            self.link.notify(DeviceToHost::Progress(Progress {
                work: report.work,
                epoch,
                cycles: report.cycles,
            }));
        }

        let mut spent = Cycles::ZERO;
        let mut result = mlp::EpochResult::default();
        let samples = STEP_SAMPLES * if helper.is_some() { 2 } else { 1 };
        for start in (0..data.len()).step_by(samples) {
            let (local, pass) = (memory.local.params(), &mut memory.work.pass);
            let (range, helper) = (
                start..start + samples,
                helper.as_deref_mut().map(Helper::reborrow),
            );
            let (part, cycles) = self.metered(|| evaluate_with(helper, local, data, range, pass));
            result.add(&part);
            spent = spent.saturating_add(cycles);
            self.attend().await;
            if self.client.work() != Work::Train(*order) {
                return Some(Outcome::Cancelled);
            }
        }
        report.loss_after_q16 = result.mean_loss();
        let paid = self.pay(spent, 0, report);
        Some(if paid {
            Outcome::Trained
        } else {
            Outcome::Exhausted
        })
    }

    /// Codes the difference to the global model; returns its bytes, zero if there is no room.
    fn code_update(&mut self, order: &Order, memory: &mut Memory) -> usize {
        let client = self.client.number();
        let mut rng = Rng::stream(order.seed, Purpose::Uplink, client, order.round);
        upload_width(order.uplink_bits).map_or(0, |width| {
            let Memory {
                local,
                global,
                rows,
                ..
            } = memory;
            code::encode(local.params(), global, width, &mut rng, rows.bytes()).unwrap_or(0)
        })
    }

    /// Does a piece of work and counts its cycles.
    pub(crate) fn metered<T>(&mut self, work: impl FnOnce() -> T) -> (T, Cycles) {
        let start = self.parts.cycles.read();
        let result = work();
        let end = self.parts.cycles.read();
        (result, self.parts.cycles.between(start, end))
    }

    /// Pays for cycles; false if the store could not.
    fn pay(&mut self, cycles: Cycles, epochs: u32, report: &mut Report) -> bool {
        let (paid, held) = self.client.store().pay_compute(cycles, epochs);
        report.compute = report.compute.saturating_add(paid);
        held
    }

    fn blank_report(&mut self, order: &Order) -> Report {
        let store = self.client.store();
        Report {
            work: order.mark(),
            trained: false,
            loss_before_q16: 0,
            loss_after_q16: 0,
            samples: 0,
            epochs: 0,
            cycles: Cycles::ZERO,
            elapsed: Default::default(),
            compute: PicoJoules::ZERO,
            radio: PicoJoules::ZERO,
            harvested: store.income(),
            ledger: store.snapshot().unwrap_or_default(),
        }
    }
}

/// How the epochs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Trained,
    /// The store ran dry although the order had been reserved.
    Exhausted,
    Cancelled,
}
