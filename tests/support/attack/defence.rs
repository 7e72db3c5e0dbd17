//! A base station with honest boards and one hostile peer, over TCP on this machine: the cost of the
//! peer in memory, log and time of the honest boards.

use gleaner_sim::ClientId;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gleaner_shared::units::{Micros, PicoJoules};
use gleaner_shared::wire::message::{ModelHash, RoundMark};
use gleaner_sim::run::peak_memory_mb;
use gleaner_station::Handle;
use gleaner_station::board::{Closing, RoundWork, WorkResult};
use gleaner_station::bus::{self, BusItem, EventReceiver, EventSender};
use gleaner_station::log::{EventLog, Line};
use tokio::net::TcpListener;
use tokio::task::JoinHandle as Task;

use super::hostile::Attack;
use crate::client::update_of;
use crate::peers::{MODEL_BYTES, at_port, board, client, job, key_of, timing};
use crate::station::RUN;

/// Number of honest boards.
pub const HONEST: u32 = 8;

/// Limit of the base station for a hostile peer's round.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves an honest board whose training takes a given time; returns its port.
///
/// # Errors
/// When the system has no port to give.
pub async fn listen(number: u32, training: Duration) -> io::Result<u16> {
    let (listener, port) = bind().await?;
    tokio::spawn(async move {
        let client = client(number);
        let mut client = client.training_for(training);
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            // The next connection may follow any end of this one.
            let _ = client.serve(stream).await;
        }
    });
    Ok(port)
}

/// Serves a hostile peer in the place of client [`HONEST`]; returns its port.
///
/// # Errors
/// When the system has no port to give.
pub async fn listen_hostile(attack: Attack) -> io::Result<u16> {
    let (listener, port) = bind().await?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = attack.serve(stream, HONEST, key_of(HONEST), timing()).await;
        }
    });
    Ok(port)
}

async fn bind() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Minimum length of a measurement, in rounds and in time.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    #[allow(missing_docs)]
    pub rounds: usize,
    #[allow(missing_docs)]
    pub time: Duration,
}

/// Cost of one hostile peer.
#[derive(Clone, Debug)]
pub struct Defence {
    /// The median round of the honest boards alone, before and after.
    pub alone: Duration,
    /// Their median round beside the hostile peer.
    pub beside: Duration,
    /// Honest updates that did not arrive as they were sent, and why the last did not.
    pub lost: Vec<String>,
    /// Accepted updates of the hostile peer.
    pub believed: usize,
    /// Bytes per minute that the peer added to the log.
    pub log_bytes_a_minute: f64,
    /// Peak memory of this process beside the peer, where the system reports it.
    pub memory_mb: Option<f64>,
}

impl Defence {
    /// Merges repeated measurements: median delay, largest memory and log, all lost updates.
    ///
    /// # Panics
    /// Without a turn.
    #[must_use]
    pub fn together(mut turns: Vec<Self>) -> Self {
        turns.sort_by(|a, b| a.delay().total_cmp(&b.delay()));
        let memory = turns.iter().filter_map(|turn| turn.memory_mb);
        let log = turns.iter().map(|turn| turn.log_bytes_a_minute);
        Self {
            memory_mb: memory.reduce(f64::max),
            log_bytes_a_minute: log.fold(0.0, f64::max),
            lost: turns.iter().flat_map(|turn| turn.lost.clone()).collect(),
            believed: turns.iter().map(|turn| turn.believed).sum(),
            ..turns[turns.len() / 2]
        }
    }

    /// Returns the relative delay of a round beside the peer.
    #[must_use]
    pub fn delay(&self) -> f64 {
        self.beside.as_secs_f64() / self.alone.as_secs_f64() - 1.0
    }
}

/// A base station with honest boards and a log.
pub struct Station {
    honest: Vec<Arc<Handle>>,
    events: EventSender,
    log: PathBuf,
    _pump: JoinHandle<()>,
    round: u32,
}

impl Station {
    /// Connects to the honest boards on those ports and writes `log`.
    ///
    /// # Panics
    /// When the log cannot be written or a board does not connect.
    pub async fn start(ports: &[u16], log: &Path) -> Self {
        let (events, heard) = bus::open();
        let journal = EventLog::open(log, 0).expect("a log");
        let pump = std::thread::spawn(move || keep(journal, heard));
        let honest: Vec<_> = (0..)
            .zip(ports)
            .map(|(client, &port)| Arc::new(board(client, at_port(port), events.clone())))
            .collect();
        for board in &honest {
            let greeted = board.greet(Duration::from_secs(60)).await;
            greeted.expect("an honest board greets");
        }
        Self {
            honest,
            events,
            log: log.to_owned(),
            _pump: pump,
            round: 0,
        }
    }

