//! The handshake of a new connection: asks for a greeting, identifies the board, and hands the
//! connection to the board's task or closes it.
//!
//! An unknown client costs a socket, one frame's buffer and five seconds at most, and one of its
//! greetings is tried with the keys.

use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::time::Duration;

use gleaner_shared::wire::frame::DELIMITER;
use gleaner_shared::wire::link::{Answer, Claim, Inquiry};
use gleaner_shared::wire::message::{DeviceId, Refusal};
use gleaner_shared::wire::{FrameBuffer, Nonce};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{interval, timeout};

use super::boards::ExpectedBoards;
use super::counts::Outcome;
use crate::link::ByteStream;

/// Time for a greeting to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two requests for a greeting; a board behind a gateway may miss one while it starts.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Bytes accepted before a greeting: a board that lost its connection in the middle of an upload
/// may still send the bytes it had in flight, a few times over.
const MOST_BYTES: usize = 64 * 1024;

/// Bytes read from the connection at once.
const PIECE: usize = 256;

/// Runs the handshake of one connection.
pub(super) async fn run(
    mut link: Box<dyn ByteStream>,
    from: SocketAddr,
    nonce: Nonce,
    boards: &ExpectedBoards,
) -> Outcome {
    let mut handshake = Handshake {
        inquiry: Inquiry::new(nonce),
        replayed: false,
    };
    let ended = timeout(PATIENCE, handshake.run(&mut link, boards)).await;
    match ended {
        Ok(Ok(Greeting::Board { at, device, rest })) => {
            let Some((client, line)) = boards.line_at(at) else {
                return Outcome::Accepted;
            };
            match line.admit(device, from) {
                Ok(()) => {
                    line.put(with_rest(link, rest));
                    Outcome::Accepted
                }
                Err(rivalry) => {
                    // The other side may have closed the connection.
                    let _ =
                        timeout(PATIENCE, link.write_all(&refusal(Refusal::UnknownDevice))).await;
                    Outcome::Rival(client, rivalry)
                }
            }
        }
        Ok(Ok(Greeting::Other(outcome))) => outcome,
        Ok(Err(_)) | Err(_) if handshake.replayed => Outcome::Replayed,
        Ok(Err(_)) => Outcome::HungUp,
        Err(_) => Outcome::Silent,
    }
}

/// Returns the connection with the bytes that followed the greeting put back in front.
fn with_rest(link: Box<dyn ByteStream>, rest: Vec<u8>) -> Box<dyn ByteStream> {
    if rest.is_empty() {
        return link;
    }
    let (read, write) = tokio::io::split(link);
    Box::new(tokio::io::join(Cursor::new(rest).chain(read), write))
}

/// The sender of a greeting.
enum Greeting {
    /// The board of this index, its chip, and the bytes that followed its greeting.
    Board {
        at: usize,
        device: DeviceId,
        rest: Vec<u8>,
    },
    /// Not an expected board.
    Other(Outcome),
}

struct Handshake {
    inquiry: Inquiry,
    /// Whether a greeting came that was recorded on another connection.
    replayed: bool,
}

impl Handshake {
    async fn run(
        &mut self,
        link: &mut Box<dyn ByteStream>,
        boards: &ExpectedBoards,
    ) -> io::Result<Greeting> {
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
                None => return Ok(Greeting::Other(Outcome::Noisy)),
            };
            let judge = |claim: &Claim<'_>| boards.identify(claim).map(|at| (at, claim.device));
            while let Some(answer) = self.inquiry.receive(&mut bytes, judge) {
                match answer {
                    Answer::Greeted(Ok((at, device))) => {
                        let rest = bytes.to_vec();
                        return Ok(Greeting::Board { at, device, rest });
                    }
                    Answer::Greeted(Err(refused)) => {
                        let (outcome, reason) = *refused;
                        // The other side may have closed the connection.
                        let _ = link.write_all(&refusal(reason)).await;
                        return Ok(Greeting::Other(outcome));
                    }
                    // It may be late: the answer to this request may follow.
                    Answer::Stale => self.replayed = true,
                }
            }
        }
    }

    /// Returns the request behind a lone delimiter, which ends any noise on the line before it.
    fn request(&self) -> Vec<u8> {
        let mut request = vec![DELIMITER];
        let mut frame = FrameBuffer::new();
        request.extend_from_slice(self.inquiry.request(&mut frame).unwrap_or_default());
        request
    }
}

