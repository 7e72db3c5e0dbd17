//! Boards and simulated clients as one fleet for the round engine.
//!
//! Simulated clients compute here, in the firmware's arithmetic; boards compute by themselves. Both
//! start from the same bytes, so a board and a simulated client in its place give the same update to
//! the bit. After every round the energy that a board booked is compared with the model.

use gleaner_sim::ClientId;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use gleaner_files::Prefix;
use gleaner_shared::energy::{Activity, CostModel, Phase};
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{self as wire, ModelHash, Report, RoundMark, RunId};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::Handle;
use super::board::{Closing, ConfirmedState, Identity, RoundWork, WorkResult};
use super::bus::EventSender;
use super::collect::{AtWork, Collector, Ended};
use super::deadline::{self, Speed, seconds};
use super::event::{Event, EventKind, loss};
use super::listener::{Listener, ListenerTask};
use super::standing::Standing;
use super::stop::Stop;
use super::stored_updates::{StoredUpdate, StoredUpdates};
use gleaner_learn::train::Tensor;
use gleaner_sim::fleet::FixedFleet;
use gleaner_sim::round::{
    Broadcast, ClientState, ExactGradient, Fleet, FleetError, Incomes, Listening, Order, Question,
    Reply, RoundLog, Update, micros,
};

/// How long the end of a run waits for boards to confirm its last round.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Whether the lines take as long as the modelled radio would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Pace {
    /// as fast as the lines are
    #[default]
    Fast,
    /// each transfer takes at least its modelled airtime
    Real,
}

/// Settings of the rounds.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Identifier of the run.
    pub run: RunId,
    /// Seed of the run.
    pub seed: u64,
    /// Modelled time from the start of a round to the next.
    pub period_s: f64,
    /// Modelled listening of every client in every round.
    pub listening: Listening,
    /// Harvest of each client in every round.
    pub incomes: Incomes,
    /// Limit of wall time of a round; derived from its orders if `None`.
    pub round_limit: Option<Duration>,
    /// Updates with which a round may close while it only waits; 0 waits for all.
    pub quorum: usize,
    /// Whether transfers take their modelled airtime.
    pub pace: Pace,
}

/// One board as the fleet file describes it.
pub struct BoardSetup {
    /// The client that the board is.
    pub identity: Identity,
    /// Energy in its store before the first round.
    pub stored: PicoJoules,
    /// Speed of the board and its line.
    pub speed: Speed,
}

/// One board and its state.
struct Member {
    identity: Identity,
    speed: Speed,
    standing: Standing,
    /// The board's task, after the first round began.
    handle: Option<Arc<Handle>>,
    confirmed: ConfirmedState,
    /// The board's report in the current round.
    report: Option<Box<Report>>,
}

/// The boards and simulated clients of a fleet.
pub struct StationFleet {
    rules: Rules,
    /// The data of all clients and their model; carries out the orders of simulated clients.
    fixed: FixedFleet,
    members: Vec<Option<Member>>,
    held: ModelHash,
    exact: Arc<[u8]>,
    change: Option<(ModelHash, Arc<[u8]>)>,
    stored_updates: StoredUpdates,
    events: EventSender,
    stop: Stop,
    _listener: Option<ListenerTask>,
    // Dropped last: the boards' tasks run on it.
    runtime: Runtime,
}

/// The state of a fleet in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Saved {
    fixed: Vec<u8>,
    confirmed: Vec<Option<ConfirmedState>>,
}

