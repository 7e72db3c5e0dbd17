//! `gleaner energy predict`: sustainable rounds per day of a store, a source and a profile.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use gleaner_energy::harvest::{self, Harvest, Settings, Source};
use gleaner_energy::predict::{Income, Load, StoreSize, Work, most, rounds_a_day};
use gleaner_energy::profile::Profile;
use gleaner_files::write_atomically;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::report::plot::{LineChart, Mark, Series, number};
use gleaner_sim::report::table::Table;
use serde_json::json;

/// Predict the sustainable rounds per day of an energy store, a source of income and a profile.
///
/// Rounds are evenly spaced, day and night, and none is missed: starting full and over two passes of
/// the income, the store never falls below the energy of a round. The band covers 95 % of profiles
/// drawn from the fit's covariance.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  gleaner energy predict --profile profile.toml --harvest-mw 1 --store-j 20 --samples 300
  gleaner energy predict --profile profile.toml --irradiance builtin:greensboro-winter-week --panel-cm2 25 \\
    --store-j 50 --samples 300 --epochs 2 --out rounds")]
pub struct Args {
    /// Energy costs, as written by `gleaner energy fit`.
    #[arg(long, value_name = "FILE")]
    profile: PathBuf,
    #[command(flatten)]
    income: IncomeArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    work: WorkArgs,
    /// Profiles drawn for the band.
    #[arg(long, value_name = "N", default_value_t = 200)]
    draws: u32,
    /// Write the curve over store sizes to FILE.csv and FILE.svg.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct IncomeArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Area of the panel (irradiance only).
    #[arg(long, value_name = "CM2", default_value_t = Settings::default().panel_cm2)]
    panel_cm2: f64,
    /// Share of the light that becomes electricity (irradiance only).
    #[arg(long, value_name = "SHARE", default_value_t = Settings::default().panel_efficiency)]
    efficiency: f64,
    /// Share of the irradiance that reaches the panel (irradiance only).
    #[arg(long, value_name = "SHARE", default_value_t = Settings::default().shade)]
    shade: f64,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct SourceArgs {
    /// Constant income, day and night.
    #[arg(long, value_name = "MW")]
    harvest_mw: Option<f64>,
    /// Recorded powers: a CSV `t_s,p_w`, or `builtin:NAME` (`gleaner energy harvest` lists them).
    #[arg(long, value_name = "FILE|builtin:NAME")]
    trace: Option<String>,
    /// A weather file (TMY3, PVGIS or `t_s,ghi_w_m2`), or `builtin:NAME`.
    #[arg(long, value_name = "FILE|builtin:NAME")]
    irradiance: Option<String>,
}

#[derive(Debug, clap::Args)]
struct StoreArgs {
    /// Capacity of the energy store.
    #[arg(long, value_name = "J")]
    store_j: f64,
    /// Charging efficiency of the store.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    charge_efficiency: f64,
    /// Leakage power of the store.
    #[arg(long, value_name = "UW", default_value_t = 0.0)]
    leakage_uw: f64,
}

#[derive(Debug, clap::Args)]
struct WorkArgs {
    /// Training samples of the device.
    #[arg(long, value_name = "D")]
    samples: f64,
    /// Epochs of a round.
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    epochs: f64,
    /// Cycles per sample and epoch; by default those of the profile.
    #[arg(long, value_name = "B")]
    cycles_per_sample: Option<f64>,
    /// Cycles per round besides training: applying the model, encoding the update.
    #[arg(long, value_name = "CYCLES", default_value_t = 0.0)]
    other_cycles: f64,
    /// Processor clock; by default the fastest measured one.
    #[arg(long, value_name = "MHZ")]
    clock_mhz: Option<f64>,
    /// Bytes of a model, received and transmitted once a round.
    #[arg(long, value_name = "BYTES", default_value_t = 39_760.0)]
    bytes: f64,
    /// Link rate in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = 92_160.0)]
    bytes_per_s: f64,
    /// Seconds of a round spent waiting awake.
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    idle_s: f64,
}

/// Shortest slot of income, and the largest number of slots.
const SLOT_S: f64 = 600.0;
const MOST_SLOTS: f64 = 10_000.0;
/// Points of the curve, from a hundredth to a hundred times the store.
const POINTS: u32 = 25;
/// Draws per point of the curve's band; the requested store uses all of them.
const CURVE_DRAWS: usize = 40;

/// Runs `gleaner energy predict`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let profile = read_profile(&args.profile)?;
    let income = args.income.slots()?;
    let store = args.store.checked()?;
    let work = args.work.checked(&profile)?;
    let load_of = |profile: &Profile| -> anyhow::Result<Load> {
        Ok(work.load(&profile.costs(work.clock_hz)?)?)
    };
    let load = load_of(&profile)?;
    let mut rng = Rng::stream(0, Purpose::Bootstrap, 0, 0);
    let drawn: Vec<Load> = (0..args.draws)
        .map(|_| load_of(&profile.draw(&mut rng)))
        .collect::<Result<_, _>>()?;
    let found = Point::of(&store, &load, &drawn, &income);
    let limit = most(&load, &store, &income);
    if let Some(out) = &args.out {
        write_curve(
            out,
            &store,
            &load,
            &drawn[..drawn.len().min(CURVE_DRAWS)],
            &income,
            &profile,
        )?;
    }
    if args.json {
        outln!(
            "{}",
            json!({
                "label": profile.label(),
                "rounds_a_day": found.rounds,
                "low": found.low,
                "high": found.high,
                "with_any_store": limit,
                "round_j": load.round_j,
                "round_s": load.round_s,
                "sleep_w": load.sleep_w,
                "income_w": income.mean_w(),
                "clock_hz": work.clock_hz,
            })
        );
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["", &format!("by the profile ({})", profile.label())]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    row("clock", format!("{} MHz", work.clock_hz / 1e6));
    row(
        "energy of a round",
        format!("{} mJ", number(1e3 * load.round_j)),
    );
    row("time of a round", format!("{} s", number(load.round_s)));
    row(
        "power in sleep",
        format!("{} mW", number(1e3 * load.sleep_w)),
    );
    row(
        "mean income",
        format!("{} mW", number(1e3 * income.mean_w())),
    );
    row("store", format!("{} J", number(store.capacity_j)));
    row("rounds a day", number(found.rounds));
    row(
        "95 % of draws",
        format!("{} to {}", number(found.low), number(found.high)),
    );
    row("with a store of any size", number(limit));
    out!("{}", table.to_text());
    outln!("{}", verdict(&found, limit, &load, &store, &income));
    Ok(ExitCode::SUCCESS)
}

/// Reads a profile from a file.
pub fn read_profile(path: &Path) -> anyhow::Result<Profile> {
    let name = path.display().to_string();
    let text = gleaner_files::read_text(path).with_context(|| name.clone())?;
    Ok(Profile::parse(&text, &name)?)
}

fn verdict(found: &Point, limit: f64, load: &Load, store: &StoreSize, income: &Income) -> String {
    let comes_w = store.efficiency * income.mean_w() - store.leakage_w;
    if limit <= 0.0 {
        format!(
            "No rounds are sustainable: sleep alone draws {} mW and the income is {} mW. Use a larger panel or a \
             deeper sleep.",
            number(1e3 * load.sleep_w),
            number(1e3 * comes_w)
        )
    } else if store.capacity_j < load.round_j {
        format!(
            "No rounds are sustainable: a round takes {} J and the store holds {} J.",
            number(load.round_j),
            number(store.capacity_j)
        )
    } else if found.rounds <= 0.0 {
        "No rounds are sustainable: sleep empties the store while there is no income. Use a larger store.".to_owned()
    } else if found.rounds < 0.98 * limit {
        "The store is the limit: a larger one sustains more rounds through the time without income."
            .to_owned()
    } else {
        "The income is the limit: a larger store sustains no more rounds.".to_owned()
    }
}

/// Sustainable rounds per day at one store size.
struct Point {
    store_j: f64,
    rounds: f64,
    low: f64,
    high: f64,
}

impl Point {
    fn of(store: &StoreSize, load: &Load, drawn: &[Load], income: &Income) -> Self {
        let rounds = rounds_a_day(load, store, income);
        let mut sorted: Vec<f64> = (drawn.iter())
            .map(|load| rounds_a_day(load, store, income))
            .collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * sorted.len().saturating_sub(1) as f64;
            sorted
                .get(place.round() as usize)
                .copied()
                .unwrap_or(rounds)
        };
        Self {
            store_j: store.capacity_j,
            rounds,
            low: at(0.025),
            high: at(0.975),
        }
    }
}