    /// Suffers an enemy for a while, with as much time alone around it.
    pub async fn suffer(&mut self, port: u16, length: Length) -> Defence {
        let half = Length {
            rounds: length.rounds.div_ceil(2),
            time: length.time / 2,
        };
        let mut lost = Vec::new();
        let mut alone = self.rounds(half, None, &mut lost).await;
        let from = self.logged();
        // Where the system does not let us, the peak is that of all before, too.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let mut enemy = Enemy {
            board: Arc::new(board(HONEST, at_port(port), self.events.clone())),
            work: None,
            believed: 0,
        };
        let mut beside = self.rounds(half, Some(&mut enemy), &mut lost).await;
        let middle = self.logged();
        beside.extend(self.rounds(half, Some(&mut enemy), &mut lost).await);
        let memory_mb = peak_memory_mb();
        let end = self.logged();
        let log = [from, middle, end];
        let log_bytes_a_minute = self.minute(log, beside.iter().sum());
        let believed = enemy.believed;
        drop(enemy);
        alone.extend(self.rounds(half, None, &mut lost).await);
        Defence {
            alone: median(alone),
            beside: median(beside),
            lost,
            believed,
            log_bytes_a_minute,
            memory_mb,
        }
    }

    /// Projects what the enemy logged to a minute: a burst at first, then the rate of the second
    /// half.
    fn minute(&self, [from, middle, end]: [u64; 3], time: Duration) -> f64 {
        let first = self.logged_by_enemy(from, middle);
        let second = self.logged_by_enemy(middle, end);
        let rest = (60.0 - time.as_secs_f64()).max(0.0);
        (first + second) as f64 + rest * second as f64 / (time.as_secs_f64() / 2.0)
    }

    /// Returns how long the log is, with everything that happened until now.
    fn logged(&self) -> u64 {
        let flushed = self.events.flush();
        flushed.expect("the log is written");
        fs::metadata(&self.log).map_or(0, |data| data.len())
    }

    /// Returns how much of a part of the log is about the enemy.
    fn logged_by_enemy(&self, from: u64, to: u64) -> u64 {
        let mut file = File::open(&self.log).expect("the log");
        file.seek(SeekFrom::Start(from)).expect("its middle");
        let lines = BufReader::new(io::Read::take(file, to - from)).lines();
        let of_enemy = |line: &String| match serde_json::from_str(line) {
            Ok(Line::Event { event, .. }) => event.client == ClientId(HONEST),
            _ => false,
        };
        let lines = lines.map_while(Result::ok).filter(of_enemy);
        lines.map(|line| line.len() as u64 + 1).sum()
    }

    async fn rounds(
        &mut self,
        length: Length,
        mut enemy: Option<&mut Enemy>,
        lost: &mut Vec<String>,
    ) -> Vec<Duration> {
        let begin = Instant::now();
        let mut walls = Vec::new();
        while walls.len() < length.rounds || begin.elapsed() < length.time {
            self.round += 1;
            if let Some(enemy) = &mut enemy {
                enemy.work(self.round).await;
            }
            walls.push(self.one_round(lost).await);
        }
        walls
    }

    /// Runs a round with the honest boards; returns how long it took.
    async fn one_round(&self, lost: &mut Vec<String>) -> Duration {
        let (round, begin) = (self.round, Instant::now());
        let job = job(round);
        let start = |board: &Arc<Handle>| {
            let (board, job) = (Arc::clone(board), job.clone());
            tokio::spawn(async move { board.work(job).await })
        };
        let tasks: Vec<_> = self.honest.iter().map(start).collect();
        for (client, task) in (0..).zip(tasks) {
            match task.await.expect("no task panics") {
                WorkResult::Done(_, update)
                    if update.bytes == update_of(client, round, MODEL_BYTES) => {}
                WorkResult::Done(..) => lost.push("another update than was sent".to_owned()),
                WorkResult::Missing(reason) | WorkResult::Declined(reason) => lost.push(reason),
            }
        }
        let wall = begin.elapsed();
        for board in &self.honest {
            board.close(closing(round, true)).await;
        }
        wall
    }
}

/// The hostile peer as the base station knows it.
struct Enemy {
    board: Arc<Handle>,
    work: Option<(u32, Task<WorkResult>)>,
    believed: usize,
}

impl Enemy {
    /// Gives the enemy the work of a round, unless it is still at that of another.
    async fn work(&mut self, round: u32) {
        if let Some((before, task)) = self.work.take() {
            if !task.is_finished() {
                self.work = Some((before, task));
                return;
            }
            let done = task.await.expect("no task panics");
            self.believed += usize::from(matches!(done, WorkResult::Done(..)));
            self.board.close(closing(before, false)).await;
        }
        let job = RoundWork {
            limit: PATIENCE,
            ..job(round)
        };
        let board = Arc::clone(&self.board);
        let task = tokio::spawn(async move { board.work(job).await });
        self.work = Some((round, task));
    }
}

impl Drop for Enemy {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.work {
            // It holds the board, whose task would go on.
            task.abort();
        }
    }
}

fn closing(round: u32, counted: bool) -> Closing {
    Closing {
        mark: RoundMark {
            run: RUN,
            round,
            model: ModelHash::default(),
        },
        counted,
        income: PicoJoules(1),
        period: Micros::ZERO,
        rest: None,
    }
}

/// Writes the log as a run does.
fn keep(mut log: EventLog, mut heard: EventReceiver) {
    while let Some(heard) = heard.wait() {
        match heard {
            BusItem::Event(event) => log.append(&event).expect("a disk with room"),
            BusItem::Flush(flush) => flush.answer(log.sync()),
        }
    }
}

fn median(mut walls: Vec<Duration>) -> Duration {
    walls.sort();
    walls.get(walls.len() / 2).copied().unwrap_or_default()
}
