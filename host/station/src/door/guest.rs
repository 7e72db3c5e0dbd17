//! One caller before it is known: asked for a greeting, judged, and handed over or hung up on.
//!
//! Until then it costs a socket, one frame's buffer and five seconds at most, and one greeting of
//! it is tried with the keys.

use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::time::Duration;

use gleaner_shared::wire::frame::DELIMITER;
use gleaner_shared::wire::link::{Answer, Inquiry};
use gleaner_shared::wire::message::Refusal;
use gleaner_shared::wire::{FrameBuffer, Nonce};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{interval, timeout};

use super::callers::Callers;
use super::calls::Outcome;
use crate::link::ByteStream;

/// How long a caller has to greet.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two requests for a greeting: what a gateway passes on a board may miss while it starts.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Bytes before a greeting: a board that has lost its line in the middle of an upload may still
/// send what it had in flight, a few times over.
const MOST_BYTES: usize = 64 * 1024;

/// Bytes taken from the line at once.
const PIECE: usize = 256;

/// Hears one caller out.
pub(super) async fn hear(
    mut link: Box<dyn ByteStream>,
    from: SocketAddr,
    nonce: Nonce,
    callers: &Callers,
) -> Outcome {
    let mut guest = Guest {
        inquiry: Inquiry::new(nonce),
        replayed: false,
    };
    let heard = timeout(PATIENCE, guest.listen(&mut link, callers)).await;
    match heard {
        Ok(Ok(Heard::Board { at, rest })) => {
            if let Some(line) = callers.line_at(at) {
                line.put(with_rest(link, rest), from);
            }
            Outcome::LetIn
        }
        Ok(Ok(Heard::Other(outcome))) => outcome,
        Ok(Err(_)) | Err(_) if guest.replayed => Outcome::Replayed,
        Ok(Err(_)) => Outcome::Left,
        Err(_) => Outcome::Silent,
    }
}

/// What a board said after its greeting is its task's to hear.
fn with_rest(link: Box<dyn ByteStream>, rest: Vec<u8>) -> Box<dyn ByteStream> {
    if rest.is_empty() {
        return link;
    }
    let (read, write) = tokio::io::split(link);
    Box::new(tokio::io::join(Cursor::new(rest).chain(read), write))
}

/// What a caller turned out to be.
enum Heard {
    /// The board at this place among the callers.
    Board {
        at: usize,
        /// The bytes behind its greeting.
        rest: Vec<u8>,
    },
    /// Nobody to talk to.
    Other(Outcome),
}

struct Guest {
    inquiry: Inquiry,
    /// Whether it greeted with what was said on another line.
    replayed: bool,
}