fn write_curve(
    out: &Path,
    store: &StoreSize,
    load: &Load,
    drawn: &[Load],
    income: &Income,
    profile: &Profile,
) -> anyhow::Result<()> {
    let points: Vec<Point> = (0..POINTS)
        .map(|n| {
            let share = 10f64.powf(f64::from(n) / f64::from(POINTS - 1) * 4.0 - 2.0);
            let size = StoreSize {
                capacity_j: share * store.capacity_j,
                ..*store
            };
            Point::of(&size, load, drawn, income)
        })
        .collect();
    let mut csv = "store_j,rounds_a_day,low,high\n".to_owned();
    for point in &points {
        csv.push_str(&format!(
            "{},{},{},{}\n",
            point.store_j, point.rounds, point.low, point.high
        ));
    }
    write_atomically(&out.with_extension("csv"), csv.as_bytes())?;
    let place = |point: &Point| point.store_j.log10();
    let limit = most(load, store, income);
    let ends = [&points[0], &points[points.len() - 1]];
    let line = points
        .iter()
        .map(|point| (place(point), point.rounds))
        .collect();
    let band = points
        .iter()
        .map(|point| (place(point), point.low, point.high))
        .collect();
    let chart = LineChart {
        title: "Sustainable rounds per day by store size".to_owned(),
        x_label: "store (logarithm of joules: 0 is 1 J, 1 is 10 J)".to_owned(),
        y_label: "rounds a day".to_owned(),
        from_zero: true,
        series: vec![
            Series::line("sustainable", 0, line).with_band(band),
            Series::line(
                "with a store of any size",
                6,
                ends.map(|p| (place(p), limit)).to_vec(),
            )
            .with_mark(Mark::Dashed),
            Series::line(
                "requested store",
                1,
                vec![(store.capacity_j.log10(), rounds_a_day(load, store, income))],
            )
            .with_mark(Mark::Discs),
        ],
        note: format!("Profile: {}.", profile.label()),
    };
    Ok(write_atomically(
        &out.with_extension("svg"),
        chart.render().as_bytes(),
    )?)
}

