//! Harvested income of each client from the start of one round to the start of the next.
//!
//! Every income is a pure function of (settings, file, seed, client, round), so it does not depend on
//! threads or on a resumed run and nothing is saved. Incomes are differences of an exact integral, so
//! the incomes of consecutive rounds add up to the energy of the whole time.
//!
//! # Examples
//! ```
//! use gleaner_energy::harvest::{Forecast, Harvest, Settings, Source};
//!
//! let settings = Settings {
//!     source: Source::Solar,
//!     file: "builtin:greensboro-spring-week".to_owned(),
//!     period_s: 600.0,
//!     panel_cm2: 10.0,
//!     ..Settings::default()
//! };
//! let harvest = Harvest::try_new(&settings, 1, 2, 1_008, &[0.0; 2])?;
//! let midnight = harvest.income(0, 1);
//! let noon = harvest.income(0, 12 * 6 + 1);
//! assert!(midnight.0 == 0 && noon.as_joules() > 1.0);
//! assert_eq!(Forecast::Last.expect(&harvest, 0, 12 * 6 + 2), noon);
//! # Ok::<(), gleaner_energy::harvest::HarvestError>(())
//! ```

pub mod builtin;
mod chance;
mod curve;
mod power;
mod rows;
mod settings;
mod solar;

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::PicoJoules;

use self::chance::Draws;
use self::curve::{Curve, MAX_US};

pub use self::settings::{Forecast, HarvestError, Settings, Source};

/// Scale of a client's factor on a shared trace.
const MILLION: u64 = 1_000_000;
const ATTO_PER_PICO: u128 = 1_000_000;

/// The income of every client in every round.
#[derive(Clone, Debug)]
pub struct Harvest {
    period_us: u64,
    flow: Flow,
}

#[derive(Clone, Debug)]
enum Flow {
    /// The same income in every round.
    Constant(Vec<PicoJoules>),
    /// The given incomes in the rounds that are drawn, and the mean incomes.
    Chance {
        draws: Draws,
        incomes: Vec<PicoJoules>,
        means: Vec<PicoJoules>,
    },
    /// The energy of a curve.
    Curve {
        curves: Vec<Curve>,
        looping: bool,
        places: Vec<Place>,
    },
}

/// Start and scale of a curve for one client.
#[derive(Clone, Copy, Debug)]
struct Place {
    curve: usize,
    from_us: u64,
    factor_ppm: u64,
}

impl Harvest {
    /// Sets up the source of a run, reading its file if it has one; `constant_j` is the income a
    /// round of each client, for the sources that use it.
    ///
    /// # Errors
    /// Returns the invalid setting, or the file, line and value, with the fix.
    pub fn try_new(
        settings: &Settings,
        seed: u64,
        clients: usize,
        rounds: usize,
        constant_j: &[f64],
    ) -> Result<Self, HarvestError> {
        settings.check()?;
        let bytes = read(settings)?.unwrap_or_default();
        let name = &settings.file;
        Self::from_bytes(settings, seed, clients, rounds, constant_j, name, &bytes)
    }

    /// Sets up the source of a run like [`try_new`](Self::try_new), from the bytes of its file;
    /// error messages call the file `name`.
    ///
    /// # Errors
    /// Returns the same errors as [`try_new`](Self::try_new).
    pub fn from_bytes(
        settings: &Settings,
        seed: u64,
        clients: usize,
        rounds: usize,
        constant_j: &[f64],
        name: &str,
        bytes: &[u8],
    ) -> Result<Self, HarvestError> {
        settings.check()?;
        let period_us = (settings.period_s * 1e6).round() as u64;
        check_length(settings, rounds, period_us)?;
        if constant_j.len() != clients {
            let given = constant_j.len();
            return Err(HarvestError::Incomes { given, clients });
        }
        let incomes = |factor: f64| -> Vec<PicoJoules> {
            let income = |&joules: &f64| PicoJoules::from_joules(joules * factor);
            constant_j.iter().map(income).collect()
        };
        let chance = |draws, share: f64| Flow::Chance {
            draws,
            incomes: incomes(1.0 / share),
            means: incomes(1.0),
        };
        let flow = match settings.source {
            Source::Constant => Flow::Constant(incomes(1.0)),
            Source::Bernoulli => {
                let share = settings.probability;
                chance(Draws::bernoulli(seed, clients, rounds, share), share)
            }
            Source::Markov => {
                let (on, off) = (settings.on_rounds, settings.off_rounds);
                let draws = Draws::markov(seed, clients, rounds, on, off);
                chance(draws, on / (on + off))
            }
            Source::Trace => {
                let curves = power::curves(name, bytes, settings.scale, clients)?;
                Self::of_curves(settings, seed, clients, curves)
            }
            Source::Solar => {
                let curve = solar::curve(name, bytes, settings.panel_m2())?;
                Self::of_curves(settings, seed, clients, vec![curve])
            }
        };
        Ok(Self { period_us, flow })
    }

