use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::NanoWatts;

use super::*;
use crate::fit::matrix::Square;
use crate::fit::{Kind, Term};

fn profile() -> Profile {
    let values = vec![1e-3, 20e-3, 35e-3, 0.4e-6, 45e-3, 0.1e-9, 0.2e-9, 0.4e-9];
    let mut covariance = Square::zeros(values.len());
    for (at, value) in values.iter().enumerate() {
        covariance.set(at, at, (0.01 * value) * (0.01 * value));
    }
    // The cost of a cycle is above idling, so both are negatively correlated.
    let tied = -0.5 * (0.01 * values[1]) * (0.01 * values[7]);
    covariance.set(1, 7, tied);
    covariance.set(7, 1, tied);
    Profile {
        emulated: true,
        synthetic: true,
        conditions: Conditions {
            board: "rp2040 \"no. 3\"".to_owned(),
            voltage_v: Some(3.3),
            temperature_c: None,
            date: Some("2026-01-01".to_owned()),
            rate_hz: 1e5,
        },
        source: Source {
            firmware: "gleaner 0.1.0".to_owned(),
            trace: "ab".repeat(32),
            marks: "cd".repeat(32),
        },
        coefficients: Coefficients {
            terms: vec![
                Term::any(Kind::Sleep),
                Term::any(Kind::Idle),
                Term::any(Kind::Receive),
                Term::any(Kind::ReceiveByte),
                Term::any(Kind::Transmit),
                Term::at(Kind::Cycle, 50_000_000),
                Term::at(Kind::Cycle, 100_000_000),
                Term::at(Kind::Cycle, 200_000_000),
            ],
            values,
            covariance,
            freedom: 120.0,
        },
        quality: Quality {
            intervals: 128,
            chi_square: 1.02,
            misfit: 0.0,
            held_out: None,
        },
        form: None,
        sample: None,
    }
}

fn parse_error(text: &str) -> (usize, String) {
    match Profile::parse(text, "p.toml") {
        Err(ProfileError::Text { line, what, .. }) => (line, what),
        other => panic!("{other:?}"),
    }
}

/// Replaces a part of a good profile and returns the line and the text of the error.
fn refused(from: &str, to: &str) -> (usize, String) {
    let text = profile().to_toml();
    assert!(text.contains(from), "{from}");
    parse_error(&text.replacen(from, to, 1))
}

#[test]
fn a_written_profile_is_read_back() {
    let profile = profile();
    assert_eq!(Profile::parse(&profile.to_toml(), "p.toml"), Ok(profile));
}

#[test]
fn invalid_profiles_are_rejected_with_line_and_key() {
    assert_eq!(refused("format = 1", "format = 2").0, 3);
    assert_eq!(refused("synthetic = true", "synthetic = 3").0, 5);
    for (from, to, key) in [
        ("emulated =", "emulatid =", "emulatid"),
        ("board =", "bored =", "bored"),
        ("rate_hz = 100000.0", "rate_hz = 0.0", "conditions.rate_hz"),
        ("voltage_v = 3.3", "voltage_v = nan", "conditions.voltage_v"),
        ("freedom = 120.0", "freedom = -1.0", "quality.freedom"),
        ("name = \"sleep\"", "name = \"sleeping\"", "sleeping"),
        ("unit = \"W\"", "unit = \"mW\"", "\"mW\""),
        ("name = \"idle\"", "name = \"sleep\"", "sleep"),
        ("value = 0.001", "value = inf", "inf"),
        ("value = 0.001", "value = 0.1", "sleep is 0.1"),
        ("clock_hz = 50000000\n", "", "clock_hz"),
        ("clock_hz = 50000000", "clock_hz = 0", "clock_hz = 0"),
        ("[\n    [", "[\n    [1.0, ", "covariance.rows"),
        ("rows = [", "rows = [\n[],", "covariance.rows"),
    ] {
        let (_, what) = refused(from, to);
        assert!(what.contains(key), "{to}: {what}");
    }
}

#[test]
fn impossible_covariances_are_rejected() {
    let cell = format!("{:?}", profile().coefficients.covariance.at(1, 7));
    for value in ["0.5", "nan"] {
        let (_, what) = refused(&cell, value);
        assert!(what.contains("row 2, column 8"), "{what}");
    }
    let mut broken = profile();
    let large = 40.0 * profile().coefficients.covariance.at(1, 7);
    broken.coefficients.covariance.set(1, 7, large);
    broken.coefficients.covariance.set(7, 1, large);
    let (_, what) = parse_error(&broken.to_toml());
    assert!(what.contains("covariance.rows"), "{what}");
}

#[test]
fn a_truncated_profile_is_rejected_wherever_it_ends() {
    let text = profile().to_toml();
    for end in 0..text.len() - 2 {
        if text.is_char_boundary(end) {
            assert!(Profile::parse(&text[..end], "p.toml").is_err(), "{end}");
        }
    }
}

#[test]
fn costs_are_exact_at_measured_clocks_and_interpolated_between() {
    let profile = profile();
    let exact = profile.costs(100e6).unwrap();
    assert!((exact.cycle_j - (0.2e-9 + 20e-3 / 100e6)).abs() < 1e-18);
    assert_eq!(exact.compute().femtojoules_per_cycle, 400_000);
    // A cost proportional to the clock stays proportional between clocks.
    let between = profile.costs(150e6).unwrap();
    assert!((between.cycle_j - (0.3e-9 + 20e-3 / 150e6)).abs() < 1e-15);
    assert_eq!(
        Costs::nanowatts(exact.sleep_w, "sleep"),
        Ok(NanoWatts(1_000_000))
    );
}

#[test]
fn clocks_and_powers_that_were_not_measured_are_rejected() {
    for clock_hz in [250e6, f64::NAN] {
        let error = profile().costs(clock_hz).unwrap_err();
        assert!(matches!(error, ProfileError::Clock { .. }), "{error}");
    }
    let error = Costs::nanowatts(None, "sleep").unwrap_err();
    assert_eq!(error, ProfileError::Unknown("sleep"));
}

#[test]
fn draws_have_the_covariance_of_the_profile() {
    let profile = profile();
    let mut rng = Rng::stream(5, Purpose::Bootstrap, 0, 0);
    let draws: Vec<Profile> = (0..4_000).map(|_| profile.draw(&mut rng)).collect();
    let off = |draw: &Profile, at: usize| {
        draw.coefficients.values[at] / profile.coefficients.values[at] - 1.0
    };
    let product = |a: usize, b: usize| {
        let products = draws.iter().map(|draw| off(draw, a) * off(draw, b));
        products.sum::<f64>() / draws.len() as f64
    };
    assert!((product(1, 1) / 1e-4 - 1.0).abs() < 0.1);
    assert!((product(1, 7) / -0.5e-4 - 1.0).abs() < 0.15);
    assert!(product(0, 1).abs() < 0.1e-4);
}

#[test]
fn no_draw_is_below_zero() {
    let mut unsure = profile();
    unsure.coefficients.covariance.set(0, 0, 1.0);
    let mut rng = Rng::stream(6, Purpose::Bootstrap, 0, 0);
    assert!((0..50).all(|_| unsure.draw(&mut rng).coefficients.values[0] >= 0.0));
}
