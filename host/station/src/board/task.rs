//! A board's task: drives the session's state machine with a line, a clock and commands.

use std::future::{Future, pending};
use std::io;
use std::time::Duration;

use gleaner_shared::wire::link::{self, Greeting, SendError};
use gleaner_sim::ClientId;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, sleep_until};

use super::session::{Action, Answer, Input, Machine, Profile, Request, Want};
use super::{Closing, Command, ConfirmedState, Identity, RoundWork, SessionError, WorkResult};
use crate::bus::EventSender;
use crate::event::{Event, EventKind};
use crate::link::Endpoint;
use crate::link::incoming::Rivalry;
use crate::peer::Peer;

/// Between two checks whether the queue of a line has room again, which a board that died has filled,
/// or is empty.
const ROOM_WAIT: Duration = Duration::from_millis(20);

/// Turns before the task yields, so that a line that is never silent leaves time for the others.
const TURNS: u64 = 32;

/// Runs a board's task until the commands end.
async fn run(
    identity: Identity,
    confirmed: ConfirmedState,
    mut commands: mpsc::Receiver<Command>,
    events: EventSender,
) {
    let peer = match Peer::try_new(identity.keys, identity.timing) {
        Ok(peer) => peer,
        // Without randomness there is no session; the senders of commands see that the task ended.
        Err(_) => return,
    };
    let machine = Machine::new(Profile::from(&identity), confirmed);
    let (client, endpoint) = (identity.client, identity.endpoint.clone());
    let line = Line {
        peer,
        endpoint: identity.endpoint,
        openings: 0,
    };
    let mut task = Task {
        machine,
        line,
        events,
        epoch: Instant::now(),
        responder: None,
        ending: None,
    };
    for turn in 1u64.. {
        if turn.is_multiple_of(TURNS) {
            yield_now().await;
        }
        if task.machine.owes() && task.line.peer.is_idle() {
            task.tell(Input::Idle);
        }
        if task.ends() {
            return;
        }
        let (opens_at, wakes_at) = (task.opens_at(), task.wakes_at());
        let takes = !task.machine.is_busy() && task.ending.is_none();
        tokio::select! {
            biased;
            // The next command waits until this one is answered.
            command = commands.recv(), if takes => match command {
                Some(command) => task.take(command),
                None => return,
            },
            () = given_up(&mut task.responder) => task.tell(Input::Recalled),
            input = task.line.next(opens_at) => task.tell(input),
            rivalry = endpoint.rivalry() => task.contended(client, &rivalry),
            () = sleep_until(wakes_at.unwrap_or(task.epoch)), if wakes_at.is_some() => {
                task.tell(Input::Time);
            }
        }
    }
}

/// Waits until nobody waits for the answer of work any more.
async fn given_up(responder: &mut Option<Responder>) {
    match responder {
        Some(Responder::Work(answer)) => answer.closed().await,
        _ => pending().await,
    }
}

/// A handle to a board's task. Dropping it ends the task and closes the line.
#[derive(Debug)]
pub struct Handle {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<()>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Handle {
    /// Starts the task on the current runtime.
    #[must_use]
    pub fn spawn(identity: Identity, confirmed: ConfirmedState, events: EventSender) -> Self {
        let (commands, receiver) = mpsc::channel(4);
        let task = tokio::spawn(run(identity, confirmed, receiver, events));
        Self { commands, task }
    }

    /// Carries out a round's work. Dropping the future cancels the work, on the board too.
    pub async fn work(&self, job: RoundWork) -> WorkResult {
        let asked = self
            .ask(|answer| Command::Work(Box::new(job), answer))
            .await;
        asked.unwrap_or_else(|| WorkResult::Missing(SessionError::TaskEnded.to_string()))
    }

    /// Closes a round and returns the confirmed state, or `None` if the task ended.
    pub async fn close(&self, closing: Closing) -> Option<ConfirmedState> {
        self.ask(|answer| Command::Close(closing, answer)).await
    }

    /// Restores the state of a checkpoint.
    pub async fn restore(&self, confirmed: ConfirmedState) {
        // A task that ended has nothing to restore.
        let _ = self.commands.send(Command::Restore(confirmed)).await;
    }

    /// Waits until the board knows how its last work and round ended, ends the task, and returns
    /// whether the board knows. A board that was away when the round was closed is not waited for.
    pub async fn end(&self, limit: Duration) -> bool {
        let asked = self.ask(|answer| Command::End(limit, answer)).await;
        asked.unwrap_or(false)
    }