    fn of_curves(settings: &Settings, seed: u64, clients: usize, curves: Vec<Curve>) -> Flow {
        let place = |client: usize| {
            let curve = client.min(curves.len() - 1);
            let length_us = u128::from(curves[curve].length_us());
            let from_us =
                micros(settings.start_s) + micros(settings.offset_s).saturating_mul(client as u128);
            // The factor is drawn from the stream of round 0.
            let mut rng = Rng::stream(seed, Purpose::Harvest, client as u32, 0);
            let factor = 1.0 + settings.spread * (2.0 * rng.uniform() - 1.0);
            Place {
                curve,
                from_us: match settings.looping {
                    true => from_us % length_us,
                    false => from_us.min(length_us),
                } as u64,
                factor_ppm: (factor * MILLION as f64).round() as u64,
            }
        };
        Flow::Curve {
            places: (0..clients).map(place).collect(),
            looping: settings.looping,
            curves,
        }
    }

    /// Returns the income of a client from the start of a round, counted from 1, to the start of
    /// the next.
    #[must_use]
    pub fn income(&self, client: usize, round: usize) -> PicoJoules {
        let before = self.exact_total(client, round.saturating_sub(1));
        saturate(self.exact_total(client, round) - before)
    }

    /// Returns the sum of a client's incomes from round 1 to `rounds`.
    ///
    /// Random sources have no income after the last round they were set up for.
    #[must_use]
    pub fn total(&self, client: usize, rounds: usize) -> PicoJoules {
        saturate(self.exact_total(client, rounds))
    }

    /// Returns the mean income of a client's first `rounds`, rounded down; zero if `rounds` is 0.
    #[must_use]
    pub fn mean_of(&self, client: usize, rounds: usize) -> PicoJoules {
        let total = self.exact_total(client, rounds);
        saturate(total.checked_div(rounds as u128).unwrap_or(0))
    }

    /// Returns the sum in picojoules, which may be more than 64 bits hold.
    fn exact_total(&self, client: usize, rounds: usize) -> u128 {
        match &self.flow {
            Flow::Constant(incomes) => u128::from(incomes[client].0) * rounds as u128,
            Flow::Chance { draws, incomes, .. } => {
                u128::from(incomes[client].0) * u128::from(draws.count(client, rounds))
            }
            Flow::Curve {
                curves,
                looping,
                places,
            } => {
                let place = &places[client];
                let curve = &curves[place.curve];
                let until_us = (rounds as u64).saturating_mul(self.period_us).min(MAX_US);
                let energy_aj = curve.energy_aj(place.from_us + until_us, *looping)
                    - curve.energy_aj(place.from_us, *looping);
                energy_aj * u128::from(place.factor_ppm) / (ATTO_PER_PICO * u128::from(MILLION))
            }
        }
    }

    /// Returns the mean power of a client's source: over its curve, or of its distribution.
    #[must_use]
    pub fn mean_w(&self, client: usize) -> f64 {
        match &self.flow {
            Flow::Constant(means) | Flow::Chance { means, .. } => {
                means[client].as_joules() / self.period_s()
            }
            Flow::Curve { curves, places, .. } => {
                let place = &places[client];
                curves[place.curve].mean_w() * place.factor_ppm as f64 / MILLION as f64
            }
        }
    }

    /// Returns the mean income of a client per round.
    #[must_use]
    pub fn mean(&self, client: usize) -> PicoJoules {
        match &self.flow {
            Flow::Constant(means) | Flow::Chance { means, .. } => means[client],
            Flow::Curve { .. } => PicoJoules::from_joules(self.mean_w(client) * self.period_s()),
        }
    }

    /// Returns the time from the start of a round to the start of the next.
    #[must_use]
    pub fn period_s(&self) -> f64 {
        self.period_us as f64 / 1e6
    }

    /// Returns the duration of a client's curve, or `None` if its source is no curve.
    #[must_use]
    pub fn length_s(&self, client: usize) -> Option<f64> {
        match &self.flow {
            Flow::Curve { curves, places, .. } => {
                Some(curves[places[client].curve].length_us() as f64 / 1e6)
            }
            _ => None,
        }
    }
}

/// Returns the bytes of a source's file, or `None` if it has none.
///
/// # Errors
/// Returns an error if the file cannot be read or no built-in trace has its name.
pub fn read(settings: &Settings) -> Result<Option<Vec<u8>>, HarvestError> {
    if !settings.source.has_file() {
        return Ok(None);
    }
    Ok(Some(match builtin::named(&settings.file)? {
        Some(trace) => trace.csv.as_bytes().to_vec(),
        None => rows::read_file(&settings.file)?,
    }))
}

/// Returns the source that reads a file, by its headings: powers or irradiance.
#[must_use]
pub fn recognise(bytes: &[u8]) -> Source {
    match power::is_headed(bytes) {
        true => Source::Trace,
        false => Source::Solar,
    }
}

fn saturate(picojoules: u128) -> PicoJoules {
    PicoJoules(picojoules.try_into().unwrap_or(u64::MAX))
}

fn micros(seconds: f64) -> u128 {
    (seconds * 1e6).round() as u128
}

/// Checks that the run ends before [`MAX_US`].
fn check_length(settings: &Settings, rounds: usize, period_us: u64) -> Result<(), HarvestError> {
    match (rounds as u64).checked_mul(period_us) {
        Some(length) if length <= MAX_US => Ok(()),
        _ => Err(HarvestError::Setting {
            key: "period_s",
            value: settings.period_s.to_string(),
            demand: format!("{rounds} such rounds are longer than 300 years; shorten them"),
        }),
    }
}

#[cfg(test)]
mod tests;