impl StationFleet {
    /// Creates a fleet of `boards`, with all other clients simulated; boards that connect by
    /// themselves come through `listener`.
    ///
    /// # Errors
    /// Returns an error if the system refuses threads.
    pub fn try_new(
        rules: Rules,
        fixed: FixedFleet,
        boards: Vec<BoardSetup>,
        stored_updates: StoredUpdates,
        listener: Option<Listener>,
        (events, stop): (EventSender, Stop),
    ) -> io::Result<Self> {
        if fixed.has_feedback() && !boards.is_empty() {
            return Err(io::Error::other(
                "boards have no memory of their uploads: set upload.error_feedback = false",
            ));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let mut members: Vec<Option<Member>> = Vec::new();
        members.resize_with(fixed.samples().len(), || None);
        for board in boards {
            let BoardSetup {
                identity,
                stored,
                speed,
            } = board;
            if let Some(slot) = members.get_mut(identity.client.index()) {
                *slot = Some(Member {
                    confirmed: ConfirmedState::new(stored, identity.store),
                    identity,
                    speed,
                    standing: Standing::default(),
                    handle: None,
                    report: None,
                });
            }
        }
        let guard = runtime.enter();
        let listener = listener.map(Listener::start).transpose()?;
        drop(guard);
        let mut fleet = Self {
            rules,
            fixed,
            members,
            held: ModelHash::default(),
            exact: Arc::new([]),
            change: None,
            stored_updates,
            events,
            stop,
            _listener: listener,
            runtime,
        };
        fleet.hold();
        Ok(fleet)
    }

    /// Starts the boards' tasks. This comes after a checkpoint was restored, or a board that greets
    /// quickly would be provisioned with the ledger of round 0.
    fn begin(&mut self) {
        let _guard = self.runtime.enter();
        for member in self.members.iter_mut().flatten() {
            member.handle.get_or_insert_with(|| {
                let identity = member.identity.clone();
                Arc::new(Handle::spawn(
                    identity,
                    member.confirmed,
                    self.events.clone(),
                ))
            });
        }
    }

    /// Updates hash and bytes of the current model.
    fn hold(&mut self) {
        let bytes = self.fixed.held().exact();
        self.held = ModelHash::of(&bytes);
        self.exact = bytes.into();
    }

    fn publish(&self, client: ClientId, round: u32, what: EventKind) {
        self.events.publish(Event {
            client,
            round: Some(round),
            what,
        });
    }

    fn upload_s(at: usize, broadcast: &Broadcast<'_>) -> f64 {
        broadcast.upload_s.get(at).copied().unwrap_or_default()
    }

    /// Returns the least wall time of an order's transfers.
    fn pace(&self, at: usize, broadcast: &Broadcast<'_>) -> Option<(Duration, Duration)> {
        let upload = seconds(Self::upload_s(at, broadcast));
        let pace = (seconds(broadcast.downlink_s), upload);
        (self.rules.pace == Pace::Real).then_some(pace)
    }

    fn upload_bytes(&self) -> usize {
        self.fixed.code().encoded_len(&self.fixed.shape())
    }

    /// Returns the expected wall time of a board's order, and of its modelled transfers.
    fn expected(&self, at: usize, broadcast: &Broadcast<'_>) -> Option<(Duration, Duration)> {
        let order = &broadcast.orders[at];
        let member = self.members.get(order.client.index())?.as_ref()?;
        let pace = self.pace(at, broadcast).unwrap_or_default();
        let paced = pace.0.saturating_add(pace.1);
        let bytes = self.exact.len() + self.upload_bytes();
        Some((member.speed.expected(order.epochs, bytes, paced), paced))
    }

    /// Returns the limit of a round, the same for all its boards.
    fn limit(&self, broadcast: &Broadcast<'_>) -> Duration {
        let orders = 0..broadcast.orders.len();
        let expected = orders.filter_map(|at| self.expected(at, broadcast));
        let (expected, paced) = expected.max().unwrap_or_default();
        deadline::limit(self.rules.round_limit, expected, paced)
    }

    /// Tells whether boards sit out: not while all clients are boards that would.
    fn may_sit_out(&self) -> bool {
        let would = |member: &Option<Member>| {
            let board = member.as_ref();
            board.is_some_and(|board| board.standing.is_on_trial())
        };
        !self.members.iter().all(would)
    }

    /// Returns why a board on trial is not ordered in a round, if it is not.
    fn sits_out(&self, standing: Standing, handle: &Handle, round: u32) -> Option<String> {
        let failures = standing.failures();
        if let Some(until) = standing.pause(round) {
            return Some(format!(
                "sits out until round {until} after {failures} failed rounds"
            ));
        }
        // A trial of a board that is away would only take time.
        let greeted = self.runtime.block_on(handle.greet(Duration::ZERO));
        let error = greeted.err()?;
        Some(format!(
            "sits out after {failures} failed rounds until it is connected: {error}"
        ))
    }

    /// Notes the result of a board's order.
    fn judge(&mut self, client: ClientId, round: u32, ended: &Ended) {
        let Some(member) = &mut self.members[client.index()] else {
            return;
        };
        match (&ended.result, ended.had_its_time) {
            (WorkResult::Done(..), _) => member.standing.succeed(),
            (WorkResult::Missing(_), _) | (WorkResult::Declined(_), true) => {
                if let Some(until) = member.standing.fail(round) {
                    let failures = member.standing.failures();
                    self.publish(client, round, EventKind::SitsOut { failures, until });
                }
            }
            // A board that says soon what it lacks keeps nobody waiting.
            (WorkResult::Declined(_), false) => {}
        }
    }

    fn job(
        &self,
        at: usize,
        broadcast: &Broadcast<'_>,
        limit: Duration,
        on_trial: bool,
    ) -> RoundWork {
        let order = &broadcast.orders[at];
        let upload_s = Self::upload_s(at, broadcast);
        let drawn = broadcast.drawn.get(at).copied().unwrap_or_default();
        let client = order.client;
        let order = wire::Order {
            participate: true,
            channel: u8::try_from(order.channel).unwrap_or(u8::MAX),
            epochs: u16::try_from(order.epochs).unwrap_or(u16::MAX),
            power: NanoWatts((order.power_w * 1e9).round() as u64),
            drawn,
            airtime: micros(upload_s),
            receiving: micros(broadcast.downlink_s),
            clip_q16: broadcast.clip.0,
            ..self.blank_order(client, broadcast.round, broadcast.downlink_s)
        };
        RoundWork {
            order,
            model: Arc::clone(&self.exact),
            update: self.change.clone(),
            upload_bytes: self.upload_bytes(),
            limit,
            on_trial,
            pace: self.pace(at, broadcast),
        }
    }

    /// Returns an order that only brings the income of a round.
    fn blank_order(&self, client: ClientId, round: u32, downlink_s: f64) -> wire::Order {
        wire::Order {
            run: self.rules.run,
            round,
            participate: false,
            channel: 0,
            code: self.fixed.code(),
            epochs: 0,
            power: NanoWatts::ZERO,
            drawn: NanoWatts::ZERO,
            airtime: Micros::ZERO,
            learning_rate_q24: self.fixed.learning_rate().0,
            seed: self.rules.seed,
            model: self.held,
            period: micros(self.rules.period_s),
            listening: micros(self.rules.listening.resting_s(downlink_s)),
            receiving: Micros::ZERO,
            income: self.rules.incomes.of(client.index(), round),
            clip_q16: 0,
        }
    }

    /// Returns the reply to the engine, and whether a replay can recompute it.
    fn reply_of(
        &mut self,
        order: &Order,
        round: u32,
        outcome: WorkResult,
        after: bool,
    ) -> Result<(Reply, bool), FleetError> {
        let (report, upload) = match outcome {
            WorkResult::Done(report, upload) => (report, upload),
            WorkResult::Missing(reason) => return Ok((Reply::Lost(reason), true)),
            WorkResult::Declined(reason) => return Ok((Reply::Declined(reason), true)),
        };
        match self.fixed.decode(&upload.bytes) {
            Ok(model) => {
                if !upload.exact {
                    let update = StoredUpdate {
                        loss_before_q16: report.loss_before_q16,
                        loss_after_q16: report.loss_after_q16,
                        bytes: upload.bytes,
                    };
                    let written = self.stored_updates.write(round, order.client, &update);
                    written.map_err(|error| FleetError::Failed(error.to_string()))?;
                }
                let update = Update {
                    model,
                    loss_before: loss(report.loss_before_q16),
                    loss_after: after.then(|| loss(report.loss_after_q16)),
                };
                if let Some(member) = &mut self.members[order.client.index()] {
                    member.report = Some(report);
                }
                Ok((Reply::Trained(update), upload.exact))
            }
            Err(error) => {
                let reason = format!("its update is invalid: {error}");
                self.publish(
                    order.client,
                    round,
                    EventKind::Missing {
                        reason: reason.clone(),
                    },
                );
                Ok((Reply::Lost(reason), true))
            }
        }
    }
}

impl Fleet for StationFleet {
    fn samples(&self) -> &[u32] {
        self.fixed.samples()
    }