    /// Waits for a session and returns the board's greeting; without time to wait, it returns that of
    /// an open session.
    ///
    /// # Errors
    /// Returns an error if no session is open in time.
    pub async fn greet(&self, limit: Duration) -> Result<Box<Greeting>, SessionError> {
        let asked = self.ask(|answer| Command::Greet(limit, answer)).await;
        asked.unwrap_or(Err(SessionError::TaskEnded))
    }

    /// Sends bytes there and back, and returns the time it took.
    ///
    /// # Errors
    /// Returns an error if the bytes do not come back in time.
    pub async fn echo(&self, bytes: &[u8], limit: Duration) -> Result<Duration, SessionError> {
        let asked = self
            .ask(|answer| Command::Echo(bytes.into(), limit, answer))
            .await;
        asked.unwrap_or(Err(SessionError::TaskEnded))
    }

    fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> impl Future<Output = Option<T>> {
        let (answer, answered) = oneshot::channel();
        let command = command(answer);
        async move {
            self.commands.send(command).await.ok()?;
            answered.await.ok()
        }
    }
}

/// A state machine and what it acts on.
struct Task {
    machine: Machine,
    line: Line,
    events: EventSender,
    /// The machine's time zero.
    epoch: Instant,
    /// The channel for the answer to the current request.
    responder: Option<Responder>,
    /// The latest end of the task and the channel for its answer.
    ending: Option<(Instant, oneshot::Sender<bool>)>,
}

impl Task {
    /// Returns when the line is to be opened, while there is none.
    fn opens_at(&self) -> Option<Instant> {
        self.machine.opens_at().and_then(|at| self.instant(at))
    }

    /// Returns when to continue if nothing happens before.
    fn wakes_at(&self) -> Option<Instant> {
        let due = self.machine.wakes_at().and_then(|at| self.instant(at));
        let waits = self.machine.wants().is_some() || self.ending.is_some();
        let room = waits.then(|| Instant::now() + ROOM_WAIT);
        [due, room].into_iter().flatten().min()
    }

    /// Converts a time of the machine to the clock, or returns `None` beyond the clock's range.
    fn instant(&self, at: Duration) -> Option<Instant> {
        self.epoch.checked_add(at)
    }

    /// Ends the task if it is time to, and answers.
    fn ends(&mut self) -> bool {
        let told = !self.machine.owes();
        let due = |(at, _): &mut (Instant, _)| told || *at <= Instant::now();
        let Some((_, answer)) = self.ending.take_if(due) else {
            return false;
        };
        // Whoever asked may have given up.
        let _ = answer.send(told);
        true
    }

    /// Passes a command to the machine.
    fn take(&mut self, command: Command) {
        let (request, responder) = match command {
            Command::Work(job, responder) => (Request::Work(job), Some(Responder::Work(responder))),
            Command::Close(closing, responder) => {
                (Request::Close(closing), Some(Responder::Close(responder)))
            }
            Command::Restore(confirmed) => (Request::Restore(confirmed), None),
            Command::End(limit, responder) => {
                let now = Instant::now();
                self.ending = Some((now.checked_add(limit).unwrap_or(now), responder));
                return;
            }
            Command::Greet(limit, responder) => {
                (Request::Greet(limit), Some(Responder::Greet(responder)))
            }
            Command::Echo(bytes, limit, responder) => (
                Request::Echo(bytes, limit),
                Some(Responder::Echo(responder)),
            ),
        };
        // Commands are only taken while the machine is not busy.
        if let Ok(actions) = self.machine.ask(self.epoch.elapsed(), request) {
            self.responder = responder;
            self.act(actions);
            self.queue();
        }
    }

    /// Passes an input to the machine.
    fn tell(&mut self, input: Input) {
        let actions = self.machine.handle(self.epoch.elapsed(), input);
        self.act(actions);
        self.queue();
    }

    /// Publishes that a second device has the board's key.
    fn contended(&self, client: ClientId, rivalry: &Rivalry) {
        self.events.publish(Event {
            client,
            round: None,
            what: EventKind::Contended {
                kept: rivalry.kept.to_string(),
                refused: rivalry.refused.to_string(),
                times: rivalry.times,
            },
        });
    }

    /// Queues what the machine wants to send, as far as there is room.
    fn queue(&mut self) {
        while let Some(want) = self.machine.wants() {
            if self.line.queue(want).is_err() {
                return;
            }
            let actions = self.machine.handle(self.epoch.elapsed(), Input::Queued);
            self.act(actions);
        }
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Publish(event) => self.events.publish(event.printable()),
                Action::Answer(answer) => {
                    if let Some(responder) = self.responder.take() {
                        responder.send(answer);
                    }
                }
                // The board repeats its message if one of these finds no room.
                Action::Send(message) => drop(self.line.peer.send(message)),
                Action::Accept { len } => drop(self.line.peer.accept(len)),
                Action::Reject(reason) => drop(self.line.peer.reject(reason)),
            }
        }
    }
}

