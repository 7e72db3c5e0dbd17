//! `gleaner energy harvest`: income of an energy source, round by round.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;

use crate::cli::word;
use gleaner_energy::harvest::{self, Harvest, Settings, Source, builtin};
use gleaner_sim::report::plot::{LineChart, Series};

const HOUR_S: f64 = 3_600.0;
const DAY_HOURS: usize = 24;
/// Default number of rounds to show.
const MOST_ROUNDS: f64 = 10_000.0;
/// Columns of the longest bar.
const BAR: f64 = 40.0;

/// Show the income of an energy source; the options are the keys of `[harvest]` in a scenario.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  gleaner energy harvest
  gleaner energy harvest builtin:greensboro-winter-week --panel-cm2 25 --period 600
  gleaner energy harvest weather.csv --panel-cm2 10 --efficiency 0.18 --svg power.svg
  gleaner energy harvest recorded.csv --period 10 --csv > incomes.csv")]
pub struct Args {
    /// A CSV `t_s,p_w`, a weather file (TMY3, PVGIS or `t_s,ghi_w_m2`), or `builtin:NAME`; without
    /// it the built-in traces are listed.
    #[arg(value_name = "FILE|builtin:NAME")]
    file: Option<String>,
    /// Content of the file: `trace` powers or `solar` irradiance; read from its headings if left out.
    #[arg(long, value_parser = word::parser::<Source>())]
    source: Option<Source>,
    /// Seconds from the start of a round to the start of the next.
    #[arg(long, value_name = "S", default_value_t = HOUR_S)]
    period: f64,
    /// Rounds to show; one pass of the trace if left out.
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Area of the panel (irradiance only).
    #[arg(long, value_name = "CM2", default_value_t = Settings::default().panel_cm2)]
    panel_cm2: f64,
    /// Share of the light that becomes electricity (irradiance only).
    #[arg(long, value_name = "SHARE", default_value_t = Settings::default().panel_efficiency)]
    efficiency: f64,
    /// Share of the irradiance that reaches the panel (irradiance only).
    #[arg(long, value_name = "SHARE", default_value_t = Settings::default().shade)]
    shade: f64,
    /// Factor on every power.
    #[arg(long, default_value_t = Settings::default().scale)]
    scale: f64,
    /// Start of the first round in the trace, in seconds.
    #[arg(long, value_name = "S", default_value_t = Settings::default().start_s)]
    start: f64,
    /// Assume no income after the end of the trace instead of repeating it.
    #[arg(long)]
    ending: bool,
    /// Also draw power over time into this file.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print the incomes as CSV instead: `round,t_s,income_j`.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs `gleaner energy harvest`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(file) = &args.file else {
        return list(args.json);
    };
    let view = View::of(args, file)?;
    if let Some(path) = &args.svg {
        view.draw(path)?;
    }
    if args.json {
        outjson!(serde_json::to_string_pretty(&view.to_json())?);
    } else if args.csv {
        outln!("round,t_s,income_j");
        for (at, income_j) in view.incomes_j.iter().enumerate() {
            outln!("{},{},{income_j}", at + 1, at as f64 * view.period_s);
        }
    } else {
        view.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(json: bool) -> anyhow::Result<ExitCode> {
    if json {
        let of = |trace: &builtin::Builtin| {
            let source: &str = trace.source.into();
            json!({"name": trace.name, "source": source, "about": trace.about})
        };
        let all: Vec<_> = builtin::ALL.iter().map(of).collect();
        outjson!(serde_json::to_string_pretty(&all)?);
    } else {
        for trace in builtin::ALL {
            outln!("builtin:{:<24} {}", trace.name, trace.about);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Income of a source, ready to print.
struct View {
    file: String,
    source: Source,
    period_s: f64,
    length_s: f64,
    mean_w: f64,
    incomes_j: Vec<f64>,
    /// Mean power of every hour of a day; empty if the trace has no whole days.
    day_w: Vec<f64>,
}

impl View {
    fn of(args: &Args, file: &str) -> anyhow::Result<Self> {
        let mut settings = Settings {
            source: args.source.unwrap_or(Source::Trace),
            file: file.to_owned(),
            period_s: args.period,
            looping: !args.ending,
            start_s: args.start,
            scale: args.scale,
            panel_cm2: args.panel_cm2,
            panel_efficiency: args.efficiency,
            shade: args.shade,
            ..Settings::default()
        };
        anyhow::ensure!(
            settings.source.has_file(),
            "a file holds `trace` powers or `solar` irradiance, not `{}`",
            settings.source
        );
        let bytes = harvest::read(&settings)?.unwrap_or_default();
        if args.source.is_none() {
            settings.source = harvest::recognise(&bytes);
        }
        let feed = |settings: &Settings, rounds| {
            Harvest::from_bytes(settings, 0, 1, rounds, &[0.0], file, &bytes)
        };
        let harvest = feed(&settings, 1)?;
        let length_s = harvest.length_s(0).unwrap_or_default();
        let pass = (length_s / harvest.period_s())
            .ceil()
            .clamp(1.0, MOST_ROUNDS);
        let rounds = args.rounds.unwrap_or(pass as usize);
        let income_j = |round| harvest.income(0, round).as_joules();
        Ok(Self {
            file: file.to_owned(),
            source: settings.source,
            period_s: harvest.period_s(),
            length_s,
            mean_w: harvest.mean_w(0),
            incomes_j: (1..=rounds).map(income_j).collect(),
            day_w: day_profile(length_s, |hours| {
                settings.period_s = HOUR_S;
                feed(&settings, hours)
            })?,
        })
    }

    /// Returns the mean power of every round.
    fn powers_w(&self) -> impl Iterator<Item = f64> + '_ {
        self.incomes_j
            .iter()
            .map(|income_j| income_j / self.period_s)
    }

    fn print(&self) -> anyhow::Result<()> {
        let rounds = self.incomes_j.len();
        let mut sorted = self.incomes_j.clone();
        sorted.sort_by(f64::total_cmp);
        let dark = sorted.iter().filter(|&&income_j| income_j == 0.0).count();
        outln!(
            "{}: {}, {:.3} days, mean power {} mW",
            self.file,
            self.source,
            self.length_s / HOUR_S / DAY_HOURS as f64,
            shown(self.mean_w * 1e3)
        );
        outln!(
            "{rounds} rounds of {} s, {dark} of them without income",
            self.period_s
        );
        if let [least_j, .., most_j] = sorted[..] {
            outln!(
                "income a round: least {} J, median {} J, most {} J",
                shown(least_j),
                shown(sorted[rounds / 2]),
                shown(most_j)
            );
        }
        let most_w = self.day_w.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        for (hour, &power_w) in self.day_w.iter().enumerate() {
            let bar = "#".repeat((BAR * power_w / most_w).round() as usize);
            outln!("  {hour:>2} h {:>10} mW  {bar}", shown(power_w * 1e3));
        }
        Ok(())
    }

    fn to_json(&self) -> serde_json::Value {
        let source: &str = self.source.into();
        json!({
            "file": self.file,
            "source": source,
            "period_s": self.period_s,
            "length_s": self.length_s,
            "mean_w": self.mean_w,
            "most_w": self.powers_w().fold(0.0, f64::max),
            "day_w": self.day_w,
            "income_j": self.incomes_j,
        })
    }

    fn draw(&self, path: &Path) -> anyhow::Result<()> {
        let hours = |at: usize| at as f64 * self.period_s / HOUR_S;
        let points = |powers: &mut dyn Iterator<Item = f64>| {
            powers
                .enumerate()
                .map(|(at, w)| (hours(at), w * 1e3))
                .collect()
        };
        let chart = LineChart {
            title: format!("Harvest of {}", self.file),
            x_label: "time in h".to_owned(),
            y_label: "mean power of a round in mW".to_owned(),
            from_zero: true,
            series: vec![Series::line("income", 0, points(&mut self.powers_w()))],
            note: format!("mean {} mW", shown(self.mean_w * 1e3)),
        };
        fs::write(path, chart.render()).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Averages every hour of the day over the whole days of a trace.
fn day_profile<E>(
    length_s: f64,
    hourly: impl FnOnce(usize) -> Result<Harvest, E>,
) -> Result<Vec<f64>, E> {
    let days = (length_s / HOUR_S / DAY_HOURS as f64) as usize;
    if days == 0 {
        return Ok(Vec::new());
    }
    let harvest = hourly(days * DAY_HOURS)?;
    let mean_w = |hour: usize| {
        let incomes = (0..days).map(|day| harvest.income(0, day * DAY_HOURS + hour + 1));
        incomes.map(|income| income.as_joules()).sum::<f64>() / (days as f64 * HOUR_S)
    };
    Ok((0..DAY_HOURS).map(mean_w).collect())
}

/// Formats a number with four significant digits.
fn shown(number: f64) -> String {
    let digits = 3 - number.abs().max(1e-9).log10().floor() as i32;
    match number {
        0.0 => "0".to_owned(),
        _ => format!("{number:.*}", digits.clamp(0, 12) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_count() {
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(0.000_175_03), "0.0001750");
        assert_eq!(shown(18.757_1), "18.76");
        assert_eq!(shown(123_456.0), "123456");
    }

    #[test]
    fn a_day_is_averaged_over_the_whole_days_of_a_trace() {
        let rows = (0..48).map(|hour| format!("{},{}\n", hour * 3_600, hour));
        let csv = format!("t_s,p_w\n{}", rows.collect::<String>());
        let settings = Settings {
            source: Source::Trace,
            file: "t.csv".to_owned(),
            period_s: HOUR_S,
            ..Settings::default()
        };
        let hourly =
            |rounds| Harvest::from_bytes(&settings, 0, 1, rounds, &[0.0], "t.csv", csv.as_bytes());
        let day_w = day_profile(48.0 * HOUR_S, hourly).unwrap();
        assert!((day_w[0] - 12.0).abs() < 1e-9 && (day_w[23] - 35.0).abs() < 1e-9);
        assert!(day_profile(23.0 * HOUR_S, hourly).unwrap().is_empty());
    }
}
