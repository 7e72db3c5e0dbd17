//! A program's file: what it puts into flash, and whether that is the flash of a given board.

use std::path::{Path, PathBuf};

use object::elf::{EM_ARM, FileHeader32, PT_LOAD, Sym32};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{LittleEndian, elf};

use super::target::Part;
use crate::device::Board;
use crate::device::image::Program;

/// `Tag_CPU_arch` of the ARM build attributes (ARM IHI 0045, 3.3.5.2).
const TAG_CPU_ARCH: u64 = 6;
const ARMV7E_M: u64 = 13;

/// Why a file cannot be flashed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The file cannot be read.
    #[error("{}: {source}; `{command}` builds the client", path.display())]
    File {
        /// The program's file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// What builds one.
        command: String,
    },
    /// It is not a program for a microcontroller.
    #[error("{}: {what}; `{command}` builds the client", path.display())]
    Format {
        /// The program's file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
        /// What builds a right one.
        command: String,
    },
    /// It was linked for other memory.
    #[error(
        "{}: {start:#010x} to {end:#010x} is not the program flash of an {board}, {} to {}; \
         `{command}` builds the client for it",
        path.display(),
        Hex(board.program_flash().start),
        Hex(board.program_flash().end)
    )]
    WrongMemory {
        /// The program's file.
        path: PathBuf,
        /// The board it should fit.
        board: Board,
        /// Its first address.
        start: u32,
        /// The address after its last.
        end: u64,
        /// What builds a right one.
        command: String,
    },
    /// It was linked for a board of the same addresses with another flash.
    #[error(
        "{}: built for another board: it keeps keys at {keys:#010x}, an {board} at {}; `{command}` \
         builds the client for it",
        path.display(),
        Hex(board.row().built.keys().start)
    )]
    OtherBoard {
        /// The program's file.
        path: PathBuf,
        /// The board it should fit.
        board: Board,
        /// Where it keeps its keys.
        keys: u32,
        /// What builds a right one.
        command: String,
    },
    /// It has instructions that the board does not have.
    #[error(
        "{}: compiled for a Cortex-M4 or larger, but an {board} is a {}; `{command}` builds the \
         client for it",
        path.display(),
        board.row().core.title
    )]
    WrongCore {
        /// The program's file.
        path: PathBuf,
        /// The board it should fit.
        board: Board,
        /// What builds a right one.
        command: String,
    },
}

/// An address in an error.
struct Hex(u32);

impl std::fmt::Display for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// Reads an ELF file and checks that it fits a board: instructions and addresses.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn read(path: &Path, board: Board) -> Result<Part, ProgramError> {
    let command = board.build_command(Program::Client);
    let file = std::fs::read(path).map_err(|source| ProgramError::File {
        path: path.to_owned(),
        source,
        command: command.clone(),
    })?;
    let path = path.to_owned();
    let content = match content(&file) {
        Ok(content) => content,
        Err(what) => {
            return Err(ProgramError::Format {
                path,
                what,
                command,
            });
        }
    };
    if content.needs_m4 && !board.row().core.runs_m4_code {
        return Err(ProgramError::WrongCore {
            path,
            board,
            command,
        });
    }
    let (start, end) = (content.address, content.end());
    let flash = board.program_flash();
    if start < flash.start || end > u64::from(flash.end) {
        return Err(ProgramError::WrongMemory {
            path,
            board,
            start,
            end,
            command,
        });
    }
    if let Some(keys) = content.keys
        && keys != board.row().built.keys().start
    {
        return Err(ProgramError::OtherBoard {
            path,
            board,
            keys,
            command,
        });
    }
    Ok(Part {
        what: "firmware",
        address: start,
        bytes: content.merge(),
    })
}

/// The loadable parts of a program.
struct Content<'a> {
    address: u32,
    segments: Vec<(u32, &'a [u8])>,
    needs_m4: bool,
    /// Where our client keeps its keys, if it is our client.
    keys: Option<u32>,
}

impl Content<'_> {
    fn end(&self) -> u64 {
        let ends = self.segments.iter();
        let ends = ends.map(|&(start, bytes)| u64::from(start) + bytes.len() as u64);
        ends.max().unwrap_or(0)
    }

    /// Returns all bytes from the first address on; gaps are ones, as in erased flash.
    fn merge(&self) -> Vec<u8> {
        let mut merged = vec![0xFF; (self.end() - u64::from(self.address)) as usize];
        for &(start, bytes) in &self.segments {
            let at = (start - self.address) as usize;
            merged[at..at + bytes.len()].copy_from_slice(bytes);
        }
        merged
    }
}

fn content(file: &[u8]) -> Result<Content<'_>, &'static str> {
    const NOT_ELF: &str = "not a 32-bit little-endian ELF file";
    const CUT_OFF: &str = "the ELF file is cut off";
    let little = LittleEndian;
    let header = FileHeader32::<LittleEndian>::parse(file).map_err(|_| NOT_ELF)?;
    if header.e_ident().data != elf::ELFDATA2LSB {
        return Err(NOT_ELF);
    }
    if header.e_machine(little) != EM_ARM {
        return Err("not a program for ARM");
    }
    let mut segments = Vec::new();
    for segment in header.program_headers(little, file).map_err(|_| CUT_OFF)? {
        let bytes = segment.data(little, file).map_err(|()| CUT_OFF)?;
        if segment.p_type(little) == PT_LOAD && !bytes.is_empty() {
            segments.push((segment.p_paddr(little), bytes));
        }
    }
    let address = segments.iter().map(|&(address, _)| address).min();
    Ok(Content {
        address: address.ok_or("nothing to flash in it")?,
        segments,
        needs_m4: architecture(header, file).is_some_and(|number| number >= ARMV7E_M),
        keys: symbol(header, file, b"_keys_start"),
    })
}

/// Returns the address of a symbol, if the linker left it.
fn symbol(header: &FileHeader32<LittleEndian>, file: &[u8], name: &[u8]) -> Option<u32> {
    let sections = header.sections(LittleEndian, file).ok()?;
    let symbols = sections.symbols(LittleEndian, file, elf::SHT_SYMTAB).ok()?;
    let is_it = |it: &&Sym32<LittleEndian>| symbols.symbol_name(LittleEndian, *it) == Ok(name);
    let found = symbols.iter().find(is_it)?;
    Some(found.st_value(LittleEndian))
}

/// Returns the architecture the compiler noted, if it did.
fn architecture(header: &FileHeader32<LittleEndian>, file: &[u8]) -> Option<u64> {
    let sections = header.sections(LittleEndian, file).ok()?;
    let section = sections
        .iter()
        .find(|section| section.sh_type(LittleEndian) == elf::SHT_ARM_ATTRIBUTES)?;
    let attributes = section.attributes(LittleEndian, file).ok()?;
    let mut subsections = attributes.subsections().ok()?;
    while let Some(subsection) = subsections.next().ok()? {
        let mut scopes = subsection.subsubsections();
        while let Some(scope) = scopes.next().ok()? {
            let mut reader = scope.attributes();
            while let Some(tag) = reader.read_tag().ok()? {
                match tag {
                    TAG_CPU_ARCH => return reader.read_integer().ok(),
                    // Names of the CPU and notes to the linker are text, the rest numbers.
                    4 | 5 | 65 | 67 => drop(reader.read_string().ok()?),
                    32 => {
                        reader.read_integer().ok()?;
                        reader.read_string().ok()?;
                    }
                    _ => drop(reader.read_integer().ok()?),
                }
            }
        }
    }
    None
}
