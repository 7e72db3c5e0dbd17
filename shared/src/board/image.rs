//! The programs built for a board, and the cargo arguments that build each of them.

use core::fmt;

use super::row::Board;

/// A program of the firmware crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Program {
    Client,
    /// The client with log records over RTT, which take flash and some time.
    LoggingClient,
    /// Trains small networks, prints their fingerprint and counts the cycles of a frame.
    SelfTest,
    /// The client with the board's example application.
    App,
}

impl Program {
    /// Returns the option of `cargo xtask firmware BOARD` that builds the program.
    #[must_use]
    pub const fn option(self) -> Option<&'static str> {
        match self {
            Self::Client => None,
            Self::LoggingClient => Some("--logs"),
            Self::SelfTest => Some("--selftest"),
            Self::App => Some("--app"),
        }
    }

    /// Returns the cargo profile that the program is built with.
    #[must_use]
    pub const fn profile(self) -> &'static str {
        match self {
            Self::LoggingClient => "firmware-logs",
            Self::Client | Self::SelfTest | Self::App => "firmware",
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Client | Self::LoggingClient => "",
            Self::SelfTest => "selftest-",
            Self::App => "app-",
        }
    }
}

/// One program of one board.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a>(pub &'a Board, pub Program);

impl Image<'_> {
    /// Returns cargo's arguments after `build --target <triple>`, separated by single spaces.
    pub fn arguments(&self) -> impl fmt::Display {
        let Self(board, program) = *self;
        fmt::from_fn(move |f| {
            let (name, profile) = (board.name, program.profile());
            write!(
                f,
                "--locked --package gleaner-firmware --profile {profile} --no-default-features \
                 --features board-{name}"
            )?;
            match program {
                Program::LoggingClient => f.write_str(",defmt")?,
                // The application's ring of samples takes the RAM of the second core.
                Program::App if board.cores > 1 => f.write_str(",one-core")?,
                _ => {}
            }
            write!(f, " --bin {}{name}", program.prefix())
        })
    }

    /// Returns the image's path inside the folder that cargo writes to.
    pub fn path(&self) -> impl fmt::Display {
        let Self(board, program) = *self;
        fmt::from_fn(move |f| {
            let (profile, prefix) = (program.profile(), program.prefix());
            write!(f, "{}/{profile}/{prefix}{}", board.triple, board.name)
        })
    }
}

/// Writes the command that builds the image, for messages: `cargo xtask firmware rp2040 --logs`.
impl fmt::Display for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cargo xtask firmware {}", self.0.name)?;
        self.1.option().map_or(Ok(()), |it| write!(f, " {it}"))
    }
}
