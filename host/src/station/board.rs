//! One board: a task that keeps its line and session open and carries out a round's work, however
//! often the board vanishes on the way.
//!
//! Work is a straight script (model, order, report, update) that starts over with every new
//! session; the board answers a repeated order with what it already has, so nothing is done or
//! counted twice.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::energy::{CostModel, Ledger, Snapshot};
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::{Event, HostEnd, Timing};
use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, Hello, HostToDevice, ModelHash, Offer, Order, OrderReply, Payload,
    Provision, RejectReason, Report, RoundMark, ShardStatus,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::news::{Measured, News, What};
use super::peer::Peer;
use crate::link::Endpoint;

/// Between two attempts to open a line, at first and at most.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Orders of one session that may be declined, for want of the model or for old work, before
/// giving up.
const ORDER_TRIES: u32 = 4;

/// Who a board is and how it is reached.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The client it plays.
    pub client: u32,
    /// Where it is.
    pub endpoint: Endpoint,
    /// What it proves to know.
    pub key: Key,
    /// How long to wait for what on its line.
    pub timing: Timing,
    /// The seed of the run.
    pub seed: u64,
    /// What its store holds at most.
    pub storage: PicoJoules,
    /// Its income every round.
    pub income: PicoJoules,
    /// What its work costs.
    pub cost: CostModel,
    /// The shard it must hold, by checksum; `None` takes any.
    pub shard_crc: Option<u32>,
}

/// What the base station has confirmed of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Standing {
    /// Its ledger.
    pub ledger: Snapshot,
    /// The last round that was closed.
    pub last_round: Option<RoundMark>,
}

impl Standing {
    /// A full store before the first round.
    #[must_use]
    pub const fn new(stored: PicoJoules, storage: PicoJoules) -> Self {
        Self {
            ledger: Ledger::new(stored, storage).snapshot(),
            last_round: None,
        }
    }
}

/// How long each part of a round may take by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Being there and provisioned.
    pub connect: Duration,
    /// The way of the model to the board and its answer to the order.
    pub download: Duration,
    /// Training, for each epoch ordered.
    pub epoch: Duration,
    /// The way of the update to the base station.
    pub upload: Duration,
}

/// A round's work for one board.
#[derive(Clone, Debug)]
pub struct Job {
    /// The order.
    pub order: Order,
    /// The whole model to start from.
    pub model: Arc<[u8]>,
    /// The change from the model of that hash, if there was one.
    pub update: Option<(ModelHash, Arc<[u8]>)>,
    /// Bytes of the update that must come back.
    pub upload_bytes: usize,
    /// Limits of wall time.
    pub limits: Limits,
    /// Wall time the way down and the way up take at least.
    pub pace: Option<(Duration, Duration)>,
}

/// What came of a job.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The update and the report.
    Done(Box<Report>, Vec<u8>),
    /// Nothing usable, and why.
    Missing(String),
}

/// The end of a round for one board.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// The round and the model it ended with.
    pub mark: RoundMark,
    /// Whether this board's update is part of it.
    pub counted: bool,
    /// The order that only brings the income, for a board that had no other.
    pub rest: Option<Order>,
}

/// What a board's task is told.
#[derive(Debug)]
pub enum Command {
    /// Carries out a round's work.
    Work(Box<Job>, oneshot::Sender<Outcome>),
    /// Closes a round; answers with what is confirmed.
    Close(Closing, oneshot::Sender<Standing>),
    /// Goes back to a checkpoint.
    Restore(Standing),
    /// Waits for a session and returns the greeting.
    Greet(Duration, oneshot::Sender<Result<Box<Hello>, String>>),
    /// Sends bytes there and back and returns how long it took.
    Echo(
        Arc<[u8]>,
        Duration,
        oneshot::Sender<Result<Duration, String>>,
    ),
}

