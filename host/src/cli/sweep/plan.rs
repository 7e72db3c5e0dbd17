//! `gleaner sweep plan`: the list of points, for workers to take them from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use gleaner_experiment::batch::Plan;
use gleaner_experiment::sweep::Sweep;
use gleaner_sim::report::counted;
use gleaner_sim::run::RunDirectory;

/// Which sweep.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The sweep file.
    file: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Where a sweep goes.
#[derive(Debug, clap::Args)]
pub struct PlaceArgs {
    /// Directory of the sweep; by default runs/ and the name of the file.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on in a directory that exists already, also with a sweep that was widened: only what is
    /// missing there is run.
    #[arg(long)]
    resume: bool,
}

impl PlaceArgs {
    fn plan(&self, file: &Path) -> anyhow::Result<(PathBuf, Plan)> {
        let points = Sweep::read(file)?
            .points()
            .with_context(|| file.display().to_string())?;
        let stem = file.file_stem().unwrap_or_default();
        let out = self.out.clone();
        let dir = out.unwrap_or_else(|| PathBuf::from("runs").join(stem));
        Ok((dir, Plan::new(points, true)))
    }

    /// Writes the plan of a sweep file to its directory for this process to carry out.
    ///
    /// # Errors
    /// A wrong sweep file, or a directory that has something already and no --resume.
    pub fn take(&self, file: &Path) -> anyhow::Result<(PathBuf, Plan)> {
        let (dir, plan) = self.plan(file)?;
        if self.resume {
            plan.replace(&dir)?;
        } else if RunDirectory::new(&dir).is_vacant() {
            plan.write(&dir)?;
        } else {
            bail!(
                "{} is not empty; add --resume to run only what is missing there, or choose \
                 another --out",
                dir.display()
            );
        }
        Ok((dir, plan))
    }
}

/// Writes the plan and says what to do with it.
///
/// # Errors
/// A wrong sweep file, or a directory that has another plan and no --resume.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (dir, plan) = args.place.plan(&args.file)?;
    match args.place.resume {
        true => plan.replace(&dir)?,
        // Whoever plans the same again has what was asked for.
        false => plan.write(&dir)?,
    }
    let (points, dir) = (plan.points().len(), dir.display());
    outln!("{dir}");
    errln!(
        "{}, numbered from 0: `gleaner sweep point {dir} N` makes one, `gleaner sweep gather {dir}` \
         the table",
        counted(points, "point"),
    );
    Ok(ExitCode::SUCCESS)
}
