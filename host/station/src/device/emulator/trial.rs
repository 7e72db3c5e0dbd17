//! One round of a measured, emulated board: what its cycle counter says of every kind of work.

use std::path::Path;

use gleaner_shared::board::Shape;
use gleaner_shared::energy::{Pace, Phase};
use gleaner_shared::mlp::UploadCode;
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::link::{Event, HostEnd, HostLink, Timing};
use gleaner_shared::wire::message::{
    About, DeclineReason, DeviceToHost, HostToDevice, Mark, MeasureRefusal, MeasureStep, ModelHash,
    Order, Payload, Provision, RejectReason, Report, RoundMark,
};
use gleaner_shared::wire::{FrameBuffer, Insecure, MAX_TRANSFER};

use super::EmulatorError;
use super::line::Line;
use super::runner::Stat;
use crate::device::Board;

/// Time that a board is left alone to write a step to its flash and the next.
const QUIET: Micros = Micros(500_000);

/// Error of a trial.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum TrialError {
    /// The emulator is missing or has ended.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The board did not answer in time.
    #[error("the board was silent for {patience} while {waiting}")]
    Silent {
        patience: Micros,
        waiting: &'static str,
    },
    /// The session was lost.
    #[error("the session with the board was lost while {0}")]
    Session(&'static str),
    /// The board rejects the model.
    #[error("the board rejects the model: {0:?}")]
    Rejected(RejectReason),
    /// The board declines the order.
    #[error("the board declines to train: {0:?}")]
    Declined(DeclineReason),
    /// The board refuses to be measured.
    #[error("the board refuses to be measured: {0:?}")]
    Unmeasured(MeasureRefusal),
}

/// The task of a trial.
#[derive(Debug)]
pub struct Task<'a> {
    /// Provision: client, seed, ledger and cost model.
    pub provision: Provision,
    /// The whole model to start from, as it is sent.
    pub model: &'a [u8],
    /// The order; the hash of the model is filled in.
    pub order: Order,
    /// Cost of a flash cache miss instead of the emulator's own; 0 disables it.
    pub miss_cycles: Option<u32>,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct TrialResult {
    /// The board's description of itself.
    pub about: About,
    /// The board's report on the order.
    pub report: Report,
    /// Counts of the emulator, if it counts more than the board.
    pub counted: Option<Counted>,
    /// Time of the model's transfer, in the board's time.
    pub download: Micros,
    /// Size of the stack, and its largest use.
    pub stack_bytes: (u32, u32),
    /// Reads of the flash from the order to the end of the last epoch, where its cache is modelled.
    pub flash: Option<FlashReads>,
    /// Cycles that the board counted for every kind of work.
    pub pace: Pace,
    /// Energy that the board reserved for the order.
    pub reserved: PicoJoules,
    /// Sectors erased and pages programmed to keep the round and its model; `None` of a board that
    /// keeps neither.
    pub written: Option<(u32, u32)>,
}

/// Reads of the flash by both cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashReads {
    /// Words that were read.
    pub reads: u64,
    /// Words that the cache did not hold.
    pub misses: u64,
    /// Misses that fetched instructions.
    pub code_misses: u64,
    /// Cycles that the cores waited.
    pub wait_cycles: u64,
}

impl FlashReads {
    const fn between(before: &Stat, after: &Stat) -> Self {
        Self {
            reads: after.xip_reads - before.xip_reads,
            misses: after.xip_misses - before.xip_misses,
            code_misses: after.xip_code_misses - before.xip_code_misses,
            wait_cycles: after.xip_wait_cycles - before.xip_wait_cycles,
        }
    }
}

/// Counts of an emulator from an order to its report.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Instructions executed by the core.
    pub instructions: u64,
    /// Cycles of waiting for flash, which the board's cycles include.
    pub flash_waits: u64,
}

