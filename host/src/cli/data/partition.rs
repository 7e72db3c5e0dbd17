//! `gleaner data partition`: shows which client owns which samples.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::cli::word;
use gleaner_learn::data::{self, DatasetKind};
use gleaner_learn::partition::{self, Parameters, Plan, Rule, plot, table::Table, validation};
use gleaner_sim::scenario::{self, Scenario};

/// Show which client owns which samples.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name from `gleaner data list`, or a folder with the files of a set.
    #[arg(long, default_value_t = DatasetKind::MnistSubset.to_string())]
    data: String,
    /// Scheme that distributes labels over the clients.
    #[arg(long, default_value_t = defaults().rule, value_parser = word::parser::<Rule>())]
    scheme: Rule,
    /// Non-IID degree d of the scheme `paper`, a share in [0, 1].
    #[arg(long, default_value_t = defaults().non_iid_degree)]
    degree: f64,
    /// Concentration of the scheme `dirichlet`.
    #[arg(long, default_value_t = defaults().dirichlet_alpha)]
    alpha: f64,
    /// Pieces per client of the scheme `shards`.
    #[arg(long, default_value_t = defaults().shards_per_client)]
    shards: usize,
    /// Number of clients U.
    #[arg(long, default_value_t = Scenario::default().clients.count)]
    clients: usize,
    /// Mean of the clients' sample counts.
    #[arg(long, default_value_t = defaults().mean_samples)]
    mean: f64,
    /// Standard deviation of the clients' sample counts.
    #[arg(long, default_value_t = defaults().std_samples)]
    sigma: f64,
    /// Samples that no client owns, to validate models on.
    #[arg(long, value_name = "N", default_value_t = 0)]
    validation: usize,
    /// Seed of the run the split belongs to.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also draw the split into this file.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Returns the default partition of a scenario.
fn defaults() -> scenario::Partition {
    Scenario::default().partition
}

/// Runs `gleaner data partition`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let set = data::load(&args.data)?;
    let scheme = args.scheme.scheme(&Parameters {
        degree: args.degree,
        alpha: args.alpha,
        shards: args.shards,
    });
    let plan = Plan {
        scheme,
        clients: args.clients,
        mean_samples: args.mean,
        deviation_samples: args.sigma,
    };
    let partition = partition::deal(&plan, &set, args.seed)?;
    let (labels, classes) = (&set.train.labels, set.classes);
    let unowned = validation::draw(args.validation, &partition, labels, classes, args.seed)?;
    let table = Table::of(&partition, labels, classes).with_validation(&unowned, labels, classes);
    if let Some(path) = &args.svg {
        let title = format!("{}, {scheme}, seed {}", set.name, args.seed);
        std::fs::write(path, plot::svg(&table, &title))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        let counts = match &table.validation {
            None => serde_json::json!(table.counts),
            Some(row) => serde_json::json!({"clients": table.counts, "validation": row}),
        };
        outjson!(counts);
    } else {
        out!("{table}");
    }
    Ok(ExitCode::SUCCESS)
}
