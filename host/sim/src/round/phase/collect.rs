//! Phases 2 and 3: broadcasting the orders and collecting the updates.

use gleaner_shared::energy::Shortfall;

use super::Planned;
use crate::policy::Order;
use crate::round::energy::OnAir;
use crate::round::fleet::{Broadcast, Reply, Update};
use crate::round::record::{Anomaly, ClientState};
use crate::round::{Engine, EngineError};
use crate::scenario::Estimates;
use gleaner_cre::optim::Instance;

/// A plan may use the deadline to the last bit; rounding must not make it late.
const DEADLINE_TOLERANCE: f64 = 1e-9;

/// The modelled times of one order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::round) struct Timing {
    pub(in crate::round) compute_s: f64,
    pub(in crate::round) upload_s: f64,
    pub(in crate::round) finish_s: f64,
}

impl Timing {
    /// t_down + tau T_i + l / v_up, and what an order takes beside.
    pub(in crate::round) fn of(instance: &Instance, order: &Order) -> Self {
        let upload_s = upload_s(instance, order);
        let compute_s = f64::from(order.epochs) * instance.epoch_s[order.client.index()];
        let order_s = instance.costs[order.client.index()].order_s;
        Self {
            compute_s,
            upload_s,
            finish_s: instance.downlink_s + compute_s + upload_s + order_s,
        }
    }

    fn meets(&self, deadline_s: f64) -> bool {
        self.finish_s <= deadline_s * (1.0 + DEADLINE_TOLERANCE)
    }
}

/// Returns the modelled time of each order's upload.
fn upload_times(instance: &Instance, orders: &[Order]) -> Vec<f64> {
    let times = orders.iter().map(|order| upload_s(instance, order));
    times.collect()
}

fn upload_s(instance: &Instance, order: &Order) -> f64 {
    match order.bit_rate_bps {
        Some(bit_rate_bps) => instance.model_bits / bit_rate_bps,
        None => instance.upload_s(order.client.index(), order.channel, order.power_w),
    }
}

/// The outcome of one order.
pub(in crate::round) struct Delivery {
    pub(in crate::round) order: Order,
    pub(in crate::round) timing: Timing,
    /// Whether the client received the whole model instead of a change.
    pub(in crate::round) whole: bool,
    pub(in crate::round) result: Result<Update, (ClientState, String)>,
}

/// A round whose updates have arrived.
pub(in crate::round) struct Collected {
    pub(in crate::round) planned: Planned,
    pub(in crate::round) deliveries: Vec<Delivery>,
    /// Updates refused as unusable.
    pub(in crate::round) anomalies: Vec<Anomaly>,
}

impl Engine<'_> {
    /// Reserves the energy of every order; returns the shortfall of those that cannot be paid.
    pub(in crate::round) fn reserve(
        &mut self,
        orders: &[Order],
        downlink_s: f64,
        upload_s: &[f64],
    ) -> Vec<Option<Shortfall>> {
        let reserve = |(order, &upload_s): (&Order, &f64)| {
            let client = order.client.index();
            let on_air = OnAir {
                downlink_s,
                upload_s,
                whole: !self.state.holds_model[client],
            };
            let store = self.stores.get_mut(client)?;
            let work = self.costs.working(order, on_air);
            store.reserve(self.costs.due(client, &work).total()).err()
        };
        orders.iter().zip(upload_s).map(reserve).collect()
    }

    pub(in crate::round) fn collect(&mut self, planned: Planned) -> Result<Collected, EngineError> {
        let orders = &planned.decision.orders;
        let holds_model = self.state.holds_model.clone();
        let replies = if orders.is_empty() {
            Vec::new()
        } else {
            self.state.model = self.fleet.announce(planned.round, &self.state.model)?;
            let by_upload = self.scenario.cre.estimates == Estimates::Uplink;
            let upload_s = upload_times(&planned.instance, orders);
            let downlink_s = planned.instance.downlink_s;
            let shortfalls = self.reserve(orders, downlink_s, &upload_s);
            let drawn: Vec<_> = orders.iter().map(|order| self.costs.drawn(order)).collect();
            let broadcast = Broadcast {
                round: planned.round,
                model: &self.state.model,
                orders,
                downlink_s,
                upload_s: &upload_s,
                drawn: &drawn,
                shortfalls: &shortfalls,
                clip: self.scenario.privacy.bound(),
                wants_loss_after: by_upload && self.policy.wants_estimates(),
            };
            self.fleet.train(&broadcast)?
        };
        if !orders.is_empty() {
            // The next change leads on from this model; a client that declined did not receive it.
            self.state.holds_model.fill(false);
            for (order, reply) in orders.iter().zip(&replies) {
                let received = !matches!(reply, Reply::Declined(_));
                self.state.holds_model[order.client.index()] = received;
            }
        }
        let (mut deliveries, mut anomalies) = (Vec::with_capacity(orders.len()), Vec::new());
        for (&order, reply) in orders.iter().zip(replies) {
            let timing = Timing::of(&planned.instance, &order);
            let deadline_s = match planned.is_introduction() {
                true => f64::INFINITY,
                false => planned.instance.deadline_of(order.client.index()),
            };
            let result = match reply {
                Reply::Lost(reason) => Err((ClientState::Lost, reason)),
                Reply::Declined(reason) => Err((ClientState::Declined, reason)),
                Reply::Trained(_) if !timing.meets(deadline_s) => {
                    let reason = format!("{} s of {deadline_s} s", timing.finish_s);
                    Err((ClientState::Late, reason))
                }
                Reply::Trained(update) => {
                    let sorted = self.sort(planned.round, order.client, update, &mut anomalies)?;
                    sorted.map_err(|reason| (ClientState::Lost, reason))
                }
            };
            deliveries.push(Delivery {
                order,
                timing,
                whole: !holds_model[order.client.index()],
                result,
            });
        }
        Ok(Collected {
            planned,
            deliveries,
            anomalies,
        })
    }
}
