//! `cargo figures stations`: one base station, a thousand TCP clients, one round; then the same
//! with slow, silent and absurd peers among them. With `--listen` they call the base station, all at
//! once, and the others are strangers that call it again and again.
//!
//! The clients run in a process of their own, so that the memory shown is the base station's.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use gleaner_station::listener::ConnectionCounts;
use gleaner_tests::peers::{self, Behaviour, ListeningStation, MODEL_BYTES, RoundOutcome};
use tokio::runtime::Runtime;

/// Options of `cargo figures stations`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of honest clients.
    #[arg(long, default_value_t = 1_000)]
    clients: usize,
    /// Slow, silent, endless and absurd peers in the second run.
    #[arg(long, default_value_t = 200)]
    others: usize,
    /// Pairs of rounds, one with and one without the others; the median pair counts.
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Clients call in instead of being called; beside it the same figure of those that are.
    #[arg(long)]
    listen: bool,
    /// Serve instead: print a port for every client and wait.
    #[arg(long, hide = true)]
    serve: bool,
    /// Call instead: every client calls that address until the end.
    #[arg(long, hide = true)]
    dial: Option<SocketAddr>,
}

/// Ends the clients with the figure.
struct Peers(Child);

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn behaviour(args: &Args) -> Vec<Behaviour> {
    let others = (0..args.others).map(|at| Behaviour::BAD[at % Behaviour::BAD.len()]);
    std::iter::repeat_n(Behaviour::Honest, args.clients)
        .chain(others)
        .collect()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads")
}

/// Runs the figure; says whether every claim holds.
pub fn run(args: &Args) -> bool {
    if args.serve {
        return serve(args);
    }
    if let Some(station) = args.dial {
        return dial(args, station);
    }
    let runtime = runtime();
    let called = judge(args, "called", called(args, &runtime));
    if !args.listen {
        return called.holds;
    }
    let calling = judge(args, "calling in, all at once", calling(args, &runtime));
    println!(
        "calling in takes {:.2} times the round of being called",
        calling.wall_s / called.wall_s
    );
    called.holds && calling.holds
}

/// A round without the others, and one with them.
type Pairs = Vec<(RoundOutcome, RoundOutcome)>;

/// Rounds with clients that the base station calls.
fn called(args: &Args, runtime: &Runtime) -> Pairs {
    let (_peers, everybody) = start(args);
    let honest = &everybody[..args.clients];
    let pair = |_| {
        let alone = runtime.block_on(peers::round(honest));
        let mixed = runtime.block_on(peers::round(&everybody));
        (alone, mixed)
    };
    (0..args.repeats.max(1)).map(pair).collect()
}

/// Rounds with clients that call in; each begins with a thousand calls at once.
fn calling(args: &Args, runtime: &Runtime) -> Pairs {
    let clients = u32::try_from(args.clients).expect("a number of clients");
    let round = |others: usize| {
        let _guard = runtime.enter();
        let station = ListeningStation::open(clients);
        let _peers = spawn(
            args.clients,
            others,
            &["--dial", &station.address.to_string()],
        );
        let round = runtime.block_on(station.round());
        (round, station.calls.counts())
    };
    let mut worst = ConnectionCounts::default();
    let pairs = (0..args.repeats.max(1)).map(|_| {
        let (alone, _) = round(0);
        let (mixed, counts) = round(args.others);
        if counts.rejected() >= worst.rejected() {
            worst = counts;
        }
        (alone, mixed)
    });
    let pairs: Pairs = pairs.collect();
    let (alone, mixed): (Vec<f64>, Vec<f64>) = pairs
        .iter()
        .map(|(alone, mixed)| (alone.greeted.as_secs_f64(), mixed.greeted.as_secs_f64()))
        .unzip();
    println!("from the first call to the last greeting, medians");
    println!("  alone               {:.2} s", median(alone));
    println!("  with {} strangers {:.2} s", args.others, median(mixed));
    println!("  calls with them     {worst}");
    println!("  half-open at most   {} boards", worst.max_half_open);
    pairs
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Results of the rounds.
struct Judged {
    wall_s: f64,
    holds: bool,
}

fn judge(args: &Args, how: &str, mut pairs: Pairs) -> Judged {
    let change = |(alone, mixed): &(RoundOutcome, RoundOutcome)| {
        mixed.wall.as_secs_f64() / alone.wall.as_secs_f64() - 1.0
    };
    pairs.sort_by(|a, b| change(a).total_cmp(&change(b)));
    let all_in = |round: &RoundOutcome| round.delivered == args.clients && round.believed == 0;
    let complete = pairs
        .iter()
        .all(|(alone, mixed)| all_in(alone) && all_in(mixed));
    if let Some(reason) = pairs
        .iter()
        .find_map(|(a, b)| a.lost.clone().or(b.lost.clone()))
    {
        println!("a client was lost: {reason}");
    }
    let median = &pairs[pairs.len() / 2];
    let walls = pairs.iter().map(|(alone, _)| alone.wall.as_secs_f64());
    let wall_s = self::median(walls.collect());
    let memory_mb = gleaner_sim::run::peak_memory_mb();
    println!(
        "{} clients {how}, {MODEL_BYTES} bytes each way",
        args.clients
    );
    println!("  all updates whole   {complete}");
    println!("  round, median       {wall_s:.2} s (target < 2)");
    println!(
        "  with {} others    {:+.1} % (target <= 5)",
        args.others,
        100.0 * change(median)
    );
    match memory_mb {
        Some(memory) => println!("  peak memory         {memory:.0} MB (target < 512)"),
        None => println!("  peak memory         not told by this system"),
    }
    let holds = complete
        && wall_s < 2.0
        && change(median) <= 0.05
        && memory_mb.is_none_or(|memory| memory < 512.0);
    Judged { wall_s, holds }
}

fn dial(args: &Args, station: SocketAddr) -> bool {
    runtime().block_on(async {
        for (number, behaviour) in (0..).zip(behaviour(args)) {
            tokio::spawn(peers::dial(number, behaviour, station));
        }
        std::future::pending().await
    })
}

fn serve(args: &Args) -> bool {
    runtime().block_on(async {
        for (number, behaviour) in (0..).zip(behaviour(args)) {
            match peers::listen(number, behaviour).await {
                Ok(port) => println!("{port}"),
                Err(error) => {
                    eprintln!("client {number}: {error}");
                    return false;
                }
            }
        }
        std::future::pending().await
    })
}

/// Starts the clients' process.
fn spawn(clients: usize, others: usize, what: &[&str]) -> Peers {
    let program = std::env::current_exe().expect("this program has a path");
    let child = Command::new(program)
        .args(["stations", "--clients", &clients.to_string()])
        .args(["--others", &others.to_string()])
        .args(what)
        .stdout(Stdio::piped())
        .spawn();
    Peers(child.expect("this program starts once more"))
}

/// Starts the clients' process and reads their ports.
fn start(args: &Args) -> (Peers, Vec<(Behaviour, u16)>) {
    let mut peers = spawn(args.clients, args.others, &["--serve"]);
    let output = peers.0.stdout.take().expect("its output is a pipe");
    let ports = BufReader::new(output).lines();
    let behaviour = behaviour(args);
    let everybody: Vec<(Behaviour, u16)> = behaviour
        .iter()
        .zip(ports)
        .map(|(&behaviour, line)| {
            let line = line.expect("a port");
            (behaviour, line.parse().expect("a number"))
        })
        .collect();
    assert_eq!(everybody.len(), behaviour.len(), "every client listens");
    (peers, everybody)
}
