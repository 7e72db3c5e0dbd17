//! Carries out one order: epochs in small steps, the link served between them, every cycle charged.

use gleaner_shared::energy::{Phase, Spent};
use gleaner_shared::mlp::code::{Between, Draw};
use gleaner_shared::mlp::{
    self, Clip, Helper, LearningRate, Samples, Step, Trainer, UploadCode, evaluate_with,
};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::Cycles;
use gleaner_shared::wire::message::{DeviceToHost, Order, Progress, Report};

use crate::app::App;
use crate::client::Work;
use crate::fmt::info;
use crate::gather::Joined;
use crate::model::{HIDDEN, INPUTS, Memory, OUTPUTS, Params, Rows};
use crate::platform::{Clock, CycleCounter, Platform};
use crate::runner::Runner;

/// Rows summed between two polls of the link: about 200,000 cycles, 1.6 ms on an RP2040, in which
/// 150 bytes arrive. Longer rows take longer.
const STEP_ROWS: u32 = if HIDDEN <= 50 {
    1_024
} else {
    (1_024 * 50 / HIDDEN) as u32
};
/// Samples a core evaluates between two polls of the link.
const STEP_SAMPLES: usize = 8;

impl<P: Platform> Runner<P> {
    /// Trains as ordered, codes the update into the error rows and reports; returns early when the
    /// order is cancelled.
    pub(crate) async fn train<A: App>(&mut self, order: &Order, memory: &mut Memory, app: &mut A) {
        let begin = self.parts.clock.now();
        let mut report = self.blank_report(order);
        let mut length = 0;
        let work = Work::Train(*order);
        let outcome = self.work_on(work, order, memory, app, &mut report).await;
        if let Some(outcome) = outcome {
            if self.client.work() != work {
                return;
            }
            if outcome == Outcome::Trained {
                let number = self.client.number();
                self.enter(Phase::Encode);
                let (coded, cycles) = self.metered(|| code_update(order, number, memory));
                (length, report.trained) = (coded, coded > 0);
                self.marks.worked(cycles, 0);
                let store = self.client.store();
                let seal = store.pace().seal;
                store.count(|done| {
                    done.encode = cycles.saturating_add(seal);
                    (done.drawn, done.airtime) = (order.drawn, order.airtime);
                });
            }
        }
        self.client.store().finish();
        report.spent = self.client.store().spent();
        report.elapsed = self.parts.clock.now().saturating_sub(begin);
        report.ledger = self.client.store().snapshot().unwrap_or_default();
        self.client.finish_training(report, length);
    }

    /// Runs the epochs of an order on the available samples; `None` without any.
    pub(crate) async fn work_on<A: App>(
        &mut self,
        work: Work,
        order: &Order,
        memory: &mut Memory,
        app: &mut A,
        report: &mut Report,
    ) -> Option<Outcome> {
        let mut helper = self.parts.helper.take();
        let second = helper.as_mut();
        let outcome = match (self.client.data(), app.gathered()) {
            (Some(shard), Some(gathered)) if A::LEARNS => {
                let samples = Joined::new(shard, gathered.samples());
                self.epochs(work, order, &samples, memory, second, report)
                    .await
            }
            (Some(shard), _) => {
                self.epochs(work, order, &shard, memory, second, report)
                    .await
            }
            (None, _) => None,
        };
        self.parts.helper = helper;
        outcome
    }

    /// Runs the epochs and evaluates the result; stops when the order is cancelled.
    async fn epochs(
        &mut self,
        work: Work,
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
            self.enter(Phase::Train);
            let result = loop {
                let (step, cycles) = self.metered(|| trainer.step(STEP_ROWS));
                spent = spent.saturating_add(cycles);
                let store = self.client.store();
                store.count(|done| done.train = done.train.saturating_add(cycles));
                self.attend().await;
                if self.client.work() != work {
                    return Some(Outcome::Cancelled);
                }
                if let Step::Done(result) = step {
                    break result;
                }
            };
            if epoch == 1 {
                report.loss_before_q16 = result.mean_loss();
            }
            self.marks.worked(spent, report.samples);
            report.epochs = epoch;
            report.cycles = report.cycles.saturating_add(spent);
            self.client.store().count(|done| done.epochs += 1);
            if !self.client.store().charge() {
                return Some(Outcome::Exhausted);
            }
            info!("epoch {}: {} cycles", epoch, spent.0);
            if matches!(work, Work::Train(_)) {
                self.link.notify(DeviceToHost::Progress(Progress {
                    work: report.work,
                    epoch,
                    cycles: report.cycles,
                }));
            }
        }

        self.enter(Phase::Evaluate);
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
            self.marks.worked(cycles, 0);
            let store = self.client.store();
            store.count(|done| done.evaluate = done.evaluate.saturating_add(cycles));
            self.attend().await;
            if self.client.work() != work {
                return Some(Outcome::Cancelled);
            }
        }
        self.marks.worked(Cycles::ZERO, report.samples);
        report.loss_after_q16 = result.mean_loss();
        Some(if self.client.store().charge() {
            Outcome::Trained
        } else {
            Outcome::Exhausted
        })
    }

    /// Runs `work` and counts its cycles.
    pub(crate) fn metered<T>(&mut self, work: impl FnOnce() -> T) -> (T, Cycles) {
        let start = self.parts.cycles.read();
        let result = work();
        let end = self.parts.cycles.read();
        (result, self.parts.cycles.between(start, end))
    }

    pub(crate) fn blank_report(&mut self, order: &Order) -> Report {
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
            spent: Spent::ZERO,
            harvested: order.income,
            ledger: store.snapshot().unwrap_or_default(),
        }
    }
}

/// Codes the difference to the global model, at most as long as ordered; returns the bytes of its code,
/// zero if there is no room.
fn code_update(order: &Order, client: u32, memory: &mut Memory) -> usize {
    let Memory {
        local,
        global,
        rows,
        ..
    } = memory;
    let draw = Draw {
        seed: order.seed,
        client,
        round: order.round,
    };
    code_change(
        order.code,
        Clip(order.clip_q16),
        draw,
        local.params(),
        global,
        rows,
    )
    .unwrap_or(0)
}

/// Codes the difference between two models into the memory of the error rows; returns its bytes, or `None`
/// if there is no room.
// One copy for orders and measurements.
#[inline(never)]
pub(crate) fn code_change(
    code: UploadCode,
    clip: Clip,
    draw: Draw,
    model: &Params,
    base: &Params,
    rows: &mut Rows,
) -> Option<usize> {
    let change = Between { model, base };
    let (out, work) = rows.coding(code.encoded_len(&change))?;
    code.encode(&change, clip, draw, work, out).ok()
}

/// The outcome of the epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Trained,
    /// The energy store was empty although the order had been reserved.
    Exhausted,
    Cancelled,
}
