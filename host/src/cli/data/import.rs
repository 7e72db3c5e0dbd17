//! `gleaner data import`: converts a user's files to a data set.

use std::path::PathBuf;

use anyhow::Context;
use clap::ArgGroup;
use indicatif::ProgressBar;

use super::Bar;
use gleaner_files::hexadecimal;
use gleaner_learn::data::cache;
use gleaner_learn::data::import::{self, Imported, Input, Options, Scaling, Testing};

/// Import a table, arrays or sounds as a data set.
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("input").required(true).args(["csv", "npy", "npz", "wav"]),
    group = ArgGroup::new("testing").args(["test_share", "test_clients", "split_column"]),
    after_help = "A scenario names the set: --set data.dataset=NAME. With --client-column also \
                  --set partition.rule=natural: every client has the samples it gathered.\n\nExample: a \
                  table with the columns time, ax, ay, az, activity and person, one row per reading:\n  \
                  gleaner data import watch --csv watch.csv --label-column activity --client-column \
                  person --ignore time --window 32 --stride 16\n\nSee docs/guide/own-data.md."
)]
pub struct Args {
    /// Name of the data set: lower-case letters, digits, `-` and `_`.
    name: String,
    /// CSV file: the first line names the columns, the others are rows of numbers; `-` reads standard
    /// input.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// NumPy array: (samples, features) or (samples, steps, columns).
    #[arg(long, value_name = "X.npy", requires = "labels")]
    npy: Option<PathBuf>,
    /// Labels of `--npy`: integers or strings.
    #[arg(long, value_name = "Y.npy", requires = "npy")]
    labels: Option<PathBuf>,
    /// NumPy archive with labels (`--label-column`), clients (`--client-column`) and features.
    #[arg(long, value_name = "FILE")]
    npz: Option<PathBuf>,
    /// Folder of sounds, CLASS/FILE.wav or CLIENT/CLASS/FILE.wav; a row holds the loudness of 16
    /// bands in a frame of about 32 ms.
    #[arg(long, value_name = "DIR")]
    wav: Option<PathBuf>,
    /// Column, or array of an archive, with the labels.
    #[arg(long, value_name = "L", default_value = "label")]
    label_column: String,
    /// Column, array of an archive, or file beside `--npy` with each row's client.
    #[arg(long, value_name = "C")]
    client_column: Option<String>,
    /// Column that changes where a new recording begins; windows do not cross recordings.
    #[arg(long, value_name = "R")]
    session_column: Option<String>,
    /// Columns to leave out.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Treat the first line as data; columns are named 1, 2, 3 and so on.
    #[arg(long)]
    no_header: bool,
    /// Character between the cells of a row.
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
    /// Classes in order; other labels are an error [default: labels that occur, sorted].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    classes: Vec<String>,
    /// Rows per window: a sample is this many rows of one label, client and recording.
    #[arg(long, value_name = "N", default_value_t = 1)]
    window: usize,
    /// Rows from one window to the next [default: rows per window].
    #[arg(long, value_name = "M")]
    stride: Option<usize>,
    /// Leave out runs of rows shorter than a window instead of failing.
    #[arg(long)]
    skip_short: bool,
    /// Scaling of values to bytes: `auto` (per column, by its training values), `common` (one scale
    /// for all) or a table `column,scale,offset` as printed by `gleaner data info --scale`.
    #[arg(long, value_name = "auto|common|FILE", default_value = "auto")]
    scale: String,
    /// Share of the windows of every client and class to test on: the last rows of each run, split
    /// off before windows are made [default: 0.2].
    #[arg(long, value_name = "SHARE")]
    test_share: Option<f64>,
    /// Test on all samples of these clients and no others.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    test_clients: Vec<String>,
    /// Column that holds `train` or `test` for every row.
    #[arg(long, value_name = "S")]
    split_column: Option<String>,
    /// Description, source and licence, stored in the set.
    #[arg(long, value_name = "TEXT", default_value = "")]
    about: String,
    /// Replace a set of the same name.
    #[arg(long)]
    force: bool,
    /// Folder for the set; the scenario then needs data.directory [default: the data cache].
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match *text.as_bytes() {
        _ if text == "\\t" => Ok(b'\t'),
        [byte] if !b"\"\r\n.-+".contains(&byte) && !byte.is_ascii_alphanumeric() => Ok(byte),
        _ => Err("give one character, for example `;` or `\\t`".to_owned()),
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
        let input = input.context("give --csv, --npz, --npy or --wav")?;
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
            "{:.2} % of the values are outside the scale and were clipped",
            100.0 * clipped
        );
    }
    if straddling > 0 {
        outln!("{straddling} windows span training and test rows and were left out");
    }
    if short > 0 {
        outln!("{short} runs of rows are shorter than a window and were left out");
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
