//! Phase 5: accounts, evaluation, and the round's log.

use gleaner_shared::units::PicoJoules;

use super::{Aggregated, Planned};
use crate::ClientId;
use crate::policy::Attendance;
use crate::round::record::{Absence, ClientState, Ending, RoundRow};
use crate::round::{Engine, EngineError, RoundLog};
use crate::scenario::StopRule;

impl Engine<'_> {
    pub(in crate::round) fn report(
        &mut self,
        aggregated: Aggregated,
    ) -> Result<RoundLog, EngineError> {
        let Aggregated {
            planned,
            deliveries,
            anomalies,
            planned_delta,
        } = aggregated;
        self.state.round = planned.round;
        let mut log = self.blank_log(planned.round, planned.instance.downlink_s);
        log.round.anomalies = anomalies;
        log.round.anomalies.sort_by_key(|anomaly| anomaly.client);
        let mut deliveries = deliveries.into_iter().peekable();
        for client in (0..self.samples.len()).map(ClientId::at) {
            let Some(delivery) = deliveries.next_if(|delivery| delivery.order.client == client)
            else {
                let mut state = ClientState::Idle;
                if planned.decision.infeasible.contains(&client) {
                    state = ClientState::Infeasible;
                    let reason = Absence::INFEASIBLE.to_owned();
                    log.round.absent.push(Absence { client, reason });
                }
                self.book_rest(client.index(), state, &mut log);
                continue;
            };
            let (order, timing, whole) = (&delivery.order, &delivery.timing, delivery.whole);
            let state = match delivery.result {
                Ok(_) => {
                    log.round.participants.push(client);
                    log.round.epochs = log.round.epochs.max(order.epochs);
                    log.round.round_s = log.round.round_s.max(timing.finish_s);
                    ClientState::Trained
                }
                Err((state, reason)) => {
                    log.round.absent.push(Absence { client, reason });
                    log.round.round_s = match state {
                        ClientState::Unused => log.round.round_s.max(timing.finish_s),
                        // It says so at once.
                        ClientState::Declined => log.round.round_s,
                        _ if planned.is_introduction() => log.round.round_s.max(timing.finish_s),
                        // The base station waits for a client that never delivers.
                        _ => planned.instance.deadline_s,
                    };
                    state
                }
            };
            if !planned.is_introduction() {
                let answered = matches!(state, ClientState::Trained | ClientState::Unused);
                self.state.attendance[client.index()].note(planned.round, answered);
            }
            self.book_order(order, timing, whole, state, &mut log);
        }
        let privacy = self.privacy.as_ref();
        log.round.privacy = privacy.and_then(|it| it.row(&self.state.privacy));
        if !planned.is_introduction() {
            self.remember(&planned, &log);
            self.evaluate(&mut log.round);
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
        self.finish_row(&mut log);
        log.problem = (!planned.is_introduction()).then_some(planned.instance);
        self.fleet.settle(&log, &self.state.model)?;
        Ok(log)
    }

    /// Updates the attendance of every client.
    fn remember(&mut self, planned: &Planned, log: &RoundLog) {
        Attendance::write_down(
            &mut self.state.attendance,
            planned.round,
            &planned.decision.notes,
        );
        let resting = self.costs.resting(log.round.downlink_s);
        let new_model = !log.round.participants.is_empty();
        for (client, row) in log.energy.iter().enumerate() {
            let attendance = &mut self.state.attendance[client];
            if new_model {
                attendance.hear(log.round.participants.contains(&ClientId::at(client)));
            }
            let rest = self.costs.due(client, &resting).total();
            let spent = row.record().spent.total();
            let order = PicoJoules(spent.0.saturating_sub(rest.0));
            attendance.spend(order.as_joules(), planned.budgets_j[client]);
        }
    }

    /// Scores the new model where an evaluation is due, and notes the end of the run.
    fn evaluate(&mut self, row: &mut RoundRow) {
        let run = &self.scenario.run;
        let round = row.round as usize;
        let is_last = round == run.rounds || self.spends_the_budget();
        if !round.is_multiple_of(run.evaluate_every) && !is_last {
            return;
        }
        let model = &self.state.model;
        let score = self.examiner.examine(model);
        row.accuracy = Some(score.accuracy);
        row.test_loss = Some(score.loss);
        let validation = self.examiner.validate(model);
        row.validation_accuracy = validation.map(|score| score.accuracy);
        row.validation_loss = validation.map(|score| score.loss);
        if run.stop == StopRule::Validation {
            self.state.watch.note(row.round, model, validation);
        }
        if run.stop == StopRule::Validation || self.spends_the_budget() {
            row.ending = self.cause().map(|cause| Ending {
                cause,
                kept_round: self.state.kept_round(),
            });
        }
    }
}