    fn nonzeros(&self) -> &[u64] {
        self.fixed.nonzeros()
    }

    fn tensors(&self) -> &[Tensor] {
        self.fixed.tensors()
    }

    fn announce(&mut self, round: u32, model: &[f32]) -> Result<Vec<f32>, FleetError> {
        let base = self.held;
        let announced = self.fixed.announce(round, model)?;
        self.change = Some((base, self.fixed.change().into()));
        self.hold();
        Ok(announced)
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        if self.stop.is_requested() {
            return Err(FleetError::Stopped);
        }
        self.begin();
        let round = broadcast.round;
        for order in broadcast.orders {
            let what = EventKind::Decided {
                channel: order.channel,
                power_w: order.power_w,
                epochs: order.epochs,
                bit_rate_bps: order.bit_rate_bps,
            };
            self.publish(order.client, round, what);
        }
        let mut replies: Vec<Option<(Reply, bool)>> = vec![None; broadcast.orders.len()];
        let (limit, may_sit_out) = (self.limit(broadcast), self.may_sit_out());
        let guard = self.runtime.enter();
        let (mut here, mut away) = (Vec::new(), Collector::new(self.rules.quorum));
        drop(guard);
        for (at, order) in broadcast.orders.iter().enumerate() {
            let board = self.members[order.client.index()].as_ref();
            let board = board.and_then(|board| Some((board, board.handle.clone()?)));
            let Some((member, handle)) = board else {
                here.push((at, *order));
                continue;
            };
            let on_trial = may_sit_out && member.standing.is_on_trial();
            if on_trial && let Some(reason) = self.sits_out(member.standing, &handle, round) {
                replies[at] = Some((Reply::Lost(reason), true));
                continue;
            }
            let job = self.job(at, broadcast, limit, on_trial);
            let (expected, _) = self.expected(at, broadcast).unwrap_or_default();
            let board = AtWork {
                at,
                expected,
                on_trial,
            };
            let _guard = self.runtime.enter();
            away.start(board, async move { handle.work(job).await });
        }
        let orders: Vec<Order> = here.iter().map(|(_, order)| *order).collect();
        let lacking = |(at, _): &(usize, Order)| *broadcast.shortfalls.get(*at)?;
        let shortfalls: Vec<_> = here.iter().map(lacking).collect();
        let simulated = self.fixed.train(&Broadcast {
            orders: &orders,
            upload_s: &[],
            shortfalls: &shortfalls,
            ..*broadcast
        })?;
        let arrived = simulated.iter();
        let arrived = arrived.filter(|reply| matches!(reply, Reply::Trained(_)));
        let results = away.results(arrived.count());
        for ((at, _), reply) in here.iter().zip(simulated) {
            replies[*at] = Some((reply, true));
        }
        let results = self.runtime.block_on(async {
            tokio::select! {
                results = results => Ok(results),
                () = self.stop.requested() => Err(FleetError::Stopped),
            }
        })?;
        for ended in results {
            let order = &broadcast.orders[ended.at];
            self.judge(order.client, round, &ended);
            let after = broadcast.wants_loss_after;
            replies[ended.at] = Some(self.reply_of(order, round, ended.result, after)?);
        }
        let mut whole = Vec::with_capacity(replies.len());
        for (order, reply) in broadcast.orders.iter().zip(replies) {
            let silent = || (Reply::Lost("no reply".to_owned()), true);
            let (reply, exact) = reply.unwrap_or_else(silent);
            let what = match &reply {
                Reply::Trained(update) => EventKind::Arrived {
                    model: fingerprint(&update.model),
                    exact,
                },
                Reply::Lost(reason) => EventKind::Absent {
                    reason: reason.clone(),
                    declined: false,
                },
                Reply::Declined(reason) => EventKind::Absent {
                    reason: reason.clone(),
                    declined: true,
                },
            };
            self.publish(order.client, round, what);
            whole.push(reply);
        }
        Ok(whole)
    }

