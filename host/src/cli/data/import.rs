//! `gleaner data import`: a user's files become a data set that scenarios can name.

use std::path::PathBuf;

use anyhow::Context;
use clap::ArgGroup;
use indicatif::ProgressBar;

use super::Bar;
use gleaner_learn::data::cache;
use gleaner_learn::data::import::{self, Imported, Input, Options, Scaling, Testing};
use gleaner_learn::digest::hexadecimal;

/// What to import, and how.
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("input").required(true).args(["csv", "npy", "npz", "wav"]),
    group = ArgGroup::new("testing").args(["test_share", "test_clients", "split_column"]),
    after_help = "A scenario names the set: --set data.dataset=NAME. With --client-column also \
                  --set partition.rule=natural: every client has the samples it gathered.\n\nExample: a \
                  table with the columns time, ax, ay, az, activity and person, one row per reading:\n  \
                  gleaner data import watch --csv watch.csv --label-column activity --client-column \
                  person --ignore time --window 32 --stride 16\n\ndocs/guide/own-data.md goes on from there."
)]
pub struct Args {
    /// What to call it: lower-case letters, digits, `-` and `_`.
    name: String,
    /// A table: the first line names the columns, every other is a row of numbers; `-` is the
    /// standard input.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// An array of NumPy: (samples, features) or (samples, steps, columns).
    #[arg(long, value_name = "X.npy", requires = "labels")]
    npy: Option<PathBuf>,
    /// Labels of `--npy`: whole numbers or texts.
    #[arg(long, value_name = "Y.npy", requires = "npy")]
    labels: Option<PathBuf>,
    /// An archive of such arrays: labels (`--label-column`), clients (`--client-column`), features.
    #[arg(long, value_name = "FILE")]
    npz: Option<PathBuf>,
    /// A folder of sounds, CLASS/FILE.wav or CLIENT/CLASS/FILE.wav; a row is the loudness of 16
    /// bands in a frame of some 32 ms.
    #[arg(long, value_name = "DIR")]
    wav: Option<PathBuf>,
    /// The column with the labels, or the array of an archive.
    #[arg(long, value_name = "L", default_value = "label")]
    label_column: String,
    /// The column that says whose a row is, the array of an archive, or a file beside `--npy`.
    #[arg(long, value_name = "C")]
    client_column: Option<String>,
    /// A column that changes where a new recording begins; no window reaches over it.
    #[arg(long, value_name = "R")]
    session_column: Option<String>,
    /// Columns that are left out.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    ignore: Vec<String>,
    /// The first line is a row; columns are called 1, 2, 3 and so on.
    #[arg(long)]
    no_header: bool,
    /// What separates cells.
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
    /// The classes in their order; other labels are refused [default: those that occur, sorted].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    classes: Vec<String>,
    /// Rows of a window: a sample is so many rows of one label, client and session.
    #[arg(long, value_name = "N", default_value_t = 1)]
    window: usize,
    /// Rows from one window to the next [default: those of a window].
    #[arg(long, value_name = "M")]
    stride: Option<usize>,
    /// Leave out stretches of rows shorter than a window instead of refusing them.
    #[arg(long)]
    skip_short: bool,
    /// How values become bytes: `auto` (each column by its training values), `common` (all columns
    /// alike) or a table `column,scale,offset` as `gleaner data info --scale` prints it.
    #[arg(long, value_name = "auto|common|FILE", default_value = "auto")]
    scale: String,
    /// Share of the windows of every client and class to test on: the last of each stretch of rows,
    /// cut off before windows are made [default: 0.2].
    #[arg(long, value_name = "SHARE")]
    test_share: Option<f64>,
    /// Test on all samples of these clients, and of no others.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    test_clients: Vec<String>,
    /// A column that says `train` or `test` of every row.
    #[arg(long, value_name = "S")]
    split_column: Option<String>,
    /// What it is, whose, and under which licence; kept in the set.
    #[arg(long, value_name = "TEXT", default_value = "")]
    about: String,
    /// Replace a set of the same name.
    #[arg(long)]
    force: bool,
    /// Folder for the set; a scenario then also says data.directory [default: the data cache].
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match *text.as_bytes() {
        _ if text == "\\t" => Ok(b'\t'),
        [byte] if !b"\"\r\n.-+".contains(&byte) && !byte.is_ascii_alphanumeric() => Ok(byte),
        _ => Err("one character is expected, `;` or `\\t` say".to_owned()),
    }
}

impl Args {
    fn options(&self) -> anyhow::Result<Options> {
        let inputs = [
            self.csv.clone().map(Input::Csv),
            self.npz.clone().map(Input::Npz),
            self.wav.clone().map(Input::Wav),
            self.npy
                .clone()
                .zip(self.labels.clone())
                .map(|(features, labels)| Input::Npy { features, labels }),
        ];
        let input = inputs.into_iter().flatten().next();
        let input = input.context("say --csv, --npz, --npy or --wav")?;
        let testing = match (&self.split_column, self.test_share) {
            (Some(column), _) => Testing::Column(column.clone()),
            _ if !self.test_clients.is_empty() => Testing::Clients(self.test_clients.clone()),
            (_, Some(share)) => Testing::Share(share),
            _ => Options::new(input.clone()).testing,
        };
        Ok(Options {
            label: self.label_column.clone(),
            client: self.client_column.clone(),
            session: self.session_column.clone(),
            ignore: self.ignore.clone(),
            no_header: self.no_header,
            delimiter: self.delimiter,
            classes: self.classes.clone(),
            window: self.window,
            stride: self.stride.unwrap_or(self.window),
            skip_short: self.skip_short,
            scaling: match self.scale.as_str() {
                "auto" => Scaling::Auto,
                "common" => Scaling::Common,
                file => Scaling::File(file.into()),
            },
            testing,
            force: self.force,
            about: self.about.clone(),
            ..Options::new(input)
        })
    }
}

/// Runs `gleaner data import`.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let options = args.options()?;
    let directory = match &args.to {
        Some(directory) => directory.clone(),
        None => cache::directory()?.join(&args.name),
    };
    let mut bar = Bar(ProgressBar::hidden());
    let imported = import::import(&args.name, &options, &directory, &mut bar)?;
    bar.0.finish_and_clear();
    let Imported {
        header,
        digest,
        straddling,
        short,
        clipped,
    } = imported;
    outln!(
        "{}: {} training and {} test samples of {} inputs, {} classes, in {}",
        header.name,
        header.train,
        header.test,
        header.inputs(),
        header.classes.len(),
        directory.display()
    );
    outln!("SHA-256 {}", hexadecimal(&digest));
    if clipped > 0.0 {
        outln!(
            "{:.2} % of the values lie beyond the scale and became its ends",
            100.0 * clipped
        );
    }
    if straddling > 0 {
        outln!(
            "{straddling} windows lie on both sides of the cut between training and test: left out"
        );
    }
    if short > 0 {
        outln!("{short} stretches are shorter than a window: left out");
    }
    let place = args.to.as_ref().map_or(String::new(), |directory| {
        format!(" --set data.directory={}", directory.display())
    });
    let natural = match header.clients.len() {
        0 => String::new(),
        _ => {
            let tested = args.test_clients.len();
            let clients = header.clients.len() - tested;
            format!(" --set partition.rule=natural --set clients.count={clients}")
        }
    };
    outln!(
        "gleaner simulate --set data.dataset={}{place}{natural}",
        header.name
    );
    Ok(())
}