/// Runs a board's task until the commands end.
pub async fn run(
    identity: Identity,
    standing: Standing,
    mut commands: mpsc::Receiver<Command>,
    news: mpsc::UnboundedSender<News>,
) {
    let peer = match Peer::try_new(identity.key, identity.timing) {
        Ok(peer) => peer,
        // Without randomness there is no session; every command's sender sees the task gone.
        Err(_) => return,
    };
    let mut board = Board {
        identity,
        standing,
        peer,
        news,
        openings: 0,
        reopen_at: Instant::now(),
        reopen_wait: REOPEN.0,
        complaint: "it has not been heard of yet".to_owned(),
        session: Session::default(),
        sessions: 0,
        round: None,
    };
    loop {
        let command = tokio::select! {
            command = commands.recv() => command,
            () = board.attend() => None,
        };
        match command {
            None => return,
            Some(Command::Work(job, answer)) => {
                // Nobody waiting for the answer is no reason to stop the board.
                let _ = answer.send(board.work(&job).await);
            }
            Some(Command::Close(closing, answer)) => {
                board.close(&closing);
                let _ = answer.send(board.standing);
            }
            Some(Command::Restore(standing)) => board.standing = standing,
            Some(Command::Greet(limit, answer)) => {
                let _ = answer.send(board.greet(limit).await);
            }
            Some(Command::Echo(bytes, limit, answer)) => {
                let _ = answer.send(board.echo(bytes, limit).await);
            }
        }
    }
}

/// What is known since the session opened.
#[derive(Debug, Default)]
struct Session {
    hello: Option<Box<Hello>>,
    provisioned: bool,
    /// The model the board holds, as far as this session knows.
    holds: Option<ModelHash>,
    delivered: bool,
    rejected: Option<RejectReason>,
    reply: Option<OrderReply>,
    report: Option<Box<Report>>,
    expects: Option<(Payload, u32, usize)>,
    receiving: bool,
    received: Option<Vec<u8>>,
}

struct Board {
    identity: Identity,
    standing: Standing,
    peer: Peer,
    news: mpsc::UnboundedSender<News>,
    openings: u32,
    reopen_at: Instant,
    reopen_wait: Duration,
    /// The last thing that went wrong, for the reason of an absence.
    complaint: String,
    session: Session,
    sessions: u64,
    round: Option<u32>,
}

/// A script must start over: there is another session.
struct Interrupted;

/// How one attempt at a job ended.
enum Attempt {
    Done(Outcome),
    Again,
}

impl Board {
    fn tell(&self, what: What) {
        // A station that no longer listens is about to stop the task.
        let _ = self.news.send(News {
            client: self.identity.client,
            round: self.round,
            what,
        });
    }

    /// Keeps line and session going for ever.
    async fn attend(&mut self) {
        loop {
            self.turn().await;
        }
    }

    /// Does one thing for line and session; may be dropped at any time.
    async fn turn(&mut self) {
        if !self.peer.is_plugged() {
            sleep_until(self.reopen_at).await;
            match self.identity.endpoint.open(self.openings).await {
                Ok(link) => {
                    self.openings += 1;
                    self.reopen_wait = REOPEN.0;
                    self.peer.plug(link);
                    let place = self.identity.endpoint.place().to_string();
                    self.tell(What::Opened { place });
                }
                Err(error) => self.gone(&error.to_string()),
            }
            return;
        }
        match self.peer.next().await {
            Ok(event) => self.absorb(event),
            Err(error) => self.gone(&error.to_string()),
        }
    }

    fn gone(&mut self, reason: &str) {
        let reason = reason.to_owned();
        if self.complaint != reason || self.session.hello.is_some() {
            self.tell(What::Gone {
                reason: reason.clone(),
            });
        }
        self.complaint = reason;
        self.session = Session::default();
        self.sessions += 1;
        self.reopen_at = Instant::now() + self.reopen_wait;
        self.reopen_wait = (2 * self.reopen_wait).min(REOPEN.1);
    }

    fn absorb(&mut self, event: Event<HostEnd>) {
        match event {
            Event::Connected(hello) => self.greeted(hello),
            Event::Refused(refusal) => {
                let reason = refusal.to_string();
                // Said once: anyone on the line may repeat it without end.
                if self.complaint != reason {
                    self.complaint.clone_from(&reason);
                    self.tell(What::Refused { reason });
                }
            }
            Event::Lost(reason) => {
                self.complaint = reason.to_string();
                self.session = Session::default();
                self.sessions += 1;
                self.tell(What::Lost {
                    reason: reason.to_string(),
                });
            }
            Event::Message(message) => self.hear(message),
            Event::Offered(offer) => self.answer_offer(&offer),
            Event::ChunkReceived { have, of } => {
                if have % 8 == 0 || have == of {
                    self.tell(What::Receiving { have, of });
                }
            }
            Event::Received(_) => {
                self.session.receiving = false;
                self.session.received = Some(self.peer.take_received());
            }
            Event::Delivered(_) => self.session.delivered = true,
            Event::Rejected(_, reason) => self.session.rejected = Some(reason),
            Event::TransferTimedOut(_) => self.session.rejected = Some(RejectReason::Busy),
            Event::Nacked(_) | Event::Pong { .. } | Event::Corrupt(_) => {}
        }
    }

