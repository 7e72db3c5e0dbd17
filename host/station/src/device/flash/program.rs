//! Reads a program's ELF file and checks that it fits a board.

use std::path::Path;

use object::elf::{EM_ARM, FileHeader32, PT_LOAD, Sym32};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{LittleEndian, elf};

use super::FlashError;
use super::target::Part;
use crate::device::Board;
use crate::device::image::Program;

/// `Tag_CPU_arch` of the ARM build attributes (ARM IHI 0045, 3.3.5.2).
const TAG_CPU_ARCH: u64 = 6;
const ARMV7E_M: u64 = 13;

/// Reads an ELF file and checks that it fits a board: instructions and addresses.
///
/// # Errors
/// Names the file and the problem.
pub fn read(path: &Path, board: Board) -> Result<Part, FlashError> {
    let command = board.build_command(Program::Client);
    let file = std::fs::read(path).map_err(|source| FlashError::File {
        path: path.to_owned(),
        source,
        command: command.clone(),
    })?;
    let path = path.to_owned();
    let content = match content(&file) {
        Ok(content) => content,
        Err(what) => {
            return Err(FlashError::Format {
                path,
                what,
                command,
            });
        }
    };
    if content.needs_m4 && !board.row().core.runs_m4_code {
        return Err(FlashError::WrongCore {
            path,
            board,
            command,
        });
    }
    let (start, end) = (content.address, content.end());
    let flash = board.program_flash();
    if start < flash.start || end > u64::from(flash.end) {
        return Err(FlashError::WrongMemory {
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
        return Err(FlashError::OtherBoard {
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
    /// Address of the keys, if the program is the client.
    keys: Option<u32>,
}

impl Content<'_> {
    fn end(&self) -> u64 {
        let ends = self.segments.iter();
        let ends = ends.map(|&(start, bytes)| u64::from(start) + bytes.len() as u64);
        ends.max().unwrap_or(0)
    }

    /// Returns all bytes from the first address; gaps are filled with ones, as in erased flash.
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
        address: address.ok_or("it has nothing to flash")?,
        segments,
        needs_m4: architecture(header, file).is_some_and(|number| number >= ARMV7E_M),
        keys: symbol(header, file, b"_keys_start"),
    })
}

/// Returns the address of a symbol, if the file has it.
fn symbol(header: &FileHeader32<LittleEndian>, file: &[u8], name: &[u8]) -> Option<u32> {
    let sections = header.sections(LittleEndian, file).ok()?;
    let symbols = sections.symbols(LittleEndian, file, elf::SHT_SYMTAB).ok()?;
    let is_it = |it: &&Sym32<LittleEndian>| symbols.symbol_name(LittleEndian, *it) == Ok(name);
    let found = symbols.iter().find(is_it)?;
    Some(found.st_value(LittleEndian))
}

/// Returns the architecture in the build attributes, if it is there.
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