impl Guest {
    async fn listen(
        &mut self,
        link: &mut Box<dyn ByteStream>,
        callers: &Callers,
    ) -> io::Result<Heard> {
        let request = self.request();
        let mut asks = interval(ASK_AGAIN);
        let mut piece = [0; PIECE];
        let mut room = MOST_BYTES;
        loop {
            let len = tokio::select! {
                _ = asks.tick() => {
                    link.write_all(&request).await?;
                    continue;
                }
                len = link.read(&mut piece) => len?,
            };
            let mut bytes = match piece.get(..len) {
                None | Some([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(bytes) => bytes,
            };
            room = match room.checked_sub(len) {
                Some(room) => room,
                None => return Ok(Heard::Other(Outcome::Noisy)),
            };
            while let Some(answer) = self.inquiry.receive(&mut bytes, |it| callers.judge(it)) {
                match answer {
                    Answer::Greeted(Ok(at)) => {
                        let rest = bytes.to_vec();
                        return Ok(Heard::Board { at, rest });
                    }
                    Answer::Greeted(Err((outcome, reason))) => {
                        // Whoever has hung up need not be told.
                        let _ = link.write_all(&refusal(reason)).await;
                        return Ok(Heard::Other(outcome));
                    }
                    // It may be late: the answer to this line's request may follow.
                    Answer::Stale => self.replayed = true,
                }
            }
        }
    }

    /// A lone delimiter goes first, so that noise on the line does not cost the request.
    fn request(&self) -> Vec<u8> {
        let mut request = vec![DELIMITER];
        let mut frame = FrameBuffer::new();
        request.extend_from_slice(self.inquiry.request(&mut frame).unwrap_or_default());
        request
    }
}

/// Writes a refusal as it goes on the line.
fn refusal(refusal: Refusal) -> Vec<u8> {
    let mut frame = FrameBuffer::new();
    let said = Inquiry::refusal(&mut frame, refusal);
    said.unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use gleaner_shared::units::Micros;
    use gleaner_shared::wire::Key;
    use gleaner_shared::wire::link::{DeviceLink, Timing};
    use gleaner_shared::wire::message::DeviceId;
    use gleaner_sim::ClientId;
    use tokio::io::{DuplexStream, duplex};

    use super::*;
    use crate::fleet_file::{ChipNumber, Entry, FleetFile, Link, SecretKey};

    const KEY: [u8; 32] = [7; 32];
    const CHIP: DeviceId = DeviceId([1; 12]);

    /// A board with a key, and one without that is known by the number of its chip.
    fn callers() -> Callers {
        let mut keyed = Entry::new("b0", 0, Link::Incoming { device: None });
        keyed.key = Some(SecretKey(KEY));
        let device = Some(ChipNumber(CHIP));
        let bare = Entry::new("b1", 1, Link::Incoming { device });
        let clients = vec![keyed, bare];
        Callers::of(&FleetFile { clients })
    }

    /// Hears a caller that does as `caller` says.
    async fn call<T>(
        callers: &Callers,
        nonce: u8,
        caller: impl AsyncFnOnce(DuplexStream) -> T,
    ) -> (Outcome, T) {
        let (near, far) = duplex(4096);
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::join!(
            hear(Box::new(near), from, [nonce; 16], callers),
            caller(far)
        )
    }

    /// Reads the request, and returns what a device of that key and number answers to it.
    async fn answer(line: &mut DuplexStream, key: Key, device: DeviceId) -> Vec<u8> {
        let mut piece = [0; 256];
        let len = line.read(&mut piece).await.unwrap();
        let mut link = DeviceLink::new(key, Some([8; 32]), device, Timing::default());
        let (mut said, mut frame) = (Vec::new(), FrameBuffer::new());
        link.receive(Micros::ZERO, &mut &piece[..len], &mut []);
        while let Some(bytes) = link.transmit(Micros::ZERO, &[], &mut frame) {
            said.extend_from_slice(bytes);
        }
        said
    }

    /// Greets as a device and waits for the line's end; returns the greeting and what was said to it.
    async fn greet(mut line: DuplexStream, key: Key, device: DeviceId) -> (Vec<u8>, Vec<u8>) {
        let greeting = answer(&mut line, key, device).await;
        line.write_all(&greeting).await.unwrap();
        let mut said = Vec::new();
        line.read_to_end(&mut said).await.unwrap();
        (greeting, said)
    }

    #[tokio::test(start_paused = true)]
    async fn a_board_is_found_by_its_key_and_what_it_says_next_is_not_lost() {
        let callers = callers();
        let incoming = callers.line_of(ClientId(0)).unwrap();
        // Whatever number it gives its chip.
        let caller = async |mut line: DuplexStream| {
            let mut said = answer(&mut line, Key::new(KEY), CHIP).await;
            said.extend(b"more");
            line.write_all(&said).await.unwrap();
            line
        };
        let (outcome, mut far) = call(&callers, 1, caller).await;
        assert_eq!(outcome, Outcome::LetIn);
        let mut line = incoming.take().await;
        far.write_all(b" and more").await.unwrap();
        line.write_all(b"down").await.unwrap();
        let (mut up, mut down) = ([0; 13], [0; 4]);
        line.read_exact(&mut up).await.unwrap();
        far.read_exact(&mut down).await.unwrap();
        assert_eq!((&up, &down), (b"more and more", b"down"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_board_without_a_key_is_found_by_its_number_and_nobody_else_by_any() {
        let callers = callers();
        let greeter = |key, device| async move |line| greet(line, key, device).await;
        let bare = callers.line_of(ClientId(1)).unwrap();
        let hearing = call(&callers, 1, greeter(Key::PUBLIC, CHIP));
        let taking = async { drop(bare.take().await) };
        let ((outcome, _), ()) = tokio::join!(hearing, taking);
        assert_eq!(outcome, Outcome::LetIn);
        // A stolen number without the key that belongs to it, and keys nobody knows.
        let other = DeviceId([2; 12]);
        for (key, device, expected) in [
            (Key::PUBLIC, other, Outcome::Keyless(other)),
            (Key::new([6; 32]), CHIP, Outcome::Stranger(CHIP)),
            (Key::new([6; 32]), other, Outcome::Stranger(other)),
        ] {
            let (outcome, (_, said)) = call(&callers, 1, greeter(key, device)).await;
            assert_eq!(outcome, expected);
            assert_eq!(said, refusal(Refusal::UnknownDevice), "{expected:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_recorded_greeting_opens_nothing() {
        let callers = callers();
        let record = async |mut line: DuplexStream| {
            let greeting = answer(&mut line, Key::new(KEY), CHIP).await;
            line.write_all(&greeting).await.unwrap();
            greeting
        };
        let (outcome, recorded) = call(&callers, 1, record).await;
        assert_eq!(outcome, Outcome::LetIn);
        drop(callers.line_of(ClientId(0)).unwrap().take().await);
        let replay = async |mut line: DuplexStream| {
            line.write_all(&recorded).await.unwrap();
            let _ = line.read_to_end(&mut Vec::new()).await;
        };
        let (outcome, ()) = call(&callers, 2, replay).await;
        assert_eq!(outcome, Outcome::Replayed);
        let waiting = callers.line_of(ClientId(0)).unwrap();
        let nothing = timeout(Duration::from_secs(60), waiting.wait()).await;
        assert!(nothing.is_err(), "the replayed line was laid down");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_says_nothing_or_half_a_greeting_has_five_seconds() {
        let begin = tokio::time::Instant::now();
        for said in [&[][..], &[2, 3, 4]] {
            let caller = async |mut line: DuplexStream| {
                line.write_all(said).await.unwrap();
                let _ = line.read_to_end(&mut Vec::new()).await;
            };
            assert_eq!(call(&callers(), 1, caller).await.0, Outcome::Silent);
        }
        assert_eq!(begin.elapsed(), 2 * PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn noise_is_read_up_to_a_limit_and_a_caller_that_hangs_up_is_forgotten() {
        let noise = async |mut line: DuplexStream| {
            let mut written = 0;
            while line.write_all(&[0x55; 1024]).await.is_ok() {
                written += 1024;
            }
            written
        };
        let (outcome, written) = call(&callers(), 1, noise).await;
        assert_eq!(outcome, Outcome::Noisy);
        assert!(written <= MOST_BYTES + 2 * 4096, "{written}");
        let leave = async |line: DuplexStream| drop(line);
        assert_eq!(call(&callers(), 1, leave).await.0, Outcome::Left);
    }
}