    fn greeted(&mut self, hello: Hello) {
        self.session = Session::default();
        self.sessions += 1;
        let (samples, shard_crc) = match hello.shard {
            ShardStatus::Present { samples, crc, .. } => (Some(samples), Some(crc)),
            ShardStatus::Absent | ShardStatus::Damaged => (None, None),
        };
        self.tell(What::Connected {
            board: hello.board.as_str().to_owned(),
            build: hello.build.as_str().to_owned(),
            samples,
            shard_crc,
        });
        self.session.hello = Some(Box::new(hello));
        let identity = &self.identity;
        let provision = Provision {
            client: identity.client,
            seed: identity.seed,
            storage_cap: identity.storage,
            harvest_per_round: identity.income,
            cost: identity.cost,
            ledger: self.standing.ledger,
            last_round: self.standing.last_round,
        };
        // The queue of a new session has room.
        let _ = self.peer.send(HostToDevice::Provision(provision));
    }

    fn hear(&mut self, message: DeviceToHost) {
        match message {
            DeviceToHost::Provisioned { ledger, .. } => {
                self.session.provisioned = true;
                self.compare(&ledger);
            }
            DeviceToHost::OrderReply(reply) => self.session.reply = Some(reply),
            DeviceToHost::Progress(progress) => {
                if Some(progress.round) == self.round {
                    self.tell(What::Epoch {
                        done: progress.epoch,
                    });
                }
            }
            DeviceToHost::Report(report) => self.session.report = Some(Box::new(report)),
            DeviceToHost::Cancelled { ledger, .. } => self.standing.ledger = ledger,
            DeviceToHost::Link(_)
            | DeviceToHost::Announce { .. }
            | DeviceToHost::Hello(_)
            | DeviceToHost::Refuse(_)
            | DeviceToHost::Counters(_)
            | DeviceToHost::Stack { .. } => {}
        }
    }

    /// Takes over the ledger the board goes on with, and says when it is another one.
    fn compare(&mut self, found: &Snapshot) {
        if *found != self.standing.ledger {
            self.tell(What::LedgerDiffers {
                expected: self.standing.ledger,
                found: *found,
            });
            self.standing.ledger = *found;
        }
    }

    fn answer_offer(&mut self, offer: &Offer) {
        let (len, round) = (offer.len as usize, offer.round);
        let answer = match self.session.expects {
            Some(expected) if expected == (offer.payload, round, len) => {
                self.session.receiving = true;
                self.peer.accept(len)
            }
            Some((payload, r, _)) if (payload, r) == (offer.payload, round) => {
                self.peer.reject(RejectReason::TooLarge)
            }
            _ => self.peer.reject(RejectReason::Unexpected),
        };
        // An answer that found no room is asked for again.
        let _ = answer;
    }

    /// Waits until something is true of the session, or until there is another session.
    async fn until(&mut self, mut holds: impl FnMut(&Session) -> bool) -> Result<(), Interrupted> {
        let session = self.sessions;
        while !holds(&self.session) {
            self.turn().await;
            if self.sessions != session {
                return Err(Interrupted);
            }
        }
        Ok(())
    }

    async fn connected(&mut self) {
        while !self.session.provisioned {
            self.turn().await;
        }
    }

    /// Carries out a job, over as many sessions as it takes.
    async fn work(&mut self, job: &Job) -> Outcome {
        self.round = Some(job.order.round);
        let outcome = loop {
            match self.attempt(job).await {
                Attempt::Done(outcome) => break outcome,
                Attempt::Again => {}
            }
        };
        self.session.expects = None;
        if let Outcome::Missing(reason) = &outcome {
            self.tell(What::Missing {
                reason: reason.clone(),
            });
            // Without a session there is nobody to tell; the next order tells it, too.
            let round = job.order.round;
            let _ = self.peer.send(HostToDevice::Cancel { round });
        }
        self.round = None;
        outcome
    }

