//! How a round's rows are filled: the round's own line, and a row per client with its booking.

use gleaner_shared::energy::RoundRecord;

use super::account::bill;
use super::phase::Timing;
use super::record::{ClientRow, ClientState, RoundRow};
use super::{Engine, RoundLog, settings};
use crate::policy::Order;

impl Engine<'_> {
    /// Returns the row of a round in which nothing happened yet.
    pub(super) fn round_row(&self, round: u32, downlink_s: f64) -> RoundRow {
        RoundRow {
            round,
            accuracy: None,
            test_loss: None,
            validation_accuracy: None,
            validation_loss: None,
            train_loss: self.state.knowledge.loss(&self.weights),
            bound: None,
            objective: None,
            rho: None,
            beta: None,
            participants: Vec::new(),
            epochs: 0,
            compute_j: 0.0,
            radio_j: 0.0,
            harvest_j: 0.0,
            spent_j: 0.0,
            downlink_s,
            round_s: downlink_s,
            overdrawn: Vec::new(),
            absent: Vec::new(),
            implausible: Vec::new(),
            ending: None,
        }
    }

    /// Books a record and returns the row of a client without an order.
    pub(super) fn resting_row(&mut self, client: usize, record: &RoundRecord) -> ClientRow {
        let account = &mut self.state.accounts[client];
        account.book(record);
        ClientRow {
            round: self.state.round,
            client,
            state: ClientState::Idle,
            channel: None,
            power_w: 0.0,
            epochs: 0,
            // Everybody hears the broadcast.
            down_bytes: (settings::model_bits(self.scenario).0 / 8.0) as u64,
            up_bytes: 0,
            compute_s: 0.0,
            upload_s: 0.0,
            compute_j: record.spent.compute().as_joules(),
            radio_j: record.spent.radio().as_joules(),
            harvest_j: record.harvested.as_joules(),
            queue_j: account.queue_j(),
            balance_j: account.balance_j(),
            within_income: account.within_income(),
            delta: None,
        }
    }

    /// Sums the clients' rows into the round's.
    pub(super) fn finish_row(&self, log: &mut RoundLog) {
        let RoundLog { round, clients } = log;
        round.compute_j = clients.iter().map(|row| row.compute_j).sum();
        round.radio_j = clients.iter().map(|row| row.radio_j).sum();
        round.harvest_j = clients.iter().map(|row| row.harvest_j).sum();
        round.spent_j = self
            .state
            .accounts
            .iter()
            .map(|account| account.spent_j())
            .sum();
        round.overdrawn = clients
            .iter()
            .filter(|row| !row.within_income)
            .map(|row| row.client)
            .collect();
    }

    /// Books an order and returns the client's row.
    pub(super) fn booked_row(
        &mut self,
        order: &Order,
        timing: &Timing,
        state: ClientState,
    ) -> ClientRow {
        let record = self.booking(order.client, order.epochs, order.power_w, timing.upload_s);
        let mut row = self.resting_row(order.client, &record);
        row.state = state;
        row.channel = Some(order.channel);
        row.power_w = order.power_w;
        row.epochs = order.epochs;
        row.up_bytes = row.down_bytes;
        row.compute_s = timing.compute_s;
        row.upload_s = timing.upload_s;
        row
    }

    /// Returns what a client books for a round with this order.
    pub(super) fn booking(
        &self,
        client: usize,
        epochs: u32,
        power_w: f64,
        upload_s: f64,
    ) -> RoundRecord {
        let device = &self.devices[client];
        bill(
            &settings::cost_model(device),
            device.harvest_j,
            epochs,
            device.epoch_cycles(self.samples[client]),
            power_w,
            upload_s,
        )
    }
}
