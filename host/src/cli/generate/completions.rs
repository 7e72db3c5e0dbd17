//! `gleaner generate completions`: shell completions.

use std::process::ExitCode;

use clap_complete::Shell;

/// Print a script that completes gleaner's commands in a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
    bash:       gleaner generate completions bash > ~/.local/share/bash-completion/completions/gleaner\n\
    zsh:        gleaner generate completions zsh > DIR/_gleaner, where DIR is one of $fpath\n\
    fish:       gleaner generate completions fish > ~/.config/fish/completions/gleaner.fish\n\
    powershell: gleaner generate completions powershell >> $PROFILE\n\
    elvish:     gleaner generate completions elvish >> ~/.config/elvish/rc.elv")]
pub struct Args {
    /// Shell to generate the script for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs `gleaner generate completions`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // The generator panics on a closed pipe, so it writes to memory first.
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
