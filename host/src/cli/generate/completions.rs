//! `gleaner generate completions`: what a shell needs to complete our commands.

use std::process::ExitCode;

use clap_complete::Shell;

/// Which shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
    bash:       gleaner generate completions bash > ~/.local/share/bash-completion/completions/gleaner\n\
    zsh:        gleaner generate completions zsh > DIR/_gleaner, where DIR is one of $fpath\n\
    fish:       gleaner generate completions fish > ~/.config/fish/completions/gleaner.fish\n\
    powershell: gleaner generate completions powershell >> $PROFILE\n\
    elvish:     gleaner generate completions elvish >> ~/.config/elvish/rc.elv")]
pub struct Args {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // In memory first: the generator would take a reader that has gone for a fault of the program.
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut crate::cli::command(),
        "gleaner",
        &mut script,
    );
    out!("{}", String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
