//! Fault injection: a wrapper that loses, flips, repeats, delays and cuts, by seeded chance.
//!
//! Both directions pass frame by frame, so that whole frames are lost or repeated, as on a radio. Memory is bounded by a frame and a small pipe each way.

use gleaner_sim::ClientId;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::wire::frame::{DELIMITER, MAX_WIRE};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf};

use super::ByteStream;

/// Faults of a line; probabilities are per frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Probability that a frame vanishes.
    pub loss: f64,
    /// Probability that one bit of a frame flips.
    pub corrupt: f64,
    /// Probability that a frame arrives twice.
    pub duplicate: f64,
    /// Probability that the line is cut at a frame.
    pub cut: f64,
    /// Additional delay of every frame.
    pub delay: Duration,
    /// Seed of the random faults.
    pub seed: u64,
    /// The client, which gives its line random faults of its own.
    pub client: ClientId,
}

/// Frames that entered the wrapper, and the faults injected so far.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "counters named after their fault")]
pub struct FaultCounters {
    pub frames: AtomicU64,
    pub lost: AtomicU64,
    pub corrupted: AtomicU64,
    pub duplicated: AtomicU64,
    pub cuts: AtomicU64,
}

impl FaultCounters {
    /// Returns (frames, lost, corrupted, duplicated, cuts).
    #[must_use]
    pub fn read(&self) -> [u64; 5] {
        [
            &self.frames,
            &self.lost,
            &self.corrupted,
            &self.duplicated,
            &self.cuts,
        ]
        .map(|counter| counter.load(Ordering::Relaxed))
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Faults {
    /// Tells whether there are any faults to inject.
    #[must_use]
    pub fn any(&self) -> bool {
        self.loss > 0.0
            || self.corrupt > 0.0
            || self.duplicate > 0.0
            || self.cut > 0.0
            || !self.delay.is_zero()
    }

    /// Wraps `link`; `attempt` distinguishes the lines opened to one peer.
    #[must_use]
    pub fn wrap(
        self,
        link: Box<dyn ByteStream>,
        attempt: u32,
        counters: Arc<FaultCounters>,
    ) -> DuplexStream {
        let (near, inner) = tokio::io::duplex(2 * MAX_WIRE);
        tokio::spawn(async move {
            let (from_peer, to_peer) = tokio::io::split(link);
            let (from_host, to_host) = tokio::io::split(inner);
            let stream =
                |up: u32| Rng::stream(self.seed, Purpose::Faults, self.client.0, 2 * attempt + up);
            let down = self.carry(from_host, to_peer, stream(0), &counters);
            let up = self.carry(from_peer, to_host, stream(1), &counters);
            // When one direction ends, both do: the ends see a closed line.
            tokio::select! {
                () = down => {}
                () = up => {}
            }
        });
        near
    }

    /// Forwards frames until an end closes or the line is cut.
    async fn carry<R: AsyncRead, W: AsyncWrite + Unpin>(
        &self,
        from: ReadHalf<R>,
        mut to: W,
        mut rng: Rng,
        counters: &FaultCounters,
    ) {
        let mut frames = Frames::new(from);
        while let Some(frame) = frames.next().await {
            count(&counters.frames);
            if rng.uniform() < self.cut {
                count(&counters.cuts);
                return;
            }
            if rng.uniform() < self.loss {
                count(&counters.lost);
                continue;
            }
            if rng.uniform() < self.corrupt {
                count(&counters.corrupted);
                let bits = u32::try_from(frame.len() * 8).unwrap_or(u32::MAX);
                let bit = rng.below(bits) as usize;
                frame[bit / 8] ^= 1 << (bit % 8);
            }
            if !self.delay.is_zero() {
                tokio::time::sleep(self.delay).await;
            }
            let times = if rng.uniform() < self.duplicate {
                count(&counters.duplicated);
                2
            } else {
                1
            };
            for _ in 0..times {
                if to.write_all(frame).await.is_err() || to.flush().await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Splits a byte stream after every delimiter, or at the longest possible frame.
struct Frames<R> {
    from: ReadHalf<R>,
    buffer: Vec<u8>,
    /// Length of the last returned frame.
    given: usize,
}

impl<R: AsyncRead> Frames<R> {
    fn new(from: ReadHalf<R>) -> Self {
        Self {
            from,
            buffer: Vec::with_capacity(2 * MAX_WIRE),
            given: 0,
        }
    }

    /// Returns the next frame with its delimiter, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<&mut [u8]> {
        self.buffer.drain(..self.given);
        self.given = 0;
        loop {
            let end = self.buffer.iter().position(|&byte| byte == DELIMITER);
            let end = match end {
                Some(at) => Some(at + 1),
                None => (self.buffer.len() >= MAX_WIRE).then_some(MAX_WIRE),
            };
            if let Some(end) = end {
                self.given = end;
                return self.buffer.get_mut(..end);
            }
            let mut piece = [0; MAX_WIRE];
            match self.from.read(&mut piece).await {
                Ok(0) | Err(_) => return None,
                Ok(len) => self.buffer.extend_from_slice(&piece[..len]),
            }
        }
    }
}

/// Error parsing a description of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{found}\" is not a fault; write for example loss=0.05,duplicate=0.01,corrupt=0.01,cut=0.0001,delay_ms=5"
)]
pub struct FaultSyntax {
    /// The part that was not understood.
    found: String,
}

impl FromStr for Faults {
    type Err = FaultSyntax;

    fn from_str(text: &str) -> Result<Self, FaultSyntax> {
        let mut faults = Self::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let wrong = || FaultSyntax {
                found: part.to_owned(),
            };
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value: f64 = value.trim().parse().map_err(|_| wrong())?;
            let probability = (0.0..=1.0).contains(&value);
            match name.trim() {
                "loss" if probability => faults.loss = value,
                "corrupt" if probability => faults.corrupt = value,
                "duplicate" if probability => faults.duplicate = value,
                "cut" if probability => faults.cut = value,
                "delay_ms" if (0.0..=60_000.0).contains(&value) => {
                    faults.delay = Duration::from_secs_f64(value / 1e3);
                }
                _ => return Err(wrong()),
            }
        }
        Ok(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends frames `1, 0`, `2, 0`, ... through faults and returns what arrives.
    async fn pass(faults: Faults, frames: u8) -> (Vec<u8>, [u64; 5]) {
        let counters = Arc::new(FaultCounters::default());
        let (far, link) = tokio::io::duplex(64);
        let near = faults.wrap(Box::new(link), 0, Arc::clone(&counters));
        let (_, mut near_write) = tokio::io::split(near);
        let (mut far_read, _far_write) = tokio::io::split(far);
        let send = async {
            for frame in 1..=frames {
                if near_write.write_all(&[frame, 0]).await.is_err() {
                    break;
                }
            }
            let _ = near_write.shutdown().await;
        };
        let mut arrived = Vec::new();
        let (_, read) = tokio::join!(send, far_read.read_to_end(&mut arrived));
        read.unwrap();
        (arrived, counters.read())
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_without_faults_changes_nothing() {
        let (arrived, counted) = pass(Faults::default(), 100).await;
        assert_eq!(
            arrived,
            (1..=100).flat_map(|frame| [frame, 0]).collect::<Vec<u8>>()
        );
        assert_eq!(counted, [100, 0, 0, 0, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn whole_frames_are_lost_and_repeated_as_often_as_asked_and_equally_every_time() {
        let faults = Faults {
            loss: 0.2,
            duplicate: 0.1,
            seed: 7,
            ..Faults::default()
        };
        let (arrived, [frames, lost, _, duplicated, _]) = pass(faults, 250).await;
        assert_eq!(frames, 250);
        assert!(
            (30..70).contains(&lost) && (8..35).contains(&duplicated),
            "{lost} {duplicated}"
        );
        assert_eq!(arrived.len() as u64, 2 * (frames - lost + duplicated));
        assert_eq!(pass(faults, 250).await.0, arrived);
        let other = Faults { seed: 8, ..faults };
        assert_ne!(pass(other, 250).await.0, arrived);
    }

    #[tokio::test(start_paused = true)]
    async fn a_corrupted_frame_differs_in_one_bit() {
        let faults = Faults {
            corrupt: 1.0,
            ..Faults::default()
        };
        let (arrived, counted) = pass(faults, 1).await;
        let flipped: u32 = arrived
            .iter()
            .zip([1, 0])
            .map(|(a, b)| (a ^ b).count_ones())
            .sum();
        assert_eq!((arrived.len(), flipped, counted[2]), (2, 1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cut_ends_the_line() {
        let faults = Faults {
            cut: 0.1,
            ..Faults::default()
        };
        let (arrived, counted) = pass(faults, 250).await;
        assert!(arrived.len() < 500 && counted[4] == 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_delays() {
        let faults = Faults {
            delay: Duration::from_millis(30),
            ..Faults::default()
        };
        let before = tokio::time::Instant::now();
        pass(faults, 10).await;
        assert!(before.elapsed() >= Duration::from_millis(300));
    }

    #[test]
    fn faults_are_read_from_a_command_line() {
        let faults: Faults = "loss=0.05, duplicate=0.01,delay_ms=5".parse().unwrap();
        assert_eq!((faults.loss, faults.duplicate), (0.05, 0.01));
        assert_eq!(faults.delay, Duration::from_millis(5));
        for wrong in ["loss", "loss=2", "los=0.1", "loss=x"] {
            let error = wrong.parse::<Faults>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
