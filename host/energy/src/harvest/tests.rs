use super::*;

use std::io::Write;

const HOUR_S: f64 = 3_600.0;

fn trace(rows: &str) -> Vec<u8> {
    format!("t_s,p_w\n{rows}").into_bytes()
}

fn harvest(settings: &Settings, clients: usize, rounds: usize, bytes: &[u8]) -> Harvest {
    let incomes = vec![1e-3; clients];
    Harvest::from_bytes(settings, 1, clients, rounds, &incomes, "t.csv", bytes).unwrap()
}

fn of(source: Source, period_s: f64) -> Settings {
    Settings {
        source,
        file: "t.csv".to_owned(),
        period_s,
        ..Settings::default()
    }
}

fn incomes(harvest: &Harvest, client: usize, rounds: usize) -> Vec<u64> {
    (1..=rounds).map(|n| harvest.income(client, n).0).collect()
}

/// A trace of `rows` uneven rows.
fn random_trace(rng: &mut Rng, rows: u32) -> Vec<u8> {
    let mut t_s = f64::from(rng.below(1_000));
    let mut text = String::new();
    for _ in 0..rows {
        t_s += 1e-3 + 100.0 * rng.uniform();
        text += &format!("{t_s},{}\n", 1e-2 * rng.uniform());
    }
    trace(&text)
}

#[test]
fn the_papers_income_is_the_same_to_the_bit_in_every_round() {
    let settings = of(Source::Constant, 0.01);
    let constant_j = [0.4e-3, 1.75e-3];
    let harvest = Harvest::try_new(&settings, 9, 2, 5, &constant_j).unwrap();
    for (client, joules) in constant_j.into_iter().enumerate() {
        let expected = PicoJoules::from_joules(joules);
        assert_eq!(incomes(&harvest, client, 5), [expected.0; 5]);
        assert_eq!(harvest.income(client, 1_000_000), expected);
        assert_eq!(harvest.income(client, 0), PicoJoules::ZERO);
        for forecast in [Forecast::Mean, Forecast::Last, Forecast::Oracle] {
            for round in 1..5 {
                assert_eq!(forecast.expect(&harvest, client, round), expected);
            }
        }
    }
}

#[test]
fn incomes_add_up_to_the_integral_within_a_picojoule() {
    let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
    for case in 0..200 {
        let rows = 2 + rng.below(40);
        let bytes = random_trace(&mut rng, rows);
        // Periods far shorter and far longer than the trace.
        let period_s = 10f64.powi(rng.below(6) as i32 - 2) * (0.1 + rng.uniform());
        let settings = Settings {
            looping: rng.below(2) == 0,
            start_s: 50.0 * rng.uniform(),
            ..of(Source::Trace, period_s)
        };
        let rounds = 1 + rng.below(300) as usize;
        let fine = harvest(&settings, 1, rounds, &bytes);
        let sum: u64 = incomes(&fine, 0, rounds).iter().sum();
        assert_eq!(sum, fine.total(0, rounds).0, "case {case}");
        // The same time as one round.
        let whole_s = fine.period_s() * rounds as f64;
        let coarse = harvest(
            &Settings {
                period_s: whole_s,
                ..settings
            },
            1,
            1,
            &bytes,
        );
        assert!(sum.abs_diff(coarse.income(0, 1).0) <= 1, "case {case}");
    }
}

#[test]
fn incomes_match_a_hand_calculation() {
    let bytes = trace("0,1e-3\n10,4e-3\n20,0\n30,2e-3\n");
    let harvest = harvest(&of(Source::Trace, 15.0), 1, 6, &bytes);
    // 40 s a pass: 10 + 40 + 0 + 20 mJ.
    let expected = [30, 20, 25, 45, 10, 20].map(|mj| mj * 1_000_000_000);
    assert_eq!(incomes(&harvest, 0, 6), expected);
    assert!((harvest.mean_w(0) - 70e-3 / 40.0).abs() < 1e-15);
    assert_eq!(harvest.length_s(0), Some(40.0));
}

