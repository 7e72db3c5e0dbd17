//! An emulated board whose process can be killed and restarted behind one fixed address.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gleaner_station::device::Board;
use gleaner_station::device::emulator::EmulatorError;
use gleaner_station::device::emulator::machine::Machine;

/// A board whose emulator can be killed and restarted.
pub struct RestartableBoard {
    board: Board,
    shard: PathBuf,
    machine: Option<Machine>,
    address: SocketAddr,
    /// Address of the running emulator's line.
    line: Arc<Mutex<Option<SocketAddr>>>,
}

impl RestartableBoard {
    /// Starts a board with the shard in a file.
    ///
    /// # Errors
    /// Names what is missing.
    ///
    /// # Panics
    /// When the system has no port to give.
    pub fn start(board: Board, shard: &Path) -> Result<Self, EmulatorError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let line = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&line);
        // The thread ends with this process.
        std::thread::spawn(move || relay(&listener, &seen));
        let mut board_process = Self {
            board,
            shard: shard.to_owned(),
            machine: None,
            address,
            line,
        };
        board_process.restart()?;
        Ok(board_process)
    }

    /// Returns the address, which restarts do not change.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills the emulator's process: RAM and bytes on the line are lost.
    pub fn kill(&mut self) {
        self.point_to(None);
        self.machine = None;
    }

    /// Starts the emulator again, from the image and the shard.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&mut self) -> Result<(), EmulatorError> {
        let machine = Machine::start(self.board, &self.shard)?;
        self.point_to(Some(machine.link()));
        self.machine = Some(machine);
        Ok(())
    }

    fn point_to(&self, line: Option<SocketAddr>) {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}

/// Connects callers to the running emulator; without one the connection is closed.
fn relay(listener: &TcpListener, line: &Mutex<Option<SocketAddr>>) {
    for caller in listener.incoming().flatten() {
        let target = *line.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(board) = target.and_then(|target| TcpStream::connect(target).ok()) else {
            continue;
        };
        for (from, to) in [(&caller, &board), (&board, &caller)] {
            let _ = to.set_nodelay(true);
            if let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) {
                std::thread::spawn(move || copy(from, to));
            }
        }
    }
}

/// Copies until one side closes, then closes both.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = [0; 4096];
    while let Ok(len @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..len]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
