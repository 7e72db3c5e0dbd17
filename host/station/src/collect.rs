//! Waits for the boards of a round: until all have answered or reached the limit, or until the round
//! only waits for boards that had their time.
//!
//! A board is *only waited for* if it is on trial, or if the quorum of updates has arrived. Such a
//! board has [`PATIENCE`] times its expected time from the start of the round. When no other boards
//! are left and all of these had their time, the round closes: their work is cancelled.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::board::WorkResult;

/// Time that a board has before a round closes without it, over the expected time.
const PATIENCE: u32 = 2;

/// One board at work.
#[derive(Clone, Copy, Debug)]
pub struct AtWork {
    /// Place of its order in the broadcast.
    pub at: usize,
    /// Expected wall time of its work.
    pub expected: Duration,
    /// Whether it is on trial.
    pub on_trial: bool,
}

/// The end of one board's work.
#[derive(Debug)]
pub struct Ended {
    /// Place of its order in the broadcast.
    pub at: usize,
    /// The result.
    pub result: WorkResult,
    /// Whether it came after [`PATIENCE`] times the expected time.
    pub had_its_time: bool,
}

/// The boards of a round that have not answered yet.
pub struct Collector {
    began: Instant,
    /// Updates that are enough to close the round; 0 waits for all boards.
    quorum: usize,
    left: Vec<AtWork>,
    tasks: JoinSet<(usize, WorkResult)>,
}