#[test]
fn after_the_end_of_a_trace_nothing_comes_unless_it_loops() {
    let bytes = trace("0,1e-3\n1,1e-3\n");
    let settings = of(Source::Trace, 1.0);
    let ending = Settings {
        looping: false,
        ..settings.clone()
    };
    let millijoule = 1_000_000_000;
    let ends = incomes(&harvest(&ending, 1, 4, &bytes), 0, 4);
    assert_eq!(ends, [millijoule, millijoule, 0, 0]);
    assert_eq!(
        incomes(&harvest(&settings, 1, 4, &bytes), 0, 4),
        [millijoule; 4]
    );
}

#[test]
fn a_looping_trace_repeats_after_its_length() {
    let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
    let rows: String = (0..24)
        .map(|n| format!("{},{}\n", n * 3_600, rng.uniform()))
        .collect();
    let harvest = harvest(&of(Source::Trace, 600.0), 1, 1_000, &trace(&rows));
    let day = 24 * 6;
    let all = incomes(&harvest, 0, 7 * day);
    assert!(all.chunks(day).all(|other| other == &all[..day]));
}

#[test]
fn an_offset_shifts_the_trace_of_each_client() {
    let mut rng = Rng::stream(3, Purpose::Synthetic, 0, 0);
    let bytes = random_trace(&mut rng, 30);
    let settings = Settings {
        offset_s: 20.0,
        ..of(Source::Trace, 10.0)
    };
    let shifted = harvest(&settings, 3, 500, &bytes);
    for client in 0..3 {
        let later = &incomes(&shifted, 0, 500)[2 * client..];
        let own = incomes(&shifted, client, 500 - 2 * client);
        let differ = own
            .iter()
            .zip(later)
            .filter(|(a, b)| a.abs_diff(**b) > 1)
            .count();
        assert_eq!(differ, 0, "client {client}");
        assert_eq!(shifted.mean_w(client), shifted.mean_w(0));
    }
}

#[test]
fn spread_gives_every_client_a_factor_and_keeps_the_shape() {
    let settings = Settings {
        spread: 0.5,
        ..of(Source::Trace, 1.0)
    };
    let harvest = harvest(&settings, 200, 10, &trace("0,1\n1,2\n"));
    let means: Vec<f64> = (0..200)
        .map(|client| harvest.mean_w(client) / 1.5)
        .collect();
    assert!(means.iter().all(|mean| (0.5..1.5).contains(mean)));
    let mean = means.iter().sum::<f64>() / 200.0;
    assert!((mean - 1.0).abs() < 0.06, "{mean}");
    for client in 0..200 {
        let (weak, strong) = (harvest.income(client, 1).0, harvest.income(client, 2).0);
        assert!(strong.abs_diff(2 * weak) <= 2);
    }
}

#[test]
fn random_sources_keep_their_mean() {
    let rounds = 50_000;
    for source in [Source::Bernoulli, Source::Markov] {
        let settings = Settings {
            probability: 0.1,
            off_rounds: 30.0,
            ..of(source, 5.0)
        };
        let harvest = harvest(&settings, 2, rounds, b"");
        for client in 0..2 {
            let mean_j = harvest.total(client, rounds).as_joules() / rounds as f64;
            assert!((mean_j - 1e-3).abs() < 6e-5, "{source}: {mean_j}");
            assert!((harvest.mean_w(client) - 0.2e-3).abs() < 1e-12);
            let drawn = incomes(&harvest, client, 1_000);
            let most = *drawn.iter().max().unwrap();
            assert!(drawn.iter().all(|&income| income == 0 || income == most));
        }
    }
}

#[test]
fn forecasts_match_a_hand_calculation() {
    let harvest = harvest(
        &of(Source::Trace, 1.0),
        1,
        4,
        &trace("0,1\n1,2\n2,6\n3,3\n"),
    );
    let joules = |forecast: Forecast, round| forecast.expect(&harvest, 0, round).as_joules();
    let of_rounds = |forecast| [1, 2, 3, 4].map(|round| joules(forecast, round));
    assert_eq!(of_rounds(Forecast::Oracle), [1.0, 2.0, 6.0, 3.0]);
    assert_eq!(of_rounds(Forecast::Last), [3.0, 1.0, 2.0, 6.0]);
    assert_eq!(of_rounds(Forecast::Mean), [3.0, 1.0, 1.5, 3.0]);
}