/// Runs one order on a board; `stage` is called with a description of each stage.
///
/// # Errors
/// Returns an error if the emulator ends, or the board is silent or declines.
pub fn train(
    board: Board,
    image: &Path,
    shard: &Path,
    task: &Task<'_>,
    mut stage: impl FnMut(&str),
) -> Result<TrialResult, TrialError> {
    let line = Line::open(board, image, Some(shard), task.miss_cycles)?;
    let timing = Timing::for_bit_rate(line.bit_rate());
    let mut talk = Conversation {
        line,
        link: HostLink::new(Insecure, [7; 32], timing),
        source: task.model.to_vec(),
        store: vec![0; MAX_TRANSFER],
        input: Vec::new(),
        frame: FrameBuffer::new(),
        marks: Vec::new(),
        written: None,
        // An epoch takes a second or two of the board's time.
        patience: Micros(60_000_000 * (1 + u64::from(task.order.epochs))),
    };

    stage("waiting for its greeting");
    let about = talk.until("connecting", |event| match event {
        Event::Connected(greeting) => Some(greeting.about.clone()),
        _ => None,
    })?;
    talk.say(HostToDevice::Provision(task.provision), "provisioning")?;
    talk.answer("provisioning", |message| {
        matches!(message, DeviceToHost::Provisioned { .. }).then_some(())
    })?;

    let written = talk.written;
    talk.measure(0, MeasureStep::Begin)?;
    talk.leave_alone()?;

    stage("sending the model");
    let begin = talk.line.now();
    let model = talk.deliver(Payload::Model)?;
    let download = talk.line.now().saturating_sub(begin);
    talk.leave_alone()?;

    stage("training");
    let order = Order {
        model,
        ..task.order
    };
    let before = talk.line.stat();
    talk.say(HostToDevice::Order(order), "ordering")?;
    let reply = talk.answer("ordering", |message| match message {
        DeviceToHost::OrderReply(reply) => Some(*reply),
        _ => None,
    })?;
    if let Some(reason) = reply.declined {
        return Err(TrialError::Declined(reason));
    }
    let mut report = None;
    talk.answer("training", |message| match message {
        DeviceToHost::Progress(progress) => {
            stage(&format!("epoch {} of {}", progress.epoch, order.epochs));
            (progress.epoch >= order.epochs).then_some(())
        }
        DeviceToHost::Report(early) => {
            report = Some(*early);
            Some(())
        }
        _ => None,
    })?;
    let stats = before.zip(talk.line.stat());
    let flash = stats
        .filter(|(_, after)| after.xip_reads > 0)
        .map(|(before, after)| FlashReads::between(&before, &after));
    let report = match report {
        Some(report) => report,
        None => talk.answer("evaluating", |message| match message {
            DeviceToHost::Report(report) => Some(*report),
            _ => None,
        })?,
    };
    let counted = stats
        .filter(|(_, after)| after.instructions > 0)
        .map(|(before, after)| Counted {
            instructions: after.instructions - before.instructions,
            flash_waits: after.flash_waits - before.flash_waits,
        });

    stage("receiving its update");
    let length = talk.until("uploading", |event| match event {
        Event::Received(offer) => Some(offer.len as usize),
        _ => None,
    })?;
    stage("closing the round");
    // A broadcast is coded as an update in 8 bits is.
    talk.source = match order.code {
        UploadCode::Q8 => talk.store[..length].to_vec(),
        _ => nothing(about.shape.sizes()),
    };
    let mark = RoundMark {
        run: order.run,
        round: order.round,
        model,
    };
    talk.say(
        HostToDevice::Commit {
            mark,
            counted: true,
        },
        "closing the round",
    )?;
    let stack_bytes = talk.rest()?;
    let saved = talk.written;
    stage("sending a change");
    talk.deliver(Payload::Update)?;
    talk.leave_alone()?;
    talk.measure(1, MeasureStep::End)?;
    talk.rest()?;
    let pace = pace(&talk.marks, report.epochs);
    Ok(TrialResult {
        about,
        report,
        counted,
        download,
        stack_bytes,
        flash,
        pace,
        reserved: reply.reserved,
        written: (saved.zip(written))
            .map(|(after, before)| (after.0 - before.0, after.1 - before.1)),
    })
}

/// Returns the cycles of every kind of work: a whole model comes before training, a change after the
/// upload.
fn pace(marks: &[Mark], epochs: u16) -> Pace {
    let first = |phase| marks.iter().position(|mark| mark.phase == phase);
    let trained = first(Phase::Train).unwrap_or(marks.len());
    let uploaded = first(Phase::Transmit).unwrap_or(marks.len());
    let sum = |marks: &[Mark], phase| {
        let marks = marks.iter().filter(|mark| mark.phase == phase);
        Cycles(marks.map(|mark| mark.cycles.0).sum())
    };
    let (before, after) = (&marks[..trained], &marks[uploaded..]);
    Pace {
        epoch: Cycles(sum(marks, Phase::Train).0 / u64::from(epochs.max(1))),
        evaluate: sum(marks, Phase::Evaluate),
        apply_change: sum(after, Phase::Apply),
        apply_whole: sum(before, Phase::Apply),
        encode: sum(marks, Phase::Encode),
        open_change: sum(after, Phase::Receive),
        open_whole: sum(before, Phase::Receive),
        seal: sum(marks, Phase::Transmit),
    }
}

/// The host's end of the line to the board.
struct Conversation {
    line: Line,
    link: HostLink<Insecure>,
    source: Vec<u8>,
    store: Vec<u8>,
    input: Vec<u8>,
    frame: FrameBuffer,
    /// Phases of the measured board.
    marks: Vec<Mark>,
    /// Sectors erased and pages programmed since the board was new.
    written: Option<(u32, u32)>,
    patience: Micros,
}

