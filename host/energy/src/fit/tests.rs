use super::*;
use crate::align::synthetic::{Scene, linear, quadratic};
use crate::align::{Options, by_pins};
use crate::mark::Mark;

fn measure(scene: &Scene) -> Vec<Measured> {
    let alignment = by_pins(&mut scene.record(), &scene.marks, Options::default()).unwrap();
    integrate(&mut scene.record(), &scene.marks, &alignment).unwrap()
}

fn refused(change: impl Fn(&mut Measured)) -> FitError {
    let mut measured = measure(&Scene::rounds(9, 31));
    measured.iter_mut().for_each(change);
    fit(&measured, FEWEST_CLOCKS).unwrap_err()
}

/// Returns the true coefficient; the cycles of the scene include idling.
fn truth(term: &Term, power_w: fn(&Mark) -> f64, mark: Mark) -> f64 {
    let of = |phase| power_w(&Mark { phase, ..mark });
    match term.kind {
        Kind::Sleep => of(Phase::Sleep),
        Kind::Idle => of(Phase::Idle),
        Kind::Receive => of(Phase::Receive),
        Kind::Transmit => of(Phase::Transmit),
        Kind::ReceiveByte | Kind::TransmitByte => 0.0,
        Kind::Cycle => {
            let clk_hz = term.clock_hz.unwrap();
            let train = Mark {
                phase: Phase::Train,
                clk_hz,
                ..mark
            };
            (power_w(&train) - of(Phase::Idle)) / f64::from(clk_hz)
        }
    }
}

#[test]
fn coefficients_are_found_within_their_intervals() {
    let (mut inside, mut all) = (0, 0);
    for seed in 40..46 {
        let scene = Scene::rounds(15, seed);
        let found = fit(&measure(&scene), FEWEST_CLOCKS).unwrap();
        assert_eq!(found.misfit, 0.0, "{found:?}");
        let held_out = found.held_out.unwrap();
        assert!(held_out.median < 0.02, "{held_out:?}");
        for (at, term) in found.coefficients.terms.iter().enumerate() {
            let expected = truth(term, quadratic, scene.marks[0]);
            let (low, high) = found.coefficients.interval(at);
            inside += u32::from((low..=high).contains(&expected));
            all += 1;
        }
    }
    assert!(inside * 100 >= all * 88, "{inside} of {all}");
}

#[test]
fn total_cost_that_grows_as_the_square_is_not_rejected_and_a_linear_one_is() {
    let square = fit(&measure(&Scene::rounds(15, 51)), FEWEST_CLOCKS).unwrap();
    let total = square.total_form.unwrap();
    assert!(!total.rejects_square(), "{total:?}");
    assert!((total.alpha / 4.2e-26 - 1.0).abs() < 1e-2);
    assert!(total.sentence(IN_ALL).contains("not rejected"));
    let straight = Scene {
        power_w: linear,
        ..Scene::rounds(15, 51)
    };
    let total = fit(&measure(&straight), FEWEST_CLOCKS)
        .unwrap()
        .total_form
        .unwrap();
    assert!(
        total.rejects_square() && total.low < 1.0 && total.high > 1.0,
        "{total:?}"
    );
    assert!(total.sentence(IN_ALL).contains("is rejected"));
}

#[test]
fn a_power_of_idling_that_depends_on_the_clock_gets_one_each() {
    let scene = Scene {
        power_w: |mark| match mark.phase {
            Phase::Idle => 10e-3 + 1e-10 * f64::from(mark.clk_hz),
            _ => quadratic(mark),
        },
        ..Scene::rounds(15, 52)
    };
    let found = fit(&measure(&scene), FEWEST_CLOCKS).unwrap();
    let idle = found.coefficients.value(Kind::Idle, 96_000_000).unwrap();
    assert!((idle - 19.6e-3).abs() < 1e-4, "{idle}");
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("depends on the clock"))
    );
}

#[test]
fn cycles_of_a_sample_are_summed_up() {
    let found = fit(&measure(&Scene::rounds(9, 53)), FEWEST_CLOCKS).unwrap();
    let sample = found.sample.unwrap();
    assert_eq!(sample.marks, 9);
    assert!(sample.least <= sample.mean && sample.mean <= sample.most);
}

