//! `gleaner partition`: shows who would own which samples.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use gleaner_learn::data::{self, embedded};
use gleaner_learn::partition::{self, Plan, Scheme, plot, table::Table};

/// The split to show.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// mnist-subset, mnist, cifar10 or a folder with the files of either.
    #[arg(long, default_value = embedded::NAME)]
    data: String,
    /// How labels are spread over the clients.
    #[arg(long, value_enum, default_value_t = SchemeName::Degree)]
    scheme: SchemeName,
    /// Non-IID degree d of the scheme `degree`, a share in [0, 1].
    #[arg(long, default_value_t = 0.4)]
    degree: f64,
    /// Concentration of the scheme `dirichlet`.
    #[arg(long, default_value_t = 0.5)]
    alpha: f64,
    /// Pieces per client of the scheme `shards`.
    #[arg(long, default_value_t = 2)]
    shards: usize,
    /// Number of clients.
    #[arg(long, default_value_t = Plan::PAPER.clients)]
    clients: usize,
    /// Mean of the clients' sample counts.
    #[arg(long, default_value_t = Plan::PAPER.mean_samples)]
    mean: f64,
    /// Standard deviation of the clients' sample counts.
    #[arg(long, default_value_t = Plan::PAPER.deviation_samples)]
    sigma: f64,
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

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SchemeName {
    /// The paper's: a share d of one class per client.
    Degree,
    /// Everybody alike.
    Iid,
    /// Class shares from a Dirichlet distribution.
    Dirichlet,
    /// Pieces of the set sorted by class.
    Shards,
}

/// Runs `gleaner partition`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let set = data::load(&args.data)?;
    let scheme = match args.scheme {
        SchemeName::Degree => Scheme::Degree {
            degree: args.degree,
        },
        SchemeName::Iid => Scheme::Iid,
        SchemeName::Dirichlet => Scheme::Dirichlet { alpha: args.alpha },
        SchemeName::Shards => Scheme::Shards {
            per_client: args.shards,
        },
    };
    let plan = Plan {
        scheme,
        clients: args.clients,
        mean_samples: args.mean,
        deviation_samples: args.sigma,
    };
    let partition = partition::split(&plan, &set.train.labels, set.classes, args.seed)?;
    let table = Table::of(&partition, &set.train.labels, set.classes);
    if let Some(path) = &args.svg {
        let title = format!("{}, {scheme}, seed {}", set.name, args.seed);
        std::fs::write(path, plot::svg(&table, &title))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        println!("{}", serde_json::to_string(&table.counts)?);
    } else {
        print!("{table}");
    }
    Ok(ExitCode::SUCCESS)
}