/// Returns the frame of a refusal.
fn refusal(refusal: Refusal) -> Vec<u8> {
    let mut frame = FrameBuffer::new();
    let bytes = Inquiry::refusal(&mut frame, refusal);
    bytes.unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use gleaner_shared::units::Micros;
    use gleaner_shared::wire::Key;
    use gleaner_shared::wire::link::{DeviceLink, Timing};
    use gleaner_sim::ClientId;
    use tokio::io::{DuplexStream, duplex};

    use super::*;
    use crate::fleet_file::{ChipNumber, Entry, FleetFile, Link, SecretKey};

    const KEY: [u8; 32] = [7; 32];
    const CHIP: DeviceId = DeviceId([1; 12]);

    /// A board with a key, and one without that is known by the number of its chip.
    fn boards() -> ExpectedBoards {
        let mut keyed = Entry::new("b0", 0, Link::Incoming { device: None });
        keyed.key = Some(SecretKey(KEY));
        let device = Some(ChipNumber(CHIP));
        let bare = Entry::new("b1", 1, Link::Incoming { device });
        let clients = vec![keyed, bare];
        ExpectedBoards::of(&FleetFile {
            clients,
            ..FleetFile::default()
        })
    }

    /// Runs the handshake against a client.
    async fn call<T>(
        boards: &ExpectedBoards,
        nonce: u8,
        client: impl AsyncFnOnce(DuplexStream) -> T,
    ) -> (Outcome, T) {
        let (near, far) = duplex(4096);
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        tokio::join!(run(Box::new(near), from, [nonce; 16], boards), client(far))
    }

    /// Reads the request, and returns the answer of a device of that key and number.
    async fn answer(line: &mut DuplexStream, key: Key, device: DeviceId) -> Vec<u8> {
        let mut piece = [0; 256];
        let len = line.read(&mut piece).await.unwrap();
        let mut link = DeviceLink::new(key, Some([8; 32]), device, Timing::default());
        let (mut reply, mut frame) = (Vec::new(), FrameBuffer::new());
        link.receive(Micros::ZERO, &mut &piece[..len], &mut []);
        while let Some(bytes) = link.transmit(Micros::ZERO, &[], &mut frame) {
            reply.extend_from_slice(bytes);
        }
        reply
    }

    /// Greets as a device and waits for the end; returns the greeting and the reply.
    async fn greet(mut line: DuplexStream, key: Key, device: DeviceId) -> (Vec<u8>, Vec<u8>) {
        let greeting = answer(&mut line, key, device).await;
        line.write_all(&greeting).await.unwrap();
        let mut reply = Vec::new();
        line.read_to_end(&mut reply).await.unwrap();
        (greeting, reply)
    }

    #[tokio::test(start_paused = true)]
    async fn a_board_is_found_by_its_key_and_its_next_bytes_are_not_lost() {
        let boards = boards();
        let incoming = boards.line_of(ClientId(0)).unwrap();
        // The chip number does not matter.
        let client = async |mut line: DuplexStream| {
            let mut reply = answer(&mut line, Key::new(KEY), CHIP).await;
            reply.extend(b"more");
            line.write_all(&reply).await.unwrap();
            line
        };
        let (outcome, mut far) = call(&boards, 1, client).await;
        assert_eq!(outcome, Outcome::Accepted);
        let mut line = incoming.take().await;
        far.write_all(b" and more").await.unwrap();
        line.write_all(b"down").await.unwrap();
        let (mut up, mut down) = ([0; 13], [0; 4]);
        line.read_exact(&mut up).await.unwrap();
        far.read_exact(&mut down).await.unwrap();
        assert_eq!((&up, &down), (b"more and more", b"down"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_board_without_a_key_is_found_by_its_number() {
        let boards = boards();
        let greeter = |key, device| async move |line| greet(line, key, device).await;
        let bare = boards.line_of(ClientId(1)).unwrap();
        let hearing = call(&boards, 1, greeter(Key::PUBLIC, CHIP));
        let taking = async { drop(bare.take().await) };
        let ((outcome, _), ()) = tokio::join!(hearing, taking);
        assert_eq!(outcome, Outcome::Accepted);
        // A stolen number without its key, and unknown keys.
        let other = DeviceId([2; 12]);
        for (key, device, expected) in [
            (Key::PUBLIC, other, Outcome::NoKey(other)),
            (Key::new([6; 32]), CHIP, Outcome::UnknownKey(CHIP)),
            (Key::new([6; 32]), other, Outcome::UnknownKey(other)),
        ] {
            let (outcome, (_, reply)) = call(&boards, 1, greeter(key, device)).await;
            assert_eq!(outcome, expected);
            assert_eq!(reply, refusal(Refusal::UnknownDevice), "{expected:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_recorded_greeting_is_rejected() {
        let boards = boards();
        let record = async |mut line: DuplexStream| {
            let greeting = answer(&mut line, Key::new(KEY), CHIP).await;
            line.write_all(&greeting).await.unwrap();
            greeting
        };
        let (outcome, recorded) = call(&boards, 1, record).await;
        assert_eq!(outcome, Outcome::Accepted);
        drop(boards.line_of(ClientId(0)).unwrap().take().await);
        let replay = async |mut line: DuplexStream| {
            line.write_all(&recorded).await.unwrap();
            let _ = line.read_to_end(&mut Vec::new()).await;
        };
        let (outcome, ()) = call(&boards, 2, replay).await;
        assert_eq!(outcome, Outcome::Replayed);
        let waiting = boards.line_of(ClientId(0)).unwrap();
        let nothing = timeout(Duration::from_secs(60), waiting.wait()).await;
        assert!(nothing.is_err(), "the replayed connection was accepted");
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_device_with_a_boards_key_is_refused_and_counted() {
        let boards = boards();
        let incoming = boards.line_of(ClientId(0)).unwrap();
        let stay = async |mut line: DuplexStream| {
            let greeting = answer(&mut line, Key::new(KEY), CHIP).await;
            line.write_all(&greeting).await.unwrap();
            line
        };
        let (outcome, _far) = call(&boards, 1, stay).await;
        assert_eq!(outcome, Outcome::Accepted);
        let _line = incoming.take().await;
        incoming.hold(true);
        let other = DeviceId([2; 12]);
        let client = async |line| greet(line, Key::new(KEY), other).await;
        let (outcome, (_, reply)) = call(&boards, 2, client).await;
        assert!(
            matches!(outcome, Outcome::Rival(ClientId(0), it) if it.kept.device == CHIP && it.refused.device == other),
            "{outcome:?}"
        );
        assert!(reply.ends_with(&refusal(Refusal::UnknownDevice)));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_or_half_a_greeting_ends_after_five_seconds() {
        let begin = tokio::time::Instant::now();
        for bytes in [&[][..], &[2, 3, 4]] {
            let client = async |mut line: DuplexStream| {
                line.write_all(bytes).await.unwrap();
                let _ = line.read_to_end(&mut Vec::new()).await;
            };
            assert_eq!(call(&boards(), 1, client).await.0, Outcome::Silent);
        }
        assert_eq!(begin.elapsed(), 2 * PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn noise_is_read_up_to_a_limit_and_a_closed_connection_is_counted() {
        let noise = async |mut line: DuplexStream| {
            let mut written = 0;
            while line.write_all(&[0x55; 1024]).await.is_ok() {
                written += 1024;
            }
            written
        };
        let (outcome, written) = call(&boards(), 1, noise).await;
        assert_eq!(outcome, Outcome::Noisy);
        assert!(written <= MOST_BYTES + 2 * 4096, "{written}");
        let leave = async |line: DuplexStream| drop(line);
        assert_eq!(call(&boards(), 1, leave).await.0, Outcome::HungUp);
    }
}
