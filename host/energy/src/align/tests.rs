use gleaner_shared::energy::Phase;

use super::synthetic::{Recorded, Scene, quadratic};
use super::*;

fn worst_error(scene: &Scene, found: &Alignment) -> f64 {
    (scene.marks.iter())
        .map(|mark| (found.clock.to_trace(board_s(mark)) - scene.trace_s(mark.t_us)).abs())
        .fold(0.0, f64::max)
}

fn refused(scene: &Scene, change: impl Fn(&mut Vec<Mark>)) -> AlignError {
    let mut marks = scene.marks.clone();
    change(&mut marks);
    by_pins(&mut scene.record(), &marks, Options::default()).unwrap_err()
}

fn renumber(marks: &mut [Mark]) {
    for (at, mark) in marks.iter_mut().enumerate() {
        mark.seq = at as u32;
    }
}

#[test]
fn pins_place_every_mark_within_two_samples() {
    let scene = Scene::rounds(12, 1);
    let found = by_pins(&mut scene.record(), &scene.marks, Options::default()).unwrap();
    assert!(worst_error(&scene, &found) < 20e-6, "{:?}", found.clock);
    assert!((found.clock.drift_ppm() - 50.0).abs() < 5.0);
    assert_eq!(found.residuals.len(), scene.marks.len() - 1);
    assert!(found.spread_s() < 10e-6);
}

#[test]
fn power_alone_places_every_mark_within_two_milliseconds() {
    let scene = Scene::rounds(12, 2);
    let found = by_power(&mut scene.record_without_pins(), &scene.marks).unwrap();
    assert_eq!(found.method, Method::Power);
    assert!(worst_error(&scene, &found) < 2e-3, "{:?}", found.clock);
}

#[test]
fn glitches_and_lagging_pins_do_not_change_the_alignment() {
    let scene = Scene::rounds(6, 3);
    let recorded = scene.record();
    let (mut pins, power_w) = recorded.into_parts();
    // Bit 0 is a sample late, and every 5,000th sample has a glitch.
    for at in (1..pins.len()).rev() {
        pins[at] = (pins[at] & 0b110) | (pins[at - 1] & 1);
    }
    for at in (2_500..pins.len()).step_by(5_000) {
        pins[at] ^= 0b101;
    }
    let mut trace = Recorded::new(scene.rate_hz, power_w, pins);
    let found = by_pins(&mut trace, &scene.marks, Options::default()).unwrap();
    assert!(worst_error(&scene, &found) < 20e-6);
    assert!(found.glitches > 10);
}

#[test]
fn consecutive_marks_of_one_phase_share_a_level() {
    let mut scene = Scene::rounds(6, 4);
    let at = scene
        .marks
        .iter()
        .position(|m| m.phase == Phase::Train)
        .unwrap();
    let mut second = scene.marks[at];
    second.t_us += 20_000;
    scene.marks.insert(at + 1, second);
    renumber(&mut scene.marks);
    let found = by_pins(&mut scene.record(), &scene.marks, Options::default()).unwrap();
    assert!(
        found
            .residuals
            .iter()
            .all(|residual| residual.mark != at + 1)
    );
    let interval = found.interval(&scene.marks, at).unwrap();
    assert!((interval.end - interval.start - 0.02).abs() < 1e-5);
}

#[test]
fn lost_marks_are_rejected() {
    let scene = Scene::rounds(4, 5);
    let error = refused(&scene, |marks| {
        marks.remove(8);
    });
    assert!(matches!(error, AlignError::Marks { seq: 9, .. }), "{error}");
    let error = refused(&scene, |marks| {
        marks.remove(8);
        renumber(marks);
    });
    let AlignError::CountsDiffer { agreed, place, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(agreed, 8);
    assert!(place.starts_with("mark 8 "), "{place}");
}

#[test]
fn marks_beyond_the_end_of_the_trace_are_rejected() {
    let mut scene = Scene::rounds(4, 6);
    let marks = scene.marks.clone();
    scene.marks.truncate(15);
    let found = by_pins(&mut scene.record(), &marks, Options::default());
    assert!(
        matches!(found, Err(AlignError::CountsDiffer { agreed: 15, .. })),
        "{found:?}"
    );
}

#[test]
fn a_phase_too_short_to_see_is_named() {
    let mut scene = Scene::rounds(4, 7);
    let next = scene.marks[9].t_us;
    scene.marks[8].t_us = next - 15;
    let error = refused(&scene, |_| {}).to_string();
    assert!(
        error.contains("mark 8 is shorter than 3 samples"),
        "{error}"
    );
}

#[test]
fn a_wrong_rate_or_a_foreign_log_is_rejected() {
    let scene = Scene::rounds(4, 8);
    let error = refused(&scene, |marks| {
        marks
            .iter_mut()
            .for_each(|mark| mark.t_us = mark.t_us * 101 / 100);
    });
    assert!(matches!(error, AlignError::TimesDiffer { .. }), "{error}");
    let error = refused(&scene, |marks| marks[10].t_us += 5_000);
    assert!(
        matches!(error, AlignError::TimesDiffer { seq: 10, .. }),
        "{error}"
    );
}

#[test]
fn disorder_and_too_few_marks_are_rejected() {
    let scene = Scene::rounds(4, 9);
    let error = refused(&scene, |marks| marks[5].t_us = 3);
    assert!(matches!(error, AlignError::Marks { seq: 5, .. }), "{error}");
    let error = refused(&scene, |marks| marks.truncate(2));
    assert_eq!(error, AlignError::TooFew(2));
}

#[test]
fn a_trace_without_pins_or_rate_is_rejected() {
    let scene = Scene::rounds(3, 10);
    let found = by_pins(
        &mut scene.record_without_pins(),
        &scene.marks,
        Options::default(),
    );
    assert_eq!(found, Err(AlignError::NoPins));
    let mut broken = Recorded::new(f64::NAN, vec![0.0; 10], vec![0; 10]);
    assert!(matches!(
        by_pins(&mut broken, &scene.marks, Options::default()),
        Err(AlignError::Rate(_))
    ));
}

#[test]
fn repeating_power_is_rejected() {
    let scene = Scene::rounds(3, 11);
    let (_, once) = scene.record().into_parts();
    let twice = [once.clone(), once].concat();
    let mut trace = Recorded::new(scene.rate_hz, twice, Vec::new());
    let found = by_power(&mut trace, &scene.marks);
    assert!(
        matches!(found, Err(AlignError::Ambiguous { .. })),
        "{found:?}"
    );
}

#[test]
fn power_unrelated_to_the_marks_is_rejected() {
    let scene = Scene::rounds(6, 12);
    let other = Scene {
        marks: Scene::rounds(9, 13).marks.split_off(2),
        power_w: |mark| 0.05 + 1e-3 * f64::from(mark.bytes % 7) + 0.0 * quadratic(mark),
        ..Scene::rounds(9, 13)
    };
    let found = by_power(&mut other.record_without_pins(), &scene.marks);
    assert!(matches!(found, Err(AlignError::Unrelated(_))), "{found:?}");
    let mut flat = Recorded::new(100e3, vec![0.05; 300_000], Vec::new());
    let found = by_power(&mut flat, &scene.marks);
    assert!(matches!(found, Err(AlignError::Unrelated(_))), "{found:?}");
    let mut short = Recorded::new(100e3, vec![0.05; 3_000], Vec::new());
    let found = by_power(&mut short, &scene.marks);
    assert!(
        matches!(found, Err(AlignError::TooShort { .. })),
        "{found:?}"
    );
}
