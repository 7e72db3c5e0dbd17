//! `gleaner selftest`: checks folders of test vectors.

use std::path::PathBuf;
use std::process::ExitCode;

use gleaner_check::vectors;

/// Check every test vector of a folder.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder with vector files (*.json).
    #[arg(long, value_name = "DIR")]
    vectors: PathBuf,
}

/// Prints per file `passed/total`, how many values that are, the worst relative error of those in
/// double precision, and the worst error of any as a part of what is allowed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let reports = vectors::check_folder(&args.vectors)?;
    outln!(
        "{:<18} {:>9} {:>7}  worst relative (f64)  of tolerance",
        "kind",
        "passed",
        "values"
    );
    for report in &reports {
        let score = format!("{}/{}", report.passed, report.total);
        outln!(
            "{:<18} {score:>9} {:>7}  {:<20.1e}  {:.0} %",
            report.kind,
            report.values,
            report.worst,
            100.0 * report.used
        );
    }
    let mut failures = reports
        .iter()
        .flat_map(|report| &report.failures)
        .peekable();
    if failures.peek().is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    for failure in failures {
        errln!("failed: {failure}");
    }
    Ok(ExitCode::FAILURE)
}
