//! A round's work as a straight script: model, order, report, update.
//!
//! It starts over with every new session; the board answers a repeated order with what it already
//! has, so nothing is done or counted twice.

use std::sync::Arc;

use gleaner_shared::wire::message::{DeclineReason, HostToDevice, ModelHash, Payload, ShardStatus};
use tokio::time::{Instant, timeout, timeout_at};

use super::session::{Board, Interrupted};
use super::{Closing, Job, Outcome};
use crate::station::news::{Measured, What};

/// Orders of one session that may be declined, for want of the model or for old work, before
/// giving up.
const ORDER_TRIES: u32 = 4;

/// How one attempt at a job ended.
enum Attempt {
    Done(Outcome),
    Again,
}

impl Board {
    /// Carries out a job, over as many sessions as it takes.
    pub(super) async fn work(&mut self, job: &Job) -> Outcome {
        self.round = Some(job.order.round);
        // A board that is reset again and again gets through no phase and exceeds no limit.
        let outcome = match timeout(job.limits.whole(job.order.epochs), self.insist(job)).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Missing(format!("not done in time: {}", self.complaint)),
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

    /// Runs the script until it comes to an end.
    async fn insist(&mut self, job: &Job) -> Outcome {
        loop {
            if let Attempt::Done(outcome) = self.attempt(job).await {
                return outcome;
            }
        }
    }

    /// Runs the script once, from whatever the board has already done.
    async fn attempt(&mut self, job: &Job) -> Attempt {
        let missing = |reason: String| Attempt::Done(Outcome::Missing(reason));
        if !self.connected_within(job.limits.connect).await {
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
        let limit = job.limits.training(job.order.epochs);
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
        self.note_ledger(report.ledger);
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
            self.say(&HostToDevice::Order(job.order)).await?;
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
                    self.say(&HostToDevice::Cancel { round }).await?;
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
            while self
                .peer
                .offer(payload, job.order.round, Arc::clone(bytes))
                .is_err()
            {
                self.wait_for_room().await?;
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
        let _ = timeout_at(until, self.attend()).await;
    }

    pub(super) fn close(&mut self, closing: &Closing) {
        self.close_books();
        if let Some(rest) = closing.rest {
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
}

/// Says why an order was declined.
fn why(reason: &DeclineReason) -> String {
    match reason {
        DeclineReason::Energy(shortfall) => shortfall.to_string(),
        DeclineReason::NotProvisioned => "it was not provisioned".to_owned(),
        DeclineReason::Shard(_) => {
            "its shard does not fit: `gleaner flash` says how to make a smaller one".to_owned()
        }
        DeclineReason::Model => "it does not hold the model".to_owned(),
        DeclineReason::Stale { newest } => format!("it has closed round {newest} already"),
        DeclineReason::Busy { round } => format!("it is busy with round {round}"),
        DeclineReason::Invalid => "a field of the order is out of range".to_owned(),
    }
}
