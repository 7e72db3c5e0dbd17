//! Phase 5: accounts, evaluation, and the round's log.

use gleaner_shared::energy::RoundRecord;

use super::Aggregated;
use crate::round::account::rest;
use crate::round::record::{Absence, ClientRow, ClientState, RoundRow};
use crate::round::{Engine, EngineError, RoundLog, settings};

impl Engine<'_> {
    pub(in crate::round) fn report(
        &mut self,
        aggregated: Aggregated,
    ) -> Result<RoundLog, EngineError> {
        let Aggregated {
            planned,
            deliveries,
            planned_delta,
        } = aggregated;
        self.state.round = planned.round;
        let mut log = RoundLog {
            round: self.round_row(planned.round, planned.instance.downlink_s),
            clients: Vec::with_capacity(self.samples.len()),
        };
        let mut deliveries = deliveries.into_iter().peekable();
        for client in 0..self.samples.len() {
            let Some(delivery) = deliveries.next_if(|delivery| delivery.order.client == client)
            else {
                let record = rest(self.scenario.device.harvest_j);
                let mut row = self.resting_row(client, &record);
                if planned.decision.infeasible.contains(&client) {
                    row.state = ClientState::Infeasible;
                    let reason = Absence::INFEASIBLE.to_owned();
                    log.round.absent.push(Absence { client, reason });
                }
                log.clients.push(row);
                continue;
            };
            let (order, timing) = (&delivery.order, &delivery.timing);
            let state = match delivery.result {
                Ok(_) => {
                    log.round.participants.push(client);
                    log.round.epochs = log.round.epochs.max(order.epochs);
                    log.round.round_s = log.round.round_s.max(timing.finish_s);
                    ClientState::Trained
                }
                Err((state, reason)) => {
                    log.round.absent.push(Absence { client, reason });
                    // The base station waits for a client that never delivers.
                    log.round.round_s = planned.instance.deadline_s;
                    state
                }
            };
            let row = self.booked_row(order, timing, state);
            log.clients.push(row);
        }
        if let Some(promise) = planned.decision.promise {
            log.round.objective = Some(promise.objective);
            log.round.bound = Some(promise.bound);
            log.round.rho = Some(planned.instance.bound.rho);
            log.round.beta = Some(planned.instance.bound.beta);
            for (row, delta) in log.clients.iter_mut().zip(planned_delta) {
                row.delta = Some(delta);
            }
        }
        let run = &self.scenario.run;
        let round = planned.round as usize;
        if round.is_multiple_of(run.evaluate_every) || round == run.rounds {
            let score = self.examiner.examine(&self.state.model);
            log.round.accuracy = Some(score.accuracy);
            log.round.test_loss = Some(score.loss);
        }
        self.finish_row(&mut log);
        self.fleet.settle(&log, &self.state.model)?;
        Ok(log)
    }

    /// Returns the row of a round in which nothing happened yet.
    pub(in crate::round) fn round_row(&self, round: u32, downlink_s: f64) -> RoundRow {
        RoundRow {
            round,
            accuracy: None,
            test_loss: None,
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
        }
    }

    /// Books a record and returns the row of a client without an order.
    pub(in crate::round) fn resting_row(
        &mut self,
        client: usize,
        record: &RoundRecord,
    ) -> ClientRow {
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
            compute_j: record.compute.as_joules(),
            radio_j: record.radio.as_joules(),
            harvest_j: record.harvested.as_joules(),
            queue_j: account.queue_j(),
            balance_j: account.balance_j(),
            within_income: account.within_income(),
            delta: None,
        }
    }

    /// Sums the clients' rows into the round's.
    pub(in crate::round) fn finish_row(&self, log: &mut RoundLog) {
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
}
