//! Arrays of NumPy, as it writes them and as liars do.

use std::io::Write;

use super::*;

fn npy(descr: &str, fortran: bool, shape: &str, body: &[u8]) -> Vec<u8> {
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

fn floats(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|at| (at as f32).to_le_bytes())
        .collect()
}

/// Ten windows of 3 steps x 2 columns, labels 0 and 1 in turn.
fn features() -> Vec<u8> {
    npy("<f4", false, "(10, 3, 2)", &floats(60))
}

fn labels() -> Vec<u8> {
    let body: Vec<u8> = (0..10i64).flat_map(|at| (at % 2).to_le_bytes()).collect();
    npy("<i8", false, "(10,)", &body)
}

fn scene(features: &[u8], labels: &[u8]) -> Scene {
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
fn arrays_that_are_not_what_they_say_are_refused() {
    let short = &floats(60)[..200];
    for (features, labels, words) in [
        (
            npy("<f4", true, "(10, 6)", &floats(60)),
            labels(),
            "x.npy, byte 10: is in Fortran's order",
        ),
        (
            npy("|O", false, "(10,)", b"pickle"),
            labels(),
            "x.npy, byte 10: elements are `|O`",
        ),
        (
            npy("<f2", false, "(10, 6)", &[0; 120]),
            labels(),
            "x.npy, byte 10: elements are `<f2`",
        ),
        (
            npy("<U3", false, "(10, 1)", &[0; 120]),
            labels(),
            "x.npy, record 0: feature 0 is text",
        ),
        (
            npy("<f4", false, "(10, 6)", short),
            labels(),
            "x.npy, record 8: the file ends here",
        ),
        (
            npy("<f4", false, "(10, 6)", &floats(61)),
            labels(),
            "x.npy: holds more than the 10",
        ),
        (
            npy("<f4", false, "(60,)", &floats(60)),
            labels(),
            "x.npy: has the shape [60]",
        ),
        (
            npy("<f4", false, "()", &floats(1)),
            labels(),
            "x.npy: has the shape []",
        ),
        (
            npy("<f4", false, "(10, 99999999)", &[]),
            labels(),
            "x.npy: has the shape",
        ),
        (
            npy("<f4", false, "(999999999999, 6)", &floats(60)),
            labels(),
            "y.npy: 10 labels, but",
        ),
        (
            features(),
            npy("<i8", false, "(9,)", &[0; 72]),
            "y.npy: 9 labels, but",
        ),
        (
            features(),
            npy("<i8", false, "(99999999,)", &[0; 80]),
            "y.npy: has the shape [99999999]",
        ),
        (
            features(),
            npy("<i8", false, "(60000000,)", &[0; 80]),
            "y.npy, record 10: the file ends",
        ),
        (
            features(),
            npy("<f4", false, "(10,)", &[9; 40]),
            "y.npy, record 0: is ",
        ),
        (
            b"PK\x03\x04abcdefgh".to_vec(),
            labels(),
            "x.npy, byte 0: is no array of NumPy",
        ),
        (
            features()[..50].to_vec(),
            labels(),
            "x.npy, byte 0: ends within its header",
        ),
        (
            b"\x93NUMPY\x09\x00\x10\x00".to_vec(),
            labels(),
            "x.npy, byte 6: version 9",
        ),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
            labels(),
            "x.npy, byte 8: a header of",
        ),
    ] {
        let said = scene(&features, &labels).refusal();
        assert!(said.starts_with(words), "{said}, not {words}");
    }
    let mut nan = floats(60);
    nan[24..28].copy_from_slice(&f32::NAN.to_le_bytes());
    let said = scene(&npy("<f4", false, "(10, 6)", &nan), &labels()).refusal();
    assert_eq!(
        said,
        "x.npy, record 1: feature 0 is NaN, not a finite number"
    );
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

fn npz(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn archive(bytes: &[u8]) -> Scene {
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
fn archives_that_are_damaged_or_hold_anything_are_refused() {
    let whole = npz(&[("x.npy", features()), ("y.npy", labels())]);
    for length in (0..whole.len()).step_by(7) {
        let said = archive(&whole[..length]).refusal();
        assert!(said.starts_with("d.npz"), "{said}");
    }
    let at = whole.len() / 3;
    let mut damaged = whole.clone();
    damaged[at] ^= 0x55;
    assert!(archive(&damaged).import().is_err());
    for (entries, words) in [
        (
            vec![("x.npy", features())],
            "d.npz: no array is called `y` (--label-column); there are x",
        ),
        (
            vec![
                ("x.npy", features()),
                ("z.npy", features()),
                ("y.npy", labels()),
            ],
            "d.npz: one array of features is expected",
        ),
        (
            vec![
                ("x.npy", npy("|O", false, "(10,)", b"\x80\x04")),
                ("y.npy", labels()),
            ],
            "d.npz/x.npy, byte 10: elements are `|O`",
        ),
    ] {
        let said = archive(&npz(&entries)).refusal();
        assert!(said.replace('\\', "/").starts_with(words), "{said}");
    }
}

/// Megabytes of zeros are a few kilobytes in an archive.
#[test]
fn archives_that_unpack_to_far_more_than_they_state_or_can_name_are_stopped() {
    let mut endless = features();
    endless.extend(vec![0; 1 << 24]);
    let bytes = npz(&[("x.npy", endless), ("y.npy", labels())]);
    assert!(bytes.len() < 1 << 16);
    let said = archive(&bytes).refusal().replace('\\', "/");
    assert_eq!(
        said,
        "d.npz/x.npy: holds more than the 10 records of its header"
    );
    let many = npy("|u1", false, "(1000000,)", &vec![0; 1_000_000]);
    let said = archive(&npz(&[("x.npy", features()), ("y.npy", many)])).refusal();
    let said = said.replace('\\', "/");
    assert!(
        said.starts_with("d.npz/y.npy: 1000000 labels, but"),
        "{said}"
    );
    let each: Vec<u8> = (0..300i16).flat_map(i16::to_le_bytes).collect();
    let each = npy("<i2", false, "(300,)", &each);
    let said = archive(&npz(&[("x.npy", features()), ("y.npy", each)])).refusal();
    let said = said.replace('\\', "/");
    let words = "d.npz/y.npy, record 256: the label `256` is one more than the 256 there may be";
    assert!(said.starts_with(words), "{said}");
}
