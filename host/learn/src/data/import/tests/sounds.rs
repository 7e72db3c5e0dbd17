//! Imports of folders of sounds.

pub(super) use super::super::wav::test_file as wav;
use super::*;

/// A second of a tone at a sampling rate of 8 kHz.
pub(super) fn tone(hertz: f64) -> Vec<u8> {
    let sample = |at: u32| {
        let angle = f64::from(at) * hertz / 8000.0 * std::f64::consts::TAU;
        (12_000.0 * angle.sin()) as i16
    };
    let body: Vec<u8> = (0..8000).flat_map(|at| sample(at).to_le_bytes()).collect();
    wav(1, 16, 8000, &body)
}

pub(super) fn scene(files: &[(&str, Vec<u8>)]) -> Scene {
    let scene = Scene::csv("");
    for (name, bytes) in files {
        scene.file(&format!("sounds/{name}"), bytes);
    }
    let path = path_of(&scene).with_file_name("sounds");
    scene.with(|options| {
        options.input = Input::Wav(path);
        (options.window, options.stride) = (8, 8);
        options.testing = Testing::Share(0.34);
    })
}

#[test]
fn folders_are_classes_and_frames_are_sixteen_bands() {
    let scene = scene(&[
        ("high/a.wav", tone(3000.0)),
        ("high/notes.txt", b"not a sound".to_vec()),
        ("low/a.wav", tone(200.0)),
        ("low/b.WAV", tone(210.0)),
    ]);
    let (imported, set) = scene.import().unwrap();
    assert_eq!(set.class_names, ["high", "low"]);
    assert_eq!((set.shape.height, set.shape.width), (8, 16));
    assert_eq!(imported.header.source.files, 3);
    let brightest = |at: usize| {
        let window = &set.train.images[at * 128..at * 128 + 16];
        (0..16).max_by_key(|&band| window[band]).unwrap()
    };
    assert!(brightest(0) > brightest(set.train.len() - 1));
}

#[test]
fn folders_of_clients_hold_folders_of_classes() {
    let files = [
        ("ada/high/a.wav", tone(3000.0)),
        ("ada/low/a.wav", tone(200.0)),
        ("bob/low/a.wav", tone(220.0)),
    ];
    let (_, set) = scene(&files).import().unwrap();
    assert_eq!(set.owners.unwrap().names, ["ada", "bob"]);
}
