//! Provisioning, orders, and the end of a round.

use gleaner_shared::mlp::UploadCode;
use gleaner_shared::units::{Cycles, PicoJoules};
use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, Order, OrderReply, Provision, Report, RoundMark, WorkMark,
};

use super::{Client, Job, Phase};
use crate::fmt::{info, warning};
use crate::model::{Params, Rows};
use crate::platform::Platform;

impl<P: Platform> Client<'_, P> {
    /// Ends training with its report; the update is in the first `length` bytes of the error rows.
    pub fn finish_training(&mut self, report: Report, length: usize) {
        if !self.exact && report.epochs > 0 {
            let epoch = Cycles(report.cycles.0 / u64::from(report.epochs));
            self.store.expect_epoch(epoch);
        }
        self.phase = Phase::Uploading {
            report,
            length,
            reported: false,
            offered: false,
        };
    }

    /// Writes the closed round to flash, before the base station receives the acknowledgement.
    /// While a later order is in progress, nothing is written.
    pub(super) fn write_down(&mut self) {
        let (ledger, last_round) = (self.store.saved(), self.store.last_round());
        if let Some(saved) = &mut self.saved
            && self.job.is_none()
        {
            saved.close(ledger, last_round, self.model);
            self.tell_flash_use();
        }
    }

    pub(super) fn provision(&mut self, provision: &Provision) {
        // A ledger that breaks its identity is not answered: the base station sees its provision
        // time out and reports the board.
        let Some(ledger) = self.store.provision(provision) else {
            return;
        };
        let client = provision.client;
        info!("client {} with {} pJ", client, ledger.stored.0);
        self.number = Some(client);
        self.run = Some(provision.run);
        let closed = provision.last_round.map(|mark| mark.round);
        if let Some(work) = self.work_mark()
            && (provision.adopt || work.run != provision.run || Some(work.round) <= closed)
        {
            self.drop_work();
        }
        self.answer(DeviceToHost::Provisioned { client, ledger });
    }

    pub(super) fn take_order(&mut self, order: &Order) -> OrderReply {
        let work = order.mark();
        let outcome = self.begin(order, work);
        if outcome.is_ok() {
            info!("round {}: {} epochs", order.round, order.epochs);
        } else {
            warning!("round {}: declined", order.round);
        }
        OrderReply {
            work,
            declined: outcome.err(),
            reserved: outcome.unwrap_or_default(),
        }
    }

    /// Records the cycles of applying a model, or a change of it; the next order pays for them and
    /// for opening its frames.
    pub(crate) fn applied(&mut self, cycles: Cycles, whole: bool) {
        let cycles = cycles.saturating_add(self.store.pace().opening(whole));
        self.unpaid_apply = self.unpaid_apply.saturating_add(cycles);
    }

    /// Closes a round, whatever became of its order.
    pub(super) fn commit(&mut self, mark: RoundMark) {
        if self.work_mark().is_some_and(|it| it.round <= mark.round) {
            self.drop_work();
        }
        if self.job.is_none() {
            self.store.finish();
        }
        self.store.close_round(mark);
        self.write_down();
    }

    /// Stops the work of an order; the waiting of its round is charged.
    pub(super) fn cancel(&mut self, work: WorkMark) {
        if self.work_mark() == Some(work) {
            self.drop_work();
        }
        if self.job.is_none() {
            self.store.finish();
        }
        if let Some(ledger) = self.store.snapshot() {
            self.answer(DeviceToHost::Cancelled { work, ledger });
        }
    }

    /// Begins the work of an order, or returns why not. An order that is already in progress,
    /// possibly from an earlier session, is accepted again and continues.
    fn begin(&mut self, order: &Order, work: WorkMark) -> Result<PicoJoules, DeclineReason> {
        match self.run {
            None => return Err(DeclineReason::NotProvisioned),
            Some(run) if run != order.run => return Err(DeclineReason::OtherRun),
            Some(_) => {}
        }
        if let Some(mark) = self.store.last_round()
            && order.round <= mark.round
        {
            return Err(DeclineReason::Stale { newest: mark.round });
        }
        if let Some(job) = self.job.as_mut().filter(|job| job.work == work) {
            job.confirmed = true;
            return Ok(job.reserved);
        }
        // The base station has moved on: unfinished work is dropped.
        self.drop_work();
        self.store.begin_round(order);
        let reserved = match self.reserve(order) {
            // A base station that updates the model now repeats the same order.
            Err(DeclineReason::Model) => return Err(DeclineReason::Model),
            Err(reason) => {
                self.store.finish();
                return Err(reason);
            }
            Ok(reserved) => reserved,
        };
        if order.participate {
            self.job = Some(Job {
                work,
                reserved,
                confirmed: true,
            });
            self.phase = Phase::Training(*order);
        } else {
            self.store.finish();
        }
        Ok(reserved)
    }

    /// Reserves the energy of the order, or returns why not.
    fn reserve(&mut self, order: &Order) -> Result<PicoJoules, DeclineReason> {
        if !order.participate {
            return Ok(PicoJoules::ZERO);
        }
        if self.flashed.data.is_none() || self.flashed.client() != self.number {
            return Err(DeclineReason::Shard(self.flashed.status));
        }
        if order.epochs == 0 || !has_room(order.code) {
            return Err(DeclineReason::Invalid);
        }
        if self.model != Some(order.model) {
            // A model is received only for an order that can be paid.
            let to_come = self.store.pace().applying(self.model.is_none());
            let apply = self.unpaid_apply.saturating_add(to_come);
            let payable = self.store.check(order, apply);
            return Err(payable.map_or_else(DeclineReason::Energy, |()| DeclineReason::Model));
        }
        let reserved = self.store.reserve(order, self.unpaid_apply);
        let reserved = reserved.map_err(DeclineReason::Energy)?;
        // Paid; the cycles of a declined order stay for the next one.
        self.unpaid_apply = Cycles::ZERO;
        Ok(reserved)
    }

    /// Returns the mark of the order in progress.
    pub(super) fn work_mark(&self) -> Option<WorkMark> {
        self.job.map(|job| job.work)
    }

    pub(super) fn drop_work(&mut self) {
        if self.job.take().is_some() {
            self.store.finish();
            self.phase = Phase::Idle;
        }
    }
}

/// Returns whether an update in this code, and what coding it takes, fit the memory of the error rows.
#[must_use]
pub fn has_room(code: UploadCode) -> bool {
    let shape = Params::ROOM;
    let words = code.encoded_len(&shape).div_ceil(size_of::<u32>()) + code.work_words(&shape);
    size_of::<u32>() * words <= size_of::<Rows>()
}
