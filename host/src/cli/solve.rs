//! `gleaner solve`: plans rounds read from a file.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::print::OutputError;
use super::terms::Terms;
use gleaner_check::instances::{Case, Cases, read_cases};
use gleaner_cre::optim::{Solution, Solver, nobody_objective};

/// Plan rounds: participants, channels, transmit powers, epochs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One instance or a list of them, in the format of `tests/vectors/round_problem.json`.
    #[arg(long, value_name = "FILE.json")]
    instance: PathBuf,
    /// Solver: proven optimum, repaired annealing, large instances with a proven gap, or the
    /// paper's algorithms as printed.
    #[arg(long, value_parser = super::word::parser::<Solver>(), default_value = "exact")]
    solver: Solver,
    /// Seed of the randomised solvers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON: an object for one instance, a list for a list.
    #[arg(long)]
    json: bool,
    /// Print CSV, one row per instance: terms of the bound, queues, and the least J with 1, 2, ...
    /// participants.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Solves every instance of the file and prints the plans.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let cases = read_cases(&args.instance)?;
    let solver = args.solver;
    let mut reports = Vec::new();
    let mut terms = Terms::default();
    for case in cases.as_slice() {
        if let Err(error) = case.instance.check_deadline() {
            // Test vectors and recorded rounds (which have a name) may be infeasible; a hand-written
            // instance without participants usually has a wrong unit.
            if !case.is_vector && case.name.is_none() {
                anyhow::bail!("{}: {error}; no client can participate", case.place);
            }
            errln!("note: {}: {error}; no client can participate", case.place);
        }
        if args.csv {
            terms.add(case, solver, args.seed)?;
            continue;
        }
        let start = Instant::now();
        let solution = solver
            .solve(&case.instance, args.seed)
            .map_err(|error| anyhow::anyhow!("{}: {error}", case.place))?;
        let report = Report {
            case,
            solver,
            solution,
            time: start.elapsed(),
        };
        if args.json {
            reports.push(report.to_json());
        } else {
            report.print()?;
        }
    }
    if args.csv {
        out!("{}", terms.to_csv());
    }
    if args.json {
        let value = match cases {
            Cases::One(_) => reports.remove(0),
            Cases::List(_) => Value::Array(reports),
        };
        outjson!(serde_json::to_string_pretty(&value)?);
    }
    Ok(ExitCode::SUCCESS)
}

struct Report<'a> {
    case: &'a Case,
    solver: Solver,
    solution: Solution,
    time: Duration,
}

impl Report<'_> {
    fn print(&self) -> Result<(), OutputError> {
        let Self { case, solution, .. } = self;
        let found = &solution.evaluation;
        let instance = &case.instance;
        let name = case
            .name
            .as_ref()
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        outln!(
            "{}{name}: U = {}, C = {}",
            case.place,
            instance.clients(),
            instance.channels
        );
        if solution.plan.uploads.is_empty() {
            outln!("  no participants");
        } else {
            outln!("  tau = {} epochs", solution.plan.epochs);
            outln!("  client  channel    power mW   energy mJ   spare us");
        }
        for (upload, spare_s) in solution.plan.uploads.iter().zip(&found.spare_s) {
            outln!(
                "  {:>6}  {:>7}  {:>10.4}  {:>10.4}  {:>9.3}",
                upload.client,
                upload.channel,
                upload.power_w * 1e3,
                (instance.net_income_j(upload.client) - found.balance_j[upload.client]) * 1e3,
                spare_s * 1e6,
            );
        }
        outln!(
            "  J = {:.9e}  (energy {:.6e}, V bound {:.6e}; no participants {:.6e})",
            found.total,
            found.energy,
            found.penalty,
            nobody_objective(instance)
        );
        outln!(
            "  bound = {:.6e}  (drift {:.4e}, absent {:.4e}, convergence {:.4e})",
            found.bound.total(),
            found.bound.drift,
            found.bound.linear,
            found.bound.convergence
        );
        let gap = match solution.gap(instance) {
            Some(gap) => format!("{:.4} %", 100.0 * gap),
            None => "not proven".into(),
        };
        let time_us = self.time.as_secs_f64() * 1e6;
        outln!("  gap {gap}, {} in {time_us:.1} us", self.solver);
        Ok(())
    }

    fn to_json(&self) -> Value {
        let Self { case, solution, .. } = self;
        let found = &solution.evaluation;
        let uploads = &solution.plan.uploads;
        json!({
            "place": case.place,
            "name": case.name,
            "solver": self.solver.to_string(),
            "tau": solution.plan.epochs,
            "assign": uploads.iter().map(|u| [u.channel, u.client]).collect::<Vec<_>>(),
            "p_w": uploads.iter().map(|u| u.power_w).collect::<Vec<_>>(),
            "spare_s": found.spare_s,
            "q_j": found.balance_j,
            "J": found.total,
            "J_energy": found.energy,
            "J_penalty": found.penalty,
            "J_nobody": nobody_objective(&case.instance),
            "drift": found.bound.drift,
            "linear": found.bound.linear,
            "convergence": found.bound.convergence,
            "lower_bound": solution.lower_bound,
            "gap": solution.gap(&case.instance),
            "time_s": self.time.as_secs_f64(),
        })
    }
}
