//! Filling the rows of a round's log: the line of the round and one row per client.

use gleaner_shared::energy::{RoundRecord, Spent};
use gleaner_shared::units::PicoJoules;

use super::energy::{EnergyRow, OnAir};
use super::phase::Timing;
use super::record::{ClientRow, ClientState, RoundRow};
use super::{Engine, RoundLog};
use crate::ClientId;
use crate::policy::Order;

impl Engine<'_> {
    /// Returns an empty log of a round.
    pub(super) fn blank_log(&self, round: u32, downlink_s: f64) -> RoundLog {
        let clients = self.samples.len();
        RoundLog {
            round: self.round_row(round, downlink_s),
            clients: Vec::with_capacity(clients),
            energy: Vec::with_capacity(clients),
            problem: None,
        }
    }

    fn round_row(&self, round: u32, downlink_s: f64) -> RoundRow {
        RoundRow {
            round,
            accuracy: None,
            test_loss: None,
            validation_accuracy: None,
            validation_loss: None,
            train_loss: self.train_loss(),
            bound: None,
            objective: None,
            rho: None,
            beta: None,
            participants: Vec::new(),
            epochs: 0,
            compute_j: 0.0,
            radio_j: 0.0,
            harvest_j: 0.0,
            cumulative_spent_j: 0.0,
            downlink_s,
            round_s: downlink_s,
            overdrawn: Vec::new(),
            absent: Vec::new(),
            anomalies: Vec::new(),
            privacy: None,
            ending: None,
        }
    }

    /// Returns the training loss; none under differential privacy, since it is a mean without noise.
    fn train_loss(&self) -> Option<f64> {
        match self.privacy {
            None => self.state.knowledge.loss(&self.weights),
            Some(_) => None,
        }
    }

    /// Books the round of a client without an order, or that declined it.
    pub(super) fn book_rest(&mut self, client: usize, state: ClientState, log: &mut RoundLog) {
        let activity = self.costs.resting(log.round.downlink_s);
        let due = self.costs.due(client, &activity);
        self.book(client, Spent::ZERO, due, log).state = state;
    }

    /// Books an order, also one without an update; a declined order costs as much as resting.
    pub(super) fn book_order(
        &mut self,
        order: &Order,
        timing: &Timing,
        whole: bool,
        state: ClientState,
        log: &mut RoundLog,
    ) {
        if state == ClientState::Declined {
            if let Some(store) = self.stores.get_mut(order.client.index()) {
                store.note_declined();
            }
            return self.book_rest(order.client.index(), state, log);
        }
        let on_air = OnAir {
            downlink_s: log.round.downlink_s,
            upload_s: timing.upload_s,
            whole,
        };
        let client = order.client.index();
        let due = self.costs.due(client, &self.costs.working(order, on_air));
        let (work, standing) = due.split();
        let down_bytes = (self.model_bits.0 / 8.0) as u64;
        let up_bytes = (self.upload_bits.0 / 8.0) as u64;
        let row = self.book(client, work, standing, log);
        row.state = state;
        row.channel = Some(order.channel);
        row.power_w = order.power_w;
        row.epochs = order.epochs;
        row.down_bytes = down_bytes;
        row.up_bytes = up_bytes;
        row.compute_s = timing.compute_s;
        row.upload_s = timing.upload_s;
    }

    /// Pays for a client's work and standing costs in the round and adds its rows.
    fn book<'l>(
        &mut self,
        client: usize,
        work: Spent,
        standing: Spent,
        log: &'l mut RoundLog,
    ) -> &'l mut ClientRow {
        let round = log.round.round;
        let income = self.incomes.of(client, round);
        let (record, unpaid, stored) = match self.stores.get_mut(client) {
            Some(store) => {
                store.pay(&work);
                let (record, unpaid) = store.close(&self.costs.flows(client, income, standing));
                let state = store.state();
                self.state.store_states[client] = state;
                (record, unpaid, Some(state.ledger.stored.0))
            }
            None => {
                let record = RoundRecord {
                    harvested: income,
                    spent: work.saturating_add(&standing),
                    ..RoundRecord::default()
                };
                (record, PicoJoules::ZERO, None)
            }
        };
        let account = &mut self.state.accounts[client];
        account.book(&record);
        log.energy.push(EnergyRow {
            unpaid_pj: unpaid.0,
            stored_pj: stored,
            ..EnergyRow::new(round, ClientId::at(client), &record)
        });
        log.clients.push(ClientRow {
            round,
            client: ClientId::at(client),
            state: ClientState::Idle,
            channel: None,
            power_w: 0.0,
            epochs: 0,
            down_bytes: 0,
            up_bytes: 0,
            compute_s: 0.0,
            upload_s: 0.0,
            compute_j: record.spent.compute().as_joules(),
            radio_j: record.spent.radio().as_joules(),
            harvest_j: record.harvested.as_joules(),
            queue_j: account.queue_j(),
            cumulative_balance_j: account.balance_j(),
            within_income: account.within_income(),
            delta: None,
        });
        let last = log.clients.len() - 1;
        &mut log.clients[last]
    }

    /// Sums the clients' rows into the round's.
    pub(super) fn finish_row(&self, log: &mut RoundLog) {
        let RoundLog { round, clients, .. } = log;
        round.compute_j = clients.iter().map(|row| row.compute_j).sum();
        round.radio_j = clients.iter().map(|row| row.radio_j).sum();
        round.harvest_j = clients.iter().map(|row| row.harvest_j).sum();
        round.cumulative_spent_j = self
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
}
