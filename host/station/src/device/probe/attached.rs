//! A chip behind a probe: access to its memory, flash and reset.

use std::collections::HashMap;
use std::fmt;

use probe_rs::flashing::{DownloadOptions, FlashProgress, ProgressEvent, ProgressOperation};
use probe_rs::probe::DebugProbeInfo;
use probe_rs::probe::list::Lister;
use probe_rs::{MemoryInterface, Permissions, Session};

use super::{ProbeError, choose};
use crate::device::Board;
use crate::device::flash::silicon::{Identity, identify};
use crate::device::flash::target::{Fault, Memory, Part, Step, Target, Watch};

/// The core that runs the firmware.
const CORE: usize = 0;

/// A chip that a probe is attached to.
pub struct Attached {
    session: Session,
    probe: String,
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached")
            .field("probe", &self.probe)
            .field("target", &self.session.target().name)
            .finish()
    }
}

impl Attached {
    /// Attaches to the running chip of a board, through the selected probe or the only one.
    ///
    /// # Errors
    /// Returns an error if there is no such probe, or no such chip behind it.
    pub fn to(lister: &Lister, probe: Option<&str>, board: Board) -> Result<Self, ProbeError> {
        let target = board.row().built.probe_target;
        let target = target.ok_or(ProbeError::Emulated(board))?;
        let info = choose(lister, probe)?;
        let probe = info.to_string();
        let opened = info.open().map_err(|error| ProbeError::Busy {
            probe: probe.clone(),
            fault: Fault::from_error(&error),
        })?;
        let attached = opened.attach(target, Permissions::default());
        match attached.map(|session| Self { session, probe }) {
            Ok(mut attached) => match attached.identity() {
                Ok(found) if found.board == Some(board) => Ok(attached),
                Ok(found) => Err(ProbeError::WrongChip {
                    probe: attached.probe,
                    expected: board,
                    found,
                }),
                Err(fault) => Err(ProbeError::Silent {
                    probe: attached.probe,
                    board,
                    fault,
                }),
            },
            Err(error) => Err(Self::explain(&info, board, &error)),
        }
    }

    /// Returns the error, with the board that is there instead if it is a supported one.
    fn explain(info: &DebugProbeInfo, board: Board, error: &probe_rs::Error) -> ProbeError {
        let probe = info.to_string();
        let others = Board::all().filter(|&other| other != board);
        for target in others.filter_map(|other| other.row().built.probe_target) {
            let opened = info.open().ok();
            let session = opened.and_then(|it| it.attach(target, Permissions::default()).ok());
            let Some(session) = session else { continue };
            let mut attached = Self {
                session,
                probe: probe.clone(),
            };
            if let Ok(found) = attached.identity() {
                return ProbeError::WrongChip {
                    probe,
                    expected: board,
                    found,
                };
            }
        }
        ProbeError::Silent {
            probe,
            board,
            fault: Fault::from_error(error),
        }
    }

    /// Reads the identity of the chip.
    ///
    /// # Errors
    /// Returns an error if the chip does not answer.
    pub fn identity(&mut self) -> Result<Identity, Fault> {
        identify(self)
    }

    /// Returns name and USB numbers of the probe.
    #[must_use]
    pub fn probe(&self) -> &str {
        &self.probe
    }
}

fn fault<E: std::error::Error>(error: E) -> Fault {
    Fault::from_error(&error)
}

impl Memory for Attached {
    fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        let mut core = self.session.core(CORE).map_err(fault)?;
        match bytes {
            // Device registers are read with their own width.
            [_, _, _, _] if address.is_multiple_of(4) => {
                let word = core.read_word_32(address.into()).map_err(fault)?;
                bytes.copy_from_slice(&word.to_le_bytes());
                Ok(())
            }
            _ => core.read(address.into(), bytes).map_err(fault),
        }
    }

    fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
        let mut core = self.session.core(CORE).map_err(fault)?;
        core.write(address.into(), bytes).map_err(fault)
    }
}

impl Target for Attached {
    fn program(&mut self, part: &Part, watch: &mut dyn Watch) -> Result<(), Fault> {
        let mut loader = self.session.target().flash_loader();
        loader
            .add_data(part.address.into(), &part.bytes)
            .map_err(fault)?;
        let mut totals = HashMap::new();
        let mut options = DownloadOptions::default();
        options.verify = true;
        options.progress = FlashProgress::new(|event| match event {
            ProgressEvent::AddProgressBar { operation, total } => {
                if let Some(step) = step(operation) {
                    totals.insert(step, total.unwrap_or(part.bytes.len() as u64));
                }
            }
            ProgressEvent::Started(operation) => {
                if let Some(step) = step(operation) {
                    watch.begin(part, step, totals.get(&step).copied().unwrap_or(0));
                }
            }
            ProgressEvent::Progress {
                operation, size, ..
            } if step(operation).is_some() => watch.advance(size),
            _ => {}
        });
        loader.commit(&mut self.session, options).map_err(fault)
    }

    fn restart(&mut self) -> Result<(), Fault> {
        let mut core = self.session.core(CORE).map_err(fault)?;
        core.reset().map_err(fault)
    }
}

/// Returns the step to show; filling reads back partly written sectors, of which there are none.
const fn step(operation: ProgressOperation) -> Option<Step> {
    match operation {
        ProgressOperation::Erase => Some(Step::Erase),
        ProgressOperation::Program => Some(Step::Write),
        ProgressOperation::Verify => Some(Step::Verify),
        ProgressOperation::Fill => None,
    }
}