impl Collector {
    /// Starts without boards, on the current runtime.
    #[must_use]
    pub fn new(quorum: usize) -> Self {
        Self {
            began: Instant::now(),
            quorum,
            left: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts the work of a board, on the current runtime.
    pub fn start(
        &mut self,
        board: AtWork,
        work: impl Future<Output = WorkResult> + Send + 'static,
    ) {
        self.left.push(board);
        self.tasks.spawn(async move { (board.at, work.await) });
    }

    /// Returns the result of every board; `arrived` updates are here already. Dropping the future
    /// cancels the work of all boards that are left.
    pub async fn results(mut self, mut arrived: usize) -> Vec<Ended> {
        let mut results = Vec::with_capacity(self.left.len());
        while !self.left.is_empty() {
            let closes_at = self.closes_at(arrived);
            let joined = tokio::select! {
                biased;
                joined = self.tasks.join_next() => joined,
                () = sleep_until(closes_at.unwrap_or(self.began)), if closes_at.is_some() => None,
            };
            match joined {
                Some(Ok((at, result))) => {
                    arrived += usize::from(matches!(result, WorkResult::Done(..)));
                    let had_its_time = self.had_its_time(at);
                    self.left.retain(|board| board.at != at);
                    results.push(Ended {
                        at,
                        result,
                        had_its_time,
                    });
                }
                // A task that panicked has left a message; its board is one of those left.
                Some(Err(_)) => {}
                None => break,
            }
        }
        let had = |expected: Duration| expected.saturating_mul(PATIENCE).as_secs();
        results.extend(self.left.iter().map(|board| {
            let reason = match board.on_trial {
                true => format!("no update within {} s on trial", had(board.expected)),
                false => format!(
                    "the round closed with {arrived} updates; it had {} s",
                    had(board.expected)
                ),
            };
            Ended {
                at: board.at,
                result: WorkResult::Missing(reason),
                had_its_time: true,
            }
        }));
        results
    }

    /// Tells whether the round has waited for a board as long as it waits for one on trial.
    fn had_its_time(&self, at: usize) -> bool {
        let board = self.left.iter().find(|board| board.at == at);
        let time = board.map(|board| board.expected.saturating_mul(PATIENCE));
        time.is_some_and(|time| self.began.elapsed() > time)
    }

    /// Returns when the round closes without the boards that are left, unless one of them is waited
    /// for until the limit.
    fn closes_at(&self, arrived: usize) -> Option<Instant> {
        let is_enough = self.quorum > 0 && arrived >= self.quorum;
        let boards = self.left.iter();
        let had = boards.map(|board| {
            let time = board.expected.saturating_mul(PATIENCE);
            (is_enough || board.on_trial).then_some(time)
        });
        let longest = had.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        self.began.checked_add(longest)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Boards that should all take 10 s: each its time, none for ever, and whether it is on trial.
    /// Returns which places have an update and the time that the round took.
    async fn round(
        boards: &[(Option<u32>, bool)],
        arrived: usize,
        quorum: usize,
    ) -> (Vec<usize>, Duration) {
        let began = Instant::now();
        let mut collector = Collector::new(quorum);
        for (at, &(takes, on_trial)) in boards.iter().enumerate() {
            let board = AtWork {
                at,
                expected: 10 * SECOND,
                on_trial,
            };
            collector.start(board, async move {
                match takes {
                    Some(seconds) => sleep(seconds * SECOND).await,
                    None => pending().await,
                }
                let upload = crate::board::Upload {
                    bytes: Vec::new(),
                    exact: true,
                };
                WorkResult::Done(Box::new(report()), upload)
            });
        }
        let results = collector.results(arrived).await;
        assert_eq!(results.len(), boards.len());
        let done = results.into_iter().filter_map(|ended| {
            let is_done = matches!(ended.result, WorkResult::Done(..));
            is_done.then_some(ended.at)
        });
        let mut done: Vec<usize> = done.collect();
        done.sort_unstable();
        (done, began.elapsed())
    }

    fn report() -> gleaner_shared::wire::message::Report {
        use gleaner_shared::energy::{Snapshot, Spent};
        use gleaner_shared::units::{Cycles, Micros, PicoJoules};
        use gleaner_shared::wire::message::{OrderHash, Report, RunId, WorkMark};
        Report {
            work: WorkMark {
                run: RunId([0; 16]),
                round: 1,
                order: OrderHash::default(),
            },
            trained: true,
            loss_before_q16: 0,
            loss_after_q16: 0,
            samples: 1,
            epochs: 1,
            cycles: Cycles(1),
            elapsed: Micros(1),
            spent: Spent::ZERO,
            harvested: PicoJoules::ZERO,
            ledger: Snapshot::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_boards_are_waited_for_without_a_quorum() {
        let boards = [(Some(3), false), (Some(200), false)];
        assert_eq!(round(&boards, 5, 0).await, (vec![0, 1], 200 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_quorum_closes_the_round_when_the_rest_had_twice_their_time() {
        let boards = [(Some(3), false), (Some(19), false), (None, false)];
        assert_eq!(round(&boards, 0, 1).await, (vec![0, 1], 20 * SECOND));
        // Updates of simulated clients count.
        assert_eq!(round(&[(None, false)], 2, 2).await, (vec![], 20 * SECOND));
        // A late update may be the one that is enough.
        let boards = [(Some(50), false), (None, false)];
        assert_eq!(round(&boards, 0, 1).await, (vec![0], 50 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_board_on_trial_is_waited_for_as_long_as_the_others_or_twice_its_time() {
        let boards = [(Some(3), false), (None, true)];
        assert_eq!(round(&boards, 0, 0).await, (vec![0], 20 * SECOND));
        let boards = [(Some(90), false), (Some(80), true), (None, true)];
        assert_eq!(round(&boards, 0, 0).await, (vec![0, 1], 90 * SECOND));
        assert_eq!(
            round(&[(Some(19), true)], 0, 0).await,
            (vec![0], 19 * SECOND)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_after_twice_its_time_is_told_from_one_before() {
        let mut collector = Collector::new(0);
        for (at, seconds) in [5, 15, 25].into_iter().enumerate() {
            let board = AtWork {
                at,
                expected: 10 * SECOND,
                on_trial: false,
            };
            collector.start(board, async move {
                sleep(seconds * SECOND).await;
                WorkResult::Declined("no energy".to_owned())
            });
        }
        let ended = collector.results(0).await;
        let late: Vec<bool> = ended.iter().map(|ended| ended.had_its_time).collect();
        assert_eq!(late, [false, false, true]);
    }
}
