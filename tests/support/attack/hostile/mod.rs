//! Hostile peers on a line to a base station: strangers that know no key, and boards that know
//! their own and misuse it.

mod insider;
mod stranger;

use std::fmt;
use std::io;
use std::time::Duration;

use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::Timing;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

pub(super) use insider::Insider;
use stranger::Stranger;

/// Frames that a hostile peer sends in one burst.
const BURST: usize = 64;

/// How a peer misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Refuses the session, with ever new versions.
    Refusals,
    /// Announces itself again and again.
    Announces,
    /// Sends a frame that never ends.
    Endless,
    /// Sends random bytes without pause.
    Garbage,
    /// Greets with another key.
    Greetings,
    /// Hangs up as soon as it is called.
    Reconnects,
    /// Opens one session after the other.
    Sessions,
    /// Sends progress messages without pause.
    Progress,
    /// Reports on its order and on others.
    Reports,
    /// Offers transfers of absurd sizes.
    Offers,
    /// Says what it is, in escape characters.
    Abouts,
    /// Says that it has a ledger nobody can have.
    Ledgers,
    /// Offers updates whose bytes do not have their hash.
    Hashes,
    /// Sends nacks and pings without pause.
    Pings,
    /// Pings and never reads.
    Deaf,
    /// Accepts every order and never reports.
    Idle,
}

impl Attack {
    /// Every attack, in order.
    pub const ALL: [Self; 16] = [
        Self::Refusals,
        Self::Announces,
        Self::Endless,
        Self::Garbage,
        Self::Greetings,
        Self::Reconnects,
        Self::Sessions,
        Self::Progress,
        Self::Reports,
        Self::Offers,
        Self::Abouts,
        Self::Ledgers,
        Self::Hashes,
        Self::Pings,
        Self::Deaf,
        Self::Idle,
    ];

    /// Attacks over one line until it closes; `number` is the client whose place it takes.
    ///
    /// # Errors
    /// How the line ended, other than by closing.
    pub async fn serve(
        self,
        line: impl AsyncRead + AsyncWrite,
        number: u32,
        key: Key,
        timing: Timing,
    ) -> io::Result<()> {
        match self {
            Self::Refusals
            | Self::Announces
            | Self::Endless
            | Self::Garbage
            | Self::Greetings
            | Self::Reconnects => drive(line, &mut Stranger::new(self, number)).await,
            _ => drive(line, &mut Insider::new(self, number, key, timing)).await,
        }
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Refusals => "refusals of new versions, no key",
            Self::Announces => "announces, no key",
            Self::Endless => "a frame without end, no key",
            Self::Garbage => "random bytes, no key",
            Self::Greetings => "greetings of another key",
            Self::Reconnects => "hangs up when called",
            Self::Sessions => "one session after the other",
            Self::Progress => "progress without end",
            Self::Reports => "reports without end",
            Self::Offers => "offers of absurd sizes",
            Self::Abouts => "escape characters without end",
            Self::Ledgers => "impossible ledgers",
            Self::Hashes => "updates of another hash",
            Self::Pings => "nacks and pings",
            Self::Deaf => "pings, and never reads",
            Self::Idle => "accepts orders, never reports",
        })
    }
}

/// Behaviour of a hostile peer on a line.
pub(super) trait Enemy {
    /// Receives bytes from the base station.
    fn hear(&mut self, bytes: &[u8]);

    /// Appends the bytes to send next; none means to wait.
    fn speak(&mut self, line: &mut Vec<u8>);

    /// Tells whether the peer closes this line.
    fn hangs_up(&self) -> bool {
        false
    }

    /// Tells whether the peer stops reading.
    fn is_deaf(&self) -> bool {
        false
    }

    /// Returns the pause before the next message when there is none to send.
    fn pause(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// Connects a hostile peer to a line until one of the two closes.
///
/// # Errors
/// How the line ended, other than by closing.
pub(super) async fn drive(
    line: impl AsyncRead + AsyncWrite,
    enemy: &mut impl Enemy,
) -> io::Result<()> {
    let (mut read, mut write) = tokio::io::split(line);
    let mut piece = [0; 4096];
    let (mut pending, mut written) = (Vec::new(), 0);
    while !enemy.hangs_up() {
        if written == pending.len() {
            pending.clear();
            written = 0;
            enemy.speak(&mut pending);
        }
        let rest = &pending[written..];
        tokio::select! {
            len = read.read(&mut piece), if !enemy.is_deaf() => match len? {
                0 => return Ok(()),
                len => enemy.hear(&piece[..len]),
            },
            len = write.write(rest), if !rest.is_empty() => written += len?,
            () = sleep(enemy.pause()), if rest.is_empty() => {}
        }
    }
    Ok(())
}