/// Rejects a number outside its range, naming the option.
fn within(name: &str, value: f64, least: f64, most: f64) -> anyhow::Result<f64> {
    if !(least..=most).contains(&value) {
        bail!("--{name} {value}: use a number from {least} to {most}");
    }
    Ok(value)
}

impl IncomeArgs {
    fn slots(&self) -> anyhow::Result<Income> {
        let (source, file) = match (
            &self.source.harvest_mw,
            &self.source.trace,
            &self.source.irradiance,
        ) {
            (Some(milliwatts), _, _) => {
                let power_w = 1e-3 * within("harvest-mw", *milliwatts, 0.0, 1e6)?;
                return Ok(Income {
                    slot_s: SLOT_S,
                    slots_j: vec![power_w * SLOT_S; 144],
                });
            }
            (_, Some(file), _) => (Source::Trace, file),
            (_, _, Some(file)) => (Source::Solar, file),
            // The parser asks for one of the three.
            _ => bail!("give --harvest-mw, --trace or --irradiance"),
        };
        let mut settings = Settings {
            source,
            file: file.clone(),
            period_s: SLOT_S,
            panel_cm2: self.panel_cm2,
            panel_efficiency: self.efficiency,
            shade: self.shade,
            ..Settings::default()
        };
        let bytes = harvest::read(&settings)?.unwrap_or_default();
        let feed = |settings: &Settings, rounds: usize| {
            Harvest::from_bytes(settings, 0, 1, rounds, &[0.0], file, &bytes)
        };
        let length_s = feed(&settings, 1)?.length_s(0).unwrap_or(SLOT_S);
        // Whole slots per pass, so that passes join without a gap.
        let count = (length_s / SLOT_S).clamp(1.0, MOST_SLOTS).round();
        settings.period_s = length_s / count;
        let count = count as usize;
        let incomes = feed(&settings, count)?;
        Ok(Income {
            slot_s: settings.period_s,
            slots_j: (1..=count)
                .map(|round| incomes.income(0, round).as_joules())
                .collect(),
        })
    }
}

impl StoreArgs {
    fn checked(&self) -> anyhow::Result<StoreSize> {
        Ok(StoreSize {
            capacity_j: within("store-j", self.store_j, 1e-9, 1e9)?,
            efficiency: within("charge-efficiency", self.charge_efficiency, 0.0, 1.0)?,
            leakage_w: 1e-6 * within("leakage-uw", self.leakage_uw, 0.0, 1e9)?,
        })
    }
}

impl WorkArgs {
    fn checked(&self, profile: &Profile) -> anyhow::Result<Work> {
        let known = profile.sample.map(|sample| sample.mean);
        let Some(per_sample) = self.cycles_per_sample.or(known) else {
            bail!("the profile has no cycles per sample; give --cycles-per-sample");
        };
        let fastest = profile
            .clocks_hz()
            .last()
            .map_or(0.0, |&clock| f64::from(clock));
        let samples = within("samples", self.samples, 0.0, 1e9)?;
        let epochs = within("epochs", self.epochs, 0.0, 1e6)?;
        let per_sample = within("cycles-per-sample", per_sample, 0.0, 1e12)?;
        let bytes = within("bytes", self.bytes, 0.0, 1e12)?;
        let seconds = bytes / within("bytes-per-s", self.bytes_per_s, 1e-3, 1e12)?;
        Ok(Work {
            clock_hz: self.clock_mhz.map_or(fastest, |clock| 1e6 * clock),
            cycles: samples * epochs * per_sample
                + within("other-cycles", self.other_cycles, 0.0, 1e15)?,
            receive_s: seconds,
            receive_bytes: bytes,
            transmit_s: seconds,
            transmit_bytes: bytes,
            idle_s: within("idle-s", self.idle_s, 0.0, 1e6)?,
        })
    }
}
