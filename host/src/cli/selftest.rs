//! `gleaner selftest`: checks folders of test vectors.

use std::path::PathBuf;
use std::process::ExitCode;

use gleaner_host::study::vectors;

/// Check every test vector of a folder.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder with vector files (*.json).
    #[arg(long, value_name = "DIR")]
    vectors: PathBuf,
}

/// Prints per file `passed/total` and the worst relative error.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let reports = vectors::check_folder(&args.vectors)?;
    println!("{:<18} {:>9}  worst relative error", "kind", "passed");
    for report in &reports {
        let score = format!("{}/{}", report.passed, report.total);
        println!("{:<18} {score:>9}  {:.1e}", report.kind, report.worst);
    }
    let mut failures = reports
        .iter()
        .flat_map(|report| &report.failures)
        .peekable();
    if failures.peek().is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    for failure in failures {
        eprintln!("failed: {failure}");
    }
    Ok(ExitCode::FAILURE)
}