/// The line to a board, and the endpoint that opens it.
struct Line {
    peer: Peer,
    endpoint: Endpoint,
    openings: u32,
}

impl Line {
    /// Opens the line when it is time to, or waits for its next event; may be dropped at any time.
    async fn next(&mut self, opens_at: Option<Instant>) -> Input {
        if let Some(at) = opens_at {
            sleep_until(at).await;
            return match self.endpoint.open(self.openings).await {
                Ok(link) => {
                    self.openings += 1;
                    self.peer.plug(link);
                    let place = self.endpoint.place().to_string();
                    Input::Opened { place }
                }
                Err(error) => Input::Gone {
                    reason: error.to_string(),
                },
            };
        }
        let event = tokio::select! {
            event = self.peer.next() => event,
            () = self.endpoint.superseded() => {
                self.peer.unplug();
                Err(io::Error::other("the board connected again, on another line"))
            }
        };
        match &event {
            Ok(link::Event::Connected(_)) => self.endpoint.hold(true),
            Ok(link::Event::Lost(_)) | Err(_) => self.endpoint.hold(false),
            Ok(_) => {}
        }
        match event {
            Ok(event) => Input::of(event, || self.peer.take_received()),
            Err(error) => Input::Gone {
                reason: error.to_string(),
            },
        }
    }

    /// Queues a message or transfer, if there is room.
    fn queue(&mut self, want: Want) -> Result<(), SendError> {
        match want {
            Want::Say(message) => self.peer.send(message),
            Want::Offer { payload, bytes } => self.peer.offer(payload, bytes),
        }
    }
}

/// The channel for an answer.
enum Responder {
    Work(oneshot::Sender<WorkResult>),
    Close(oneshot::Sender<ConfirmedState>),
    Greet(oneshot::Sender<Result<Box<Greeting>, SessionError>>),
    Echo(oneshot::Sender<Result<Duration, SessionError>>),
}

impl Responder {
    /// Sends an answer; a closed channel does not matter.
    fn send(self, answer: Answer) {
        match (self, answer) {
            (Self::Work(responder), Answer::Worked(outcome)) => drop(responder.send(outcome)),
            (Self::Close(responder), Answer::Closed(confirmed)) => drop(responder.send(confirmed)),
            (Self::Greet(responder), Answer::Greeted(greeting)) => drop(responder.send(greeting)),
            (Self::Echo(responder), Answer::Echoed(back)) => drop(responder.send(back)),
            // The machine answers the request it was given.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::energy::{CostModel, EnergyStore, Pace};
    use gleaner_shared::units::PicoJoules;
    use gleaner_shared::wire::Key;
    use gleaner_shared::wire::link::Timing;
    use gleaner_shared::wire::message::RunId;

    use super::*;
    use crate::bus;
    use crate::fleet_file::Place;

    #[tokio::test]
    async fn control_characters_from_a_board_are_escaped_in_events() {
        let identity = Identity {
            client: ClientId(0),
            endpoint: Endpoint::new(Place::Tcp("board:1".to_owned())),
            keys: Key::PUBLIC.into(),
            timing: Timing::for_bit_rate(921_600),
            run: RunId([1; 16]),
            seed: 1,
            store: EnergyStore::lossless(PicoJoules(1_000)),
            cost: CostModel::paper(1e-26, 5e8),
            pace: Pace::default(),
            network: gleaner_shared::board::Shape::PAPER,
            shard_crc: None,
        };
        let confirmed = ConfirmedState::new(PicoJoules(500), identity.store);
        let (events, mut receiver) = bus::open();
        let mut task = Task {
            machine: Machine::new(Profile::from(&identity), confirmed),
            line: Line {
                peer: Peer::try_new(identity.keys, identity.timing).unwrap(),
                endpoint: identity.endpoint,
                openings: 0,
            },
            events,
            epoch: Instant::now(),
            responder: None,
            ending: None,
        };
        let connected = |board: &str| Event {
            client: ClientId(0),
            round: None,
            what: EventKind::Connected {
                board: board.to_owned(),
                build: "v1".to_owned(),
                samples: None,
                shard_crc: None,
            },
        };
        task.act(vec![Action::Publish(connected("pico\x1b[2J"))]);
        assert_eq!(receiver.try_next(), Some(connected("pico\\u{1b}[2J")));
    }
}