impl Conversation {
    /// Runs until `wanted` returns a value.
    fn until<T>(
        &mut self,
        waiting: &'static str,
        mut wanted: impl FnMut(&Event<HostEnd>) -> Option<T>,
    ) -> Result<T, TrialError> {
        let deadline = self.line.now().saturating_add(self.patience);
        loop {
            let now = self.line.now();
            let mut rest = &self.input[..];
            let event = self.link.receive(now, &mut rest, &mut self.store);
            let taken = self.input.len() - rest.len();
            self.input.drain(..taken);
            match event.or_else(|| self.link.poll(now)) {
                Some(event) => {
                    self.note(&event);
                    if let Some(found) = wanted(&event) {
                        return Ok(found);
                    }
                    continue;
                }
                None if now >= deadline => {
                    let patience = self.patience;
                    return Err(TrialError::Silent { patience, waiting });
                }
                None => {}
            }
            let mut out = Vec::new();
            while let Some(bytes) = self.link.transmit(now, &self.source, &mut self.frame) {
                out.extend_from_slice(bytes);
            }
            let wake = self.link.next_wake().unwrap_or(deadline).min(deadline);
            self.input = self.line.exchange(&out, wake.max(now))?;
        }
    }

    /// Does what an event asks for, whatever is waited for.
    fn note(&mut self, event: &Event<HostEnd>) {
        match event {
            Event::Message(DeviceToHost::Mark(mark)) => self.marks.push(*mark),
            Event::Message(DeviceToHost::FlashUse {
                erases, programs, ..
            }) => self.written = Some((*erases, *programs)),
            Event::Offered(_) => {
                // The board repeats an offer whose answer found no room.
                let _ = self.link.accept(&self.store);
            }
            _ => {}
        }
    }

    /// Waits for a message that `pick` accepts.
    fn answer<T>(
        &mut self,
        waiting: &'static str,
        mut pick: impl FnMut(&DeviceToHost) -> Option<T>,
    ) -> Result<T, TrialError> {
        self.until(waiting, |event| match event {
            Event::Message(message) => pick(message).map(Ok),
            Event::Lost(_) => Some(Err(TrialError::Session(waiting))),
            _ => None,
        })?
    }

    fn say(&mut self, message: HostToDevice, doing: &'static str) -> Result<(), TrialError> {
        let sent = self.link.send(message);
        sent.map_err(|_| TrialError::Session(doing))
    }

    /// Takes a step of the measurement.
    fn measure(&mut self, number: u32, step: MeasureStep) -> Result<(), TrialError> {
        const DOING: &str = "measuring";
        self.say(HostToDevice::Measure { number, step }, DOING)?;
        let refused = self.answer(DOING, |message| match *message {
            DeviceToHost::Measured {
                number: of,
                refused,
            } if of == number => Some(refused),
            _ => None,
        })?;
        refused.map_or(Ok(()), |reason| Err(TrialError::Unmeasured(reason)))
    }

    /// Waits until the board writes nothing more to its flash; returns the size of its stack, and its
    /// largest use.
    fn rest(&mut self) -> Result<(u32, u32), TrialError> {
        const DOING: &str = "inspecting";
        loop {
            let before = self.written;
            self.say(HostToDevice::Inspect, DOING)?;
            let mut stack = None;
            self.answer(DOING, |message| match message {
                DeviceToHost::Stack {
                    available_bytes,
                    used_bytes,
                } => {
                    stack = Some((*available_bytes, *used_bytes));
                    None
                }
                DeviceToHost::Supply(_) => Some(()),
                _ => None,
            })?;
            match stack {
                Some(stack) if self.written == before => return Ok(stack),
                _ => {}
            }
            self.leave_alone()?;
        }
    }

    /// Leaves the board alone for a while: it writes to its flash while its line is quiet, and applies
    /// a model without hearing the line.
    fn leave_alone(&mut self) -> Result<(), TrialError> {
        let patience = std::mem::replace(&mut self.patience, QUIET);
        let quiet = self.until("waiting", |_| None::<()>);
        self.patience = patience;
        match quiet {
            Ok(()) | Err(TrialError::Silent { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends a model or a change and waits until it has arrived.
    fn deliver(&mut self, payload: Payload) -> Result<ModelHash, TrialError> {
        const DOING: &str = "sending the model";
        let now = self.line.now();
        let offer = self.link.offer(now, payload, None, &self.source);
        let offer = offer.map_err(|_| TrialError::Session(DOING))?;
        self.until(DOING, |event| match event {
            Event::Delivered(_) => Some(Ok(offer.hash)),
            Event::Rejected(_, reason) => Some(Err(TrialError::Rejected(*reason))),
            Event::Lost(_) | Event::TransferTimedOut(_) => Some(Err(TrialError::Session(DOING))),
            _ => None,
        })?
    }
}

/// Returns a change of zero in 8 bits a parameter.
fn nothing(network: Shape) -> Vec<u8> {
    // Four scales of one unit.
    let mut bytes = [0, 1, 0, 0].repeat(4);
    bytes.resize(UploadCode::Q8.encoded_len(&network), 0);
    bytes
}
