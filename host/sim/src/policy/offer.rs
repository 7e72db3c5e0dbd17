//! The order a client could get on a channel, and its cost.

use super::View;
use gleaner_cre::optim::Instance;
use gleaner_cre::optim::power::Transmission;

/// Transmit power and cost of an order on a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) power_w: f64,
    /// Cost of the order above the cost of resting.
    pub(super) bill_j: f64,
    /// Upper bound of that cost in whole picojoules.
    booked_j: f64,
}

impl Offer {
    /// Counts what so many epochs and this upload cost a client.
    pub(super) fn of(view: &View<'_>, client: usize, epochs: u32, upload: Transmission) -> Self {
        let Transmission { power_w, time_s } = upload;
        let (budget, instance) = (&view.budgets[client], view.instance);
        let work_j = f64::from(epochs) * budget.epoch_j + budget.order_j;
        let bill_j = work_j + instance.upload_j(client, power_w, time_s);
        Self {
            power_w,
            bill_j,
            booked_j: bill_j + rounding_j(instance, client, upload),
        }
    }

    /// Returns it if the client can pay.
    pub(super) fn payable(self, view: &View<'_>, client: usize) -> Option<Self> {
        (self.booked_j <= view.budgets[client].spendable_j).then_some(self)
    }
}

/// Returns the least cost among a client's offers.
pub(super) fn least_bill(offers: &[Option<Offer>]) -> Option<f64> {
    let bills = offers.iter().flatten().map(|offer| offer.bill_j);
    bills.min_by(f64::total_cmp)
}

/// Returns what rounding to whole nanowatts, microseconds and picojoules may add to an upload in
/// the books, the epoch's last picojoule included. An amplifier draws a multiple of the rounded
/// power, and that is rounded again.
pub(super) fn rounding_j(instance: &Instance, client: usize, upload: Transmission) -> f64 {
    let Transmission { power_w, time_s } = upload;
    let radio = &instance.costs[client].radio;
    let again_w = if radio.efficiency < 1.0 { 0.5e-9 } else { 0.0 };
    let off_w = 0.5e-9 / radio.efficiency + again_w;
    0.5e-6 * instance.drawn_w(client, power_w) + off_w * time_s + 2e-12
}