    /// Runs the script once, from whatever the board has already done.
    async fn attempt(&mut self, job: &Job) -> Attempt {
        let missing = |reason: String| Attempt::Done(Outcome::Missing(reason));
        if timeout(job.limits.connect, self.connected()).await.is_err() {
            return missing(format!("not connected: {}", self.complaint));
        }
        if let Some(wrong) = self.wrong_shard() {
            return missing(wrong);
        }
        self.session.expects = Some((Payload::Update, job.order.round, job.upload_bytes));
        match timeout(job.limits.download, self.hand_over(job)).await {
            Err(_) => return missing("the model did not arrive in time".to_owned()),
            Ok(Err(Interrupted)) => return Attempt::Again,
            Ok(Ok(Some(declined))) => return missing(declined),
            Ok(Ok(None)) => {}
        }
        let limit = job.limits.epoch * u32::from(job.order.epochs.max(1));
        let round = job.order.round;
        let reported =
            self.until(|session| matches!(&session.report, Some(report) if report.round == round));
        match timeout(limit, reported).await {
            Err(_) => return missing("training took too long".to_owned()),
            Ok(Err(Interrupted)) => return Attempt::Again,
            Ok(Ok(())) => {}
        }
        let Some(report) = self.session.report.clone() else {
            return Attempt::Again;
        };
        self.standing.ledger = report.ledger;
        self.tell(What::Reported(Box::new(Measured::of(&report))));
        if !report.trained {
            return missing("its store ran dry while training".to_owned());
        }
        let begin = Instant::now();
        let arrived = self.until(|session| session.received.is_some());
        match timeout(job.limits.upload, arrived).await {
            Err(_) => return missing("the update did not arrive in time".to_owned()),
            Ok(Err(Interrupted)) => return Attempt::Again,
            Ok(Ok(())) => {}
        }
        if let Some((_, up)) = job.pace {
            self.pass_time(begin + up).await;
        }
        let Some(bytes) = self.session.received.take() else {
            return Attempt::Again;
        };
        self.tell(What::Uploaded {
            bytes: bytes.len(),
            hash: ModelHash::of(&bytes).to_string(),
        });
        Attempt::Done(Outcome::Done(report, bytes))
    }

    /// Brings model and order to the board; returns why it will not work, if so.
    async fn hand_over(&mut self, job: &Job) -> Result<Option<String>, Interrupted> {
        let begin = Instant::now();
        if let Some((base, update)) = &job.update
            && self.session.holds == Some(*base)
        {
            self.deliver(job, Payload::Update, update).await?;
        }
        for _ in 0..ORDER_TRIES {
            self.session.reply = None;
            if self.peer.send(HostToDevice::Order(job.order)).is_err() {
                return Err(Interrupted);
            }
            let round = job.order.round;
            self.until(|session| {
                matches!(session.reply, Some(reply) if reply.round == round)
                    || matches!(&session.report, Some(report) if report.round == round)
            })
            .await?;
            let declined = self.session.reply.and_then(|reply| reply.declined);
            match declined {
                Some(DeclineReason::Model) => {
                    self.deliver(job, Payload::Model, &job.model).await?;
                }
                None => {
                    self.session.holds = Some(job.order.model);
                    self.tell(What::Ordered {
                        epochs: job.order.epochs.into(),
                        channel: job.order.channel.into(),
                        power_w: job.order.power.0 as f64 * 1e-9,
                    });
                    if let Some((down, _)) = job.pace {
                        self.pass_time(begin + down).await;
                    }
                    return Ok(None);
                }
                // Said before this session: it is at work already.
                Some(DeclineReason::Busy { round }) if round == job.order.round => {
                    self.session.holds = Some(job.order.model);
                    return Ok(None);
                }
                // Left from a session that died: the base station went back behind it.
                Some(DeclineReason::Busy { round }) => {
                    let cancelled = self.peer.send(HostToDevice::Cancel { round });
                    cancelled.map_err(|_| Interrupted)?;
                }
                Some(reason) => return Ok(Some(format!("declined: {}", why(&reason)))),
            }
        }
        Ok(Some("it does not keep the model".to_owned()))
    }

