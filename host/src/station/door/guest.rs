//! One caller before it is known: asked for a greeting, judged, and handed over or hung up on.
//!
//! Until then it costs a socket, one frame's buffer and five seconds at most, and one greeting of
//! it is tried with the keys.

use std::io::{self, Cursor};
use std::net::SocketAddr;
use std::time::Duration;

use gleaner_shared::wire::frame::DELIMITER;
use gleaner_shared::wire::link::{Answer, Inquiry};
use gleaner_shared::wire::message::{Refusal, Version};
use gleaner_shared::wire::{FrameBuffer, Nonce};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};

use super::callers::{Callers, Judgement};
use super::calls::Outcome;

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
    mut stream: TcpStream,
    from: SocketAddr,
    nonce: Nonce,
    callers: &Callers,
) -> Outcome {
    let mut guest = Guest {
        inquiry: Inquiry::new(nonce),
        replayed: false,
    };
    let heard = timeout(PATIENCE, guest.listen(&mut stream, callers)).await;
    let (judgement, rest) = match heard {
        Ok(Ok(Heard::Greeting(judgement, rest))) => (judgement, rest),
        Ok(Ok(Heard::Noise)) => return Outcome::Noisy,
        Ok(Err(_)) | Err(_) if guest.replayed => return Outcome::Replayed,
        Ok(Err(_)) => return Outcome::Left,
        Err(_) => return Outcome::Silent,
    };
    let (outcome, refusal) = match judgement {
        Judgement::Known(at) => {
            if let Some(line) = callers.line_at(at) {
                let (read, write) = stream.into_split();
                // What the board said after its greeting is its task's to hear.
                let read = Cursor::new(rest).chain(read);
                line.put(Box::new(tokio::io::join(read, write)), from);
            }
            return Outcome::LetIn;
        }
        Judgement::OtherVersion(theirs) => {
            let ours = Version::OURS;
            (Outcome::OtherVersion, Refusal::Version { ours, theirs })
        }
        // Both are told the same: which keys there are is nobody's business.
        Judgement::Keyless(device) => (Outcome::Keyless(device), Refusal::UnknownDevice),
        Judgement::Stranger(device) => (Outcome::Stranger(device), Refusal::UnknownDevice),
    };
    if let Some(frame) = Inquiry::refusal(&mut FrameBuffer::new(), refusal) {
        // Whoever does not read need not be told.
        let _ = stream.try_write(frame);
    }
    outcome
}

/// What a caller was heard to say.
enum Heard {
    /// A greeting, what was made of it, and the bytes behind it.
    Greeting(Judgement, Vec<u8>),
    /// Too much of anything else.
    Noise,
}

struct Guest {
    inquiry: Inquiry,
    /// Whether it greeted with what was said on another line.
    replayed: bool,
}

impl Guest {
    async fn listen(&mut self, stream: &mut TcpStream, callers: &Callers) -> io::Result<Heard> {
        // Acknowledgements are small and waited for.
        stream.set_nodelay(true)?;
        let request = self.request();
        let mut asks = interval(ASK_AGAIN);
        let mut piece = [0; PIECE];
        let mut room = MOST_BYTES;
        loop {
            let len = tokio::select! {
                _ = asks.tick() => {
                    stream.write_all(&request).await?;
                    continue;
                }
                len = stream.read(&mut piece) => len?,
            };
            let mut bytes = match piece.get(..len) {
                None | Some([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(bytes) => bytes,
            };
            room = match room.checked_sub(len) {
                Some(room) => room,
                None => return Ok(Heard::Noise),
            };
            while let Some(answer) = self.inquiry.receive(&mut bytes, |it| callers.judge(it)) {
                match answer {
                    Answer::Greeted(judged) => return Ok(Heard::Greeting(judged, bytes.to_vec())),
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