#[test]
fn panel_area_efficiency_and_shade_scale_the_irradiance() {
    let bytes = b"t_s,ghi_w_m2\n0,500\n3600,100\n";
    let settings = Settings {
        panel_cm2: 20.0,
        panel_efficiency: 0.15,
        shade: 0.5,
        scale: 2.0,
        ..of(Source::Solar, HOUR_S)
    };
    let harvest = harvest(&settings, 1, 2, bytes);
    // 500 W/m^2 * 20e-4 m^2 * 0.15 * 0.5 * 2 = 150 mW for an hour.
    let expected = [540.0, 108.0].map(|joules| PicoJoules::from_joules(joules).0);
    assert_eq!(incomes(&harvest, 0, 2), expected);
}

#[test]
fn every_builtin_trace_is_read_by_its_source() {
    let joules_of = |mean_w_m2: f64| mean_w_m2 * 10e-4 * 0.2;
    let means = [93.8, 223.5, 253.3, 150.9, 19.6].map(joules_of);
    let means = means.into_iter().chain([175e-6, 1.5e-3]);
    for (builtin, mean_w) in builtin::ALL.iter().zip(means) {
        let settings = Settings {
            file: format!("builtin:{}", builtin.name),
            ..of(builtin.source, HOUR_S)
        };
        let harvest = Harvest::try_new(&settings, 0, 1, 24, &[0.0]).unwrap();
        assert!(
            (harvest.mean_w(0) / mean_w - 1.0).abs() < 2e-3,
            "{}",
            builtin.name
        );
        let days = harvest.length_s(0).unwrap() / 86_400.0;
        assert!(days == 7.0 || days == 1.0, "{}", builtin.name);
        assert_eq!(recognise(builtin.csv.as_bytes()), builtin.source);
        assert!(
            harvest.income(0, 2) < harvest.income(0, 13),
            "{}",
            builtin.name
        );
    }
}

#[test]
fn an_unknown_builtin_is_rejected_with_all_names() {
    let settings = Settings {
        file: "builtin:atlantis".to_owned(),
        ..of(Source::Solar, 1.0)
    };
    let error = Harvest::try_new(&settings, 0, 1, 1, &[0.0]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("builtin:atlantis") && error.contains("greensboro-winter-week"),
        "{error}"
    );
}

#[test]
fn missing_and_endless_files_are_rejected() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&trace("0,1\n1,1\n")).unwrap();
    let at = |path: &str| Settings {
        file: path.to_owned(),
        ..of(Source::Trace, 1.0)
    };
    let path = file.path().to_str().unwrap();
    let harvest = Harvest::try_new(&at(path), 0, 1, 1, &[0.0]).unwrap();
    assert_eq!(harvest.income(0, 1), PicoJoules::from_joules(1.0));
    let missing = format!("{path}.missing");
    let error = Harvest::try_new(&at(&missing), 0, 1, 1, &[0.0]).unwrap_err();
    assert!(error.to_string().starts_with(&missing), "{error}");
    #[cfg(unix)]
    {
        let error = Harvest::try_new(&at("/dev/zero"), 0, 1, 1, &[0.0]).unwrap_err();
        assert!(
            matches!(error, HarvestError::File { line: None, .. }),
            "{error}"
        );
    }
}

#[test]
fn missing_incomes_and_runs_over_300_years_are_rejected() {
    let error = Harvest::try_new(&of(Source::Constant, 1.0), 0, 3, 1, &[1.0]).unwrap_err();
    let expected = HarvestError::Incomes {
        given: 1,
        clients: 3,
    };
    assert_eq!(error.to_string(), expected.to_string());
    let settings = of(Source::Constant, 1e9);
    let error = Harvest::try_new(&settings, 0, 1, usize::MAX, &[1.0]).unwrap_err();
    assert!(error.to_string().contains("300 years"), "{error}");
}