#[test]
fn fewer_than_three_clocks_are_rejected_unless_one_suffices() {
    let clocks = |clocks: &[u32]| FitError::TooFewClocks {
        found: clocks.to_vec(),
        needed: 3,
    };
    let error = refused(|it| it.mark.clk_hz = 125_000_000);
    assert_eq!(error, clocks(&[125_000_000]));
    let mut measured = measure(&Scene::rounds(9, 31));
    measured.retain(|it| it.mark.clk_hz == 125_000_000);
    let found = fit(&measured, 1).unwrap();
    assert_eq!(found.form, None);
    let mut measured = measure(&Scene::rounds(9, 31));
    measured.retain(|it| it.mark.clk_hz != 96_000_000);
    let error = fit(&measured, FEWEST_CLOCKS).unwrap_err();
    assert_eq!(error, clocks(&[48_000_000, 125_000_000]));
}

#[test]
fn a_measurement_without_work_or_without_waiting_is_rejected() {
    let mut measured = measure(&Scene::rounds(9, 31));
    measured.retain(|it| !computes(it.mark.phase));
    assert_eq!(fit(&measured, FEWEST_CLOCKS), Err(FitError::NoWork));
    assert_eq!(fit(&[], FEWEST_CLOCKS), Err(FitError::NoWork));
    let mut measured = measure(&Scene::rounds(9, 31));
    measured.retain(|it| !matches!(it.mark.phase, Phase::Sleep | Phase::Idle));
    assert_eq!(fit(&measured, FEWEST_CLOCKS), Err(FitError::NoWaiting));
}

#[test]
fn a_coefficient_with_too_few_intervals_is_named() {
    let mut measured = measure(&Scene::rounds(9, 31));
    let mut kept = 0;
    measured.retain(|it| {
        kept += u32::from(it.mark.phase == Phase::Transmit);
        it.mark.phase != Phase::Transmit || kept <= 2
    });
    let error = fit(&measured, FEWEST_CLOCKS).unwrap_err();
    let expected = FitError::TooFewIntervals {
        term: "transmit".to_owned(),
        found: 2,
        needed: 3,
    };
    assert_eq!(error, expected);
}

#[test]
fn bytes_proportional_to_time_get_no_coefficient() {
    let mut measured = measure(&Scene::rounds(9, 31));
    for it in &mut measured {
        it.mark.bytes = ((it.to_s - it.from_s) * 92_160.0) as u32;
    }
    let found = fit(&measured, FEWEST_CLOCKS).unwrap();
    let kinds: Vec<Kind> = found
        .coefficients
        .terms
        .iter()
        .map(|term| term.kind)
        .collect();
    assert!(!kinds.contains(&Kind::ReceiveByte) && kinds.contains(&Kind::Receive));
    assert!(found.notes.iter().any(|note| note.contains("proportional")));
}

#[test]
fn inconsistent_marks_are_rejected() {
    let changes: [fn(&mut Measured); 3] = [
        |it| it.mark.cycles *= 3,
        |it| it.mark.cycles = 0,
        |it| it.mark.clk_hz = 0,
    ];
    for change in changes {
        let error = refused(change);
        assert!(matches!(error, FitError::Implausible { .. }), "{error}");
    }
}

#[test]
fn unequal_intervals_widen_the_confidence_intervals() {
    let scene = Scene {
        // Every other sleep draws a tenth more.
        power_w: |mark| match mark.phase {
            Phase::Sleep if mark.seq % 12 == 0 => 1.32e-3,
            _ => quadratic(mark),
        },
        ..Scene::rounds(18, 54)
    };
    let found = fit(&measure(&scene), FEWEST_CLOCKS).unwrap();
    assert!(found.misfit > 0.001 && found.chi_square > 2.0, "{found:?}");
    let (low, high) = found.coefficients.interval(0);
    assert!(low < 1.26e-3 && high > 1.26e-3, "{low} {high}");
}

#[test]
fn a_dependent_coefficient_is_named() {
    let measured = measure(&Scene::rounds(3, 31));
    let parts: Vec<Part> = measured.iter().map(Measured::inner).collect();
    let energies: Vec<f64> = measured.iter().map(|it| it.inner_j).collect();
    let twice = [Term::any(Kind::Sleep), Term::at(Kind::Sleep, 48_000_000)];
    let here: Vec<usize> = (0..parts.len())
        .filter(|&at| twice[1].amount(&parts[at]) > 0.0)
        .collect();
    let found = estimate(&twice, &parts, &energies, &variances(&measured), &here);
    let term = "sleep at 48 MHz".to_owned();
    assert_eq!(found, Err(FitError::Dependent { term }));
}
