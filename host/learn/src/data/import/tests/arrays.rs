//! Imports of NumPy arrays and archives.

use std::io::Write;

use super::*;

pub(super) fn npy(descr: &str, fortran: bool, shape: &str, body: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let padding = 63 - (10 + text.len()) % 64;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(body);
    bytes
}

pub(super) fn floats(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|at| (at as f32).to_le_bytes())
        .collect()
}

/// Ten windows of 3 steps x 2 columns, labels 0 and 1 in turn.
pub(super) fn features() -> Vec<u8> {
    npy("<f4", false, "(10, 3, 2)", &floats(60))
}

pub(super) fn labels() -> Vec<u8> {
    let body: Vec<u8> = (0..10i64).flat_map(|at| (at % 2).to_le_bytes()).collect();
    npy("<i8", false, "(10,)", &body)
}

pub(super) fn scene(features: &[u8], labels: &[u8]) -> Scene {
    let scene = Scene::csv("");
    let (features, labels) = (scene.file("x.npy", features), scene.file("y.npy", labels));
    scene.with(|options| options.input = Input::Npy { features, labels })
}

#[test]
fn windows_of_an_array_keep_their_steps_and_share_the_scale_of_a_column() {
    let (imported, set) = scene(&features(), &labels()).import().unwrap();
    assert_eq!((set.shape.height, set.shape.width), (3, 2));
    assert_eq!(imported.header.columns.len(), 2);
    assert_eq!((set.train.len(), set.test.len()), (8, 2));
    // 0 is byte 0 of its column and 1 of the other.
    assert_eq!(set.train.images[..2], [0, 0]);
}

#[test]
fn rows_of_an_array_are_cut_into_windows_and_texts_are_labels() {
    let names: Vec<u8> = (0..40)
        .flat_map(|at| if at < 20 { *b"up\0\0" } else { *b"down" })
        .collect();
    let features = npy("<f4", false, "(40, 2)", &floats(80));
    let scene = scene(&features, &npy("|S4", false, "(40,)", &names));
    let scene = scene.with(|options| (options.window, options.stride) = (4, 2));
    let (_, set) = scene.import().unwrap();
    assert_eq!(set.class_names, ["down", "up"]);
    assert_eq!(set.inputs(), 8);
}

#[test]
fn either_order_of_bytes_says_the_same() {
    let turned = |bytes: &[u8], size| -> Vec<u8> {
        let elements = bytes.chunks(size).map(|it| it.iter().rev().copied());
        elements.flatten().collect()
    };
    let sign: Vec<u8> = (0..10i64)
        .flat_map(|at| (-(at % 2)).to_le_bytes())
        .collect();
    let little = scene(&features(), &npy("<i8", false, "(10,)", &sign));
    let big = scene(
        &npy(">f4", false, "(10, 3, 2)", &turned(&floats(60), 4)),
        &npy(">i8", false, "(10, 1)", &turned(&sign, 8)),
    );
    let (little, big) = (little.import().unwrap().1, big.import().unwrap().1);
    assert_eq!(little.class_names, ["-1", "0"]);
    assert_eq!(little.class_names, big.class_names);
    assert_eq!(little.train.images, big.train.images);
    assert_eq!(little.train.labels, big.train.labels);
}

pub(super) fn npz(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(super) fn archive(bytes: &[u8]) -> Scene {
    let scene = Scene::csv("");
    let path = scene.file("d.npz", bytes);
    scene.with(|options| {
        options.input = Input::Npz(path);
        options.label = "y".to_owned();
    })
}

#[test]
fn archives_hold_features_labels_and_clients() {
    let who: Vec<u8> = (0..10).map(|at| b'0' + at / 5).collect();
    let bytes = npz(&[
        ("x.npy", features()),
        ("y.npy", labels()),
        ("who.npy", npy("|S1", false, "(10,)", &who)),
    ]);
    let scene = archive(&bytes).with(|options| {
        options.client = Some("who".to_owned());
        options.testing = Testing::Share(0.4);
    });
    let (_, set) = scene.import().unwrap();
    assert_eq!(set.owners.unwrap().names, ["0", "1"]);
    let (_, plain) = archive(&npz(&[("x.npy", features()), ("y.npy", labels())]))
        .import()
        .unwrap();
    assert_eq!(plain.train.len(), 8);
}

#[test]
fn a_small_archive_that_states_a_huge_array_is_refused_before_it_is_unpacked() {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, bytes) in [("x.npy", features()), ("label.npy", labels())] {
        writer.start_file(name, options).unwrap();
        writer.write_all(&bytes).unwrap();
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    // The unpacked size of the first file, in the directory at the end.
    let entry = bytes.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
    bytes[entry + 24..entry + 28].copy_from_slice(&0x7FFF_FFFFu32.to_le_bytes());
    let scene = Scene::csv("");
    let path = scene.file("x.npz", &bytes);
    let scene = scene.with(|options| options.input = Input::Npz(path));
    let refused = scene.import().unwrap_err().to_string();
    assert!(refused.contains("2147483647 bytes"), "{refused}");
}
