//! The line and the session on it, kept open; what the board says is noted here.

use std::time::Duration;

use gleaner_shared::energy::{Ledger, Snapshot};
use gleaner_shared::wire::link::{Event, HostEnd};
use gleaner_shared::wire::message::{
    DeviceToHost, Hello, HostToDevice, ModelHash, Offer, OrderReply, Payload, Provision,
    RejectReason, Report, ShardStatus,
};
use tokio::time::{Instant, sleep_until, timeout};

use super::{Identity, Standing};
use crate::station::news::{News, What};
use crate::station::peer::Peer;
use crate::station::told::Teller;

/// Between two looks whether a full line has room again.
const ROOM_WAIT: Duration = Duration::from_millis(20);
/// Between two attempts to open a line, at first and at most.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// How long a round waits for a board that an earlier one waited for in vain: long enough for one
/// that is back to be found and to greet.
const RETURN: Duration = Duration::from_secs(10);

/// What is known since the session opened.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) hello: Option<Box<Hello>>,
    pub(super) provisioned: bool,
    /// The model the board holds, as far as this session knows.
    pub(super) holds: Option<ModelHash>,
    pub(super) delivered: bool,
    pub(super) rejected: Option<RejectReason>,
    pub(super) reply: Option<OrderReply>,
    pub(super) report: Option<Box<Report>>,
    pub(super) expects: Option<(Payload, u32, usize)>,
    pub(super) receiving: bool,
    pub(super) received: Option<Vec<u8>>,
}

/// A board as its task sees it.
pub(super) struct Board {
    pub(super) identity: Identity,
    /// What was confirmed when the last round was closed.
    pub(super) standing: Standing,
    /// The ledger as the board last gave it in the round that is not closed yet.
    current: Option<Snapshot>,
    pub(super) peer: Peer,
    pub(super) news: Teller,
    openings: u32,
    reopen_at: Instant,
    reopen_wait: Duration,
    /// Whether it was waited for in vain since it was last heard of.
    absent: bool,
    /// The last thing that went wrong, for the reason of an absence.
    pub(super) complaint: String,
    pub(super) session: Session,
    sessions: u64,
    pub(super) round: Option<u32>,
}

/// A script must start over: there is another session.
pub(super) struct Interrupted;

impl Board {
    pub(super) fn new(identity: Identity, standing: Standing, peer: Peer, news: Teller) -> Self {
        Self {
            identity,
            standing,
            current: None,
            peer,
            news,
            openings: 0,
            reopen_at: Instant::now(),
            reopen_wait: REOPEN.0,
            absent: false,
            complaint: "it has not been heard of yet".to_owned(),
            session: Session::default(),
            sessions: 0,
            round: None,
        }
    }

    pub(super) fn tell(&self, what: What) {
        self.news.tell(News {
            client: self.identity.client,
            round: self.round,
            what,
        });
    }

    /// Keeps line and session going for ever.
    pub(super) async fn attend(&mut self) {
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
        self.absent = false;
        // A gateway may answer for a board that is not there: only the board's own word counts.
        self.reopen_wait = REOPEN.0;
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
            DeviceToHost::Cancelled { ledger, .. } => self.note_ledger(ledger),
            DeviceToHost::Link(_)
            | DeviceToHost::Announce { .. }
            | DeviceToHost::Hello(_)
            | DeviceToHost::Refuse(_)
            | DeviceToHost::Counters(_)
            | DeviceToHost::Stack { .. } => {}
        }
    }

    /// Takes note of the ledger the board goes on with, and says when nobody knew of it.
    fn compare(&mut self, found: &Snapshot) {
        let expected = self.current.unwrap_or(self.standing.ledger);
        if *found != expected && *found != self.standing.ledger {
            self.tell(What::LedgerDiffers {
                expected,
                found: *found,
            });
        }
        self.note_ledger(*found);
    }

    /// Keeps what the board booked until the round is closed. A board that loses its power before
    /// is provisioned with the ledger of the last closed round, so that it books the income of
    /// the order it gets again once.
    pub(super) fn note_ledger(&mut self, found: Snapshot) {
        if found.rounds >= self.standing.ledger.rounds {
            self.current = Some(found);
        }
    }

    /// Closes the books of a round, with the income if the board did not book it.
    pub(super) fn close_books(&mut self) {
        let confirmed = self.standing.ledger;
        let newest = self.current.take().unwrap_or(confirmed);
        self.standing.ledger = newest;
        if newest.rounds > confirmed.rounds {
            return;
        }
        if let Some(mut ledger) = Ledger::restore(newest, self.identity.storage) {
            ledger.begin_round(self.identity.income);
            self.standing.ledger = ledger.snapshot();
        }
    }

    /// Goes back to a checkpoint.
    pub(super) fn restore(&mut self, standing: Standing) {
        self.standing = standing;
        self.current = None;
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
    pub(super) async fn until(
        &mut self,
        mut holds: impl FnMut(&Session) -> bool,
    ) -> Result<(), Interrupted> {
        let session = self.sessions;
        while !holds(&self.session) {
            self.turn().await;
            if self.sessions != session {
                return Err(Interrupted);
            }
        }
        Ok(())
    }

    /// Sends a message, when there is room for it.
    pub(super) async fn say(&mut self, message: &HostToDevice) -> Result<(), Interrupted> {
        while self.peer.send(message.clone()).is_err() {
            self.wait_for_room().await?;
        }
        Ok(())
    }

    /// Lets the line go on, which a board that died without a word has filled up.
    pub(super) async fn wait_for_room(&mut self) -> Result<(), Interrupted> {
        let session = self.sessions;
        // The line need not bring an event before there is room.
        let _ = timeout(ROOM_WAIT, self.turn()).await;
        match self.sessions == session {
            true => Ok(()),
            false => Err(Interrupted),
        }
    }

    pub(super) async fn connected(&mut self) {
        while !self.session.provisioned {
            self.turn().await;
        }
    }

    /// Waits for a board that is not there; the rounds after that do not wait as long again.
    pub(super) async fn connected_within(&mut self, limit: Duration) -> bool {
        let limit = if self.absent {
            limit.min(RETURN)
        } else {
            limit
        };
        let connected = timeout(limit, self.connected()).await.is_ok();
        self.absent = !connected;
        connected
    }
}
