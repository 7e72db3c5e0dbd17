//! `gleaner generate man`: manual pages, one for every command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap_mangen::Man;
use gleaner_files::write_atomically;

/// Print or write manual pages.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
    gleaner generate man | man -l -                      reads the page of the program\n\
    gleaner generate man --to ~/.local/share/man/man1    installs all of them: man gleaner-simulate")]
pub struct Args {
    /// Write the pages of all commands, as gleaner-COMMAND.1, into this folder; without it the
    /// page of the program is printed.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

/// Runs `gleaner generate man`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut program = crate::cli::command().disable_help_subcommand(true);
    // Gives every command its full name, `gleaner-energy-import`, and the options it inherits.
    program.build();
    let Some(folder) = &args.to else {
        out!("{}", String::from_utf8_lossy(&page(&program)?));
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let count = write(&program, folder)?;
    outln!("{count} pages in {}", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its subcommands; returns how many.
fn write(command: &clap::Command, folder: &Path) -> anyhow::Result<usize> {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    write_atomically(&folder.join(format!("{name}.1")), &page(command)?)?;
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    shown
        .map(|it| write(it, folder))
        .sum::<anyhow::Result<_>>()
        .map(|below: usize| 1 + below)
}

fn page(command: &clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