    fn settle(&mut self, log: &RoundLog, model: &[f32]) -> Result<(), FleetError> {
        self.fixed.settle(log, model)?;
        let round = log.round.round;
        let mark = RoundMark {
            run: self.rules.run,
            round,
            model: ModelHash::of(&little_endian(model)),
        };
        for anomaly in &log.round.anomalies {
            let what = anomaly.what.clone();
            self.publish(anomaly.client, round, EventKind::Implausible { what });
        }
        self.begin();
        for (row, energy) in log.clients.iter().zip(&log.energy) {
            let mut blank = self.blank_order(row.client, round, log.round.downlink_s);
            let Some(member) = &mut self.members[row.client.index()] else {
                continue;
            };
            let report = member.report.take();
            let closing = Closing {
                mark,
                counted: row.state == ClientState::Trained,
                income: blank.income,
                period: blank.period,
                rest: report.is_none().then_some(blank),
            };
            blank.airtime = micros(row.upload_s);
            if report.is_some() {
                blank.receiving = micros(log.round.downlink_s);
            }
            let cost = member.identity.cost;
            let Some(handle) = member.handle.clone() else {
                continue;
            };
            if let Some(confirmed) = self.runtime.block_on(handle.close(closing)) {
                member.confirmed = confirmed;
                let ledger = confirmed.ledger;
                let what = EventKind::Closed {
                    ledger,
                    model: Some(energy.record().spent),
                    cut_off: row.state == ClientState::Lost && report.is_none(),
                };
                self.publish(row.client, round, what);
            }
            if let Some(report) = report {
                let waiting = expected_waiting(&cost, &blank, &report);
                let what = EventKind::Reconciled {
                    compute_model_j: row.compute_j,
                    compute_board_j: report.spent.compute().as_joules(),
                    radio_model_j: row.radio_j,
                    radio_board_j: report.spent.radio().as_joules(),
                    harvest_model_j: row.harvest_j,
                    harvest_board_j: report.harvested.as_joules(),
                    waiting_model_j: waiting.as_joules(),
                    waiting_board_j: report.spent.waiting().as_joules(),
                };
                self.publish(row.client, round, what);
            }
        }
        self.logged().map(drop)
    }