    /// Sends bytes, again when the board was busy with something else.
    async fn deliver(
        &mut self,
        job: &Job,
        payload: Payload,
        bytes: &Arc<[u8]>,
    ) -> Result<(), Interrupted> {
        self.tell(What::Sending {
            bytes: bytes.len(),
            whole: payload == Payload::Model,
        });
        loop {
            self.session.delivered = false;
            self.session.rejected = None;
            let offered = self.peer.offer(payload, job.order.round, Arc::clone(bytes));
            if offered.is_err() {
                return Err(Interrupted);
            }
            self.until(|session| session.delivered || session.rejected.is_some())
                .await?;
            if self.session.delivered {
                self.session.holds = None;
                self.tell(What::Sent);
                return Ok(());
            }
        }
    }

    /// Lets wall time pass without neglecting the line.
    async fn pass_time(&mut self, until: Instant) {
        let _ = tokio::time::timeout_at(until, self.attend()).await;
    }

    fn close(&mut self, closing: &Closing) {
        if let Some(rest) = closing.rest {
            let ledger = Ledger::restore(self.standing.ledger, self.identity.storage);
            if let Some(mut ledger) = ledger {
                ledger.begin_round(self.identity.income);
                self.standing.ledger = ledger.snapshot();
            }
            let _ = self.peer.send(HostToDevice::Order(rest));
        }
        self.standing.last_round = Some(closing.mark);
        // A board that is not there learns of both from its next provision.
        let _ = self.peer.send(HostToDevice::Commit {
            mark: closing.mark,
            counted: closing.counted,
        });
    }

    fn wrong_shard(&self) -> Option<String> {
        let hello = self.session.hello.as_ref()?;
        let client = self.identity.client;
        match hello.shard {
            ShardStatus::Absent => Some("it has no shard: flash one".to_owned()),
            ShardStatus::Damaged => Some("its shard is damaged: flash it again".to_owned()),
            ShardStatus::Present { client: found, .. } if found != client => Some(format!(
                "it holds the shard of client {found}, not {client}"
            )),
            ShardStatus::Present { crc, .. } => match self.identity.shard_crc {
                Some(expected) if expected != crc => Some(format!(
                    "its shard has checksum {crc:08x}, this run's has {expected:08x}: flash it"
                )),
                _ => None,
            },
        }
    }

    async fn greet(&mut self, limit: Duration) -> Result<Box<Hello>, String> {
        let provisioned = timeout(limit, self.connected()).await;
        match (&self.session.hello, provisioned) {
            (Some(hello), _) => Ok(hello.clone()),
            (None, _) => Err(self.complaint.clone()),
        }
    }

    async fn echo(&mut self, bytes: Arc<[u8]>, limit: Duration) -> Result<Duration, String> {
        let begin = Instant::now();
        match timeout(limit, self.echo_once(&bytes)).await {
            Err(_) => Err(format!("no echo within {} s", limit.as_secs())),
            Ok(Err(Interrupted)) => Err(format!("interrupted: {}", self.complaint)),
            Ok(Ok(back)) if back == *bytes => Ok(begin.elapsed()),
            Ok(Ok(_)) => Err("the echo differs from what was sent".to_owned()),
        }
    }

    async fn echo_once(&mut self, bytes: &Arc<[u8]>) -> Result<Vec<u8>, Interrupted> {
        self.connected().await;
        self.session.received = None;
        self.session.expects = Some((Payload::Echo, 0, bytes.len()));
        loop {
            self.session.rejected = None;
            let offered = self.peer.offer(Payload::Echo, 0, Arc::clone(bytes));
            offered.map_err(|_| Interrupted)?;
            self.until(|session| session.received.is_some() || session.rejected.is_some())
                .await?;
            if let Some(back) = self.session.received.take() {
                self.session.expects = None;
                return Ok(back);
            }
        }
    }
}

/// Says why an order was declined.
fn why(reason: &DeclineReason) -> String {
    match reason {
        DeclineReason::Energy(shortfall) => shortfall.to_string(),
        DeclineReason::NotProvisioned => "it was not provisioned".to_owned(),
        DeclineReason::Shard(_) => "its shard does not fit".to_owned(),
        DeclineReason::Model => "it does not hold the model".to_owned(),
        DeclineReason::Stale { newest } => format!("it has closed round {newest} already"),
        DeclineReason::Busy { round } => format!("it is busy with round {round}"),
        DeclineReason::Invalid => "a field of the order is out of range".to_owned(),
    }
}