    fn logged(&mut self) -> Result<Prefix, FleetError> {
        let flushed = self.events.flush();
        flushed.map_err(|error| FleetError::Failed(error.to_string()))
    }

    fn end(&mut self) {
        let limit = self.rules.round_limit.unwrap_or(LAST_WORDS);
        let mut boards = Vec::new();
        for member in self.members.iter_mut().flatten() {
            // Boards that sit out have had their time.
            let limit = match member.standing.is_on_trial() {
                true => Duration::ZERO,
                false => limit.min(LAST_WORDS),
            };
            boards.extend(member.handle.take().map(|handle| (handle, limit)));
        }
        self.runtime.block_on(async {
            let mut ends = JoinSet::new();
            for (handle, limit) in boards {
                ends.spawn(async move { handle.end(limit).await });
            }
            ends.join_all().await
        });
    }

    fn gradients(&mut self, _: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        Err(FleetError::NoGradients {
            clients: "boards",
            fix: "cre.estimates = \"uplink\", and a scheduler that needs no gradient norms",
        })
    }

    fn save(&self) -> Vec<u8> {
        let confirmed = self.members.iter();
        let saved = Saved {
            fixed: self.fixed.save(),
            confirmed: confirmed
                .map(|member| member.as_ref().map(|member| member.confirmed))
                .collect(),
        };
        // Plain data always serialises.
        postcard::to_allocvec(&saved).unwrap_or_default()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        let saved: Saved = postcard::from_bytes(state)
            .map_err(|error| FleetError::Restore(format!("invalid fleet state: {error}")))?;
        self.fixed.restore(&saved.fixed)?;
        if saved.confirmed.len() != self.members.len() {
            return Err(FleetError::Restore(format!(
                "{} clients, the fleet has {}",
                saved.confirmed.len(),
                self.members.len()
            )));
        }
        for (member, confirmed) in self.members.iter_mut().zip(saved.confirmed) {
            // A client that was simulated before starts with its initial state.
            if let (Some(member), Some(confirmed)) = (member, confirmed) {
                member.confirmed = confirmed;
                if let Some(handle) = &member.handle {
                    self.runtime.block_on(handle.restore(confirmed));
                }
            }
        }
        self.change = None;
        self.hold();
        Ok(())
    }
}

/// Returns the modelled waiting energy for the computing time that the board booked.
fn expected_waiting(cost: &CostModel, blank: &wire::Order, report: &Report) -> PicoJoules {
    let starts = cost
        .compute
        .per_epoch
        .0
        .saturating_mul(report.epochs.into());
    let running = report.spent.compute().0.saturating_sub(starts);
    let per_cycle = cost.compute.femtojoules_per_cycle.max(1);
    let cycles = u128::from(running) * 1_000 / u128::from(per_cycle);
    let sending = report.spent.of(Phase::Transmit) > PicoJoules::ZERO;
    let activity = Activity {
        train: Cycles(u64::try_from(cycles).unwrap_or(u64::MAX)),
        airtime: if sending { blank.airtime } else { Micros::ZERO },
        saves: true,
        ..blank.activity()
    };
    cost.round(&activity).waiting()
}

/// Returns the fingerprint of a model.
#[must_use]
pub fn fingerprint(model: &[f32]) -> String {
    ModelHash::of(&little_endian(model)).to_string()
}

fn little_endian(model: &[f32]) -> Vec<u8> {
    model.iter().flat_map(|value| value.to_le_bytes()).collect()
}
