//! Every refusal, with its wording in `refusals.txt`. `UPDATE_SNAPSHOTS=1 cargo test -p gleaner-learn`
//! rewrites that file.

use super::arrays::{archive, features, floats, labels, npy, npz, scene as arrays_scene};
use super::sounds::{scene as sounds_scene, tone, wav};
use super::*;

/// Refusals of tables; the last ones need more than a few rows.
fn tables(refusals: &mut Vec<String>) {
    for text in [
        "",
        "x,label\n",
        "x,y\n1,2\n",
        "x,x,label\n1,2,a\n",
        "x,,label\n1,2,a\n",
        "label\na\nb\n",
        "1,2,3\n4,5,6\n",
        "x,label\n1,a\n1,a\n",
        "x,label\n1,a\n\n2\n",
        "x,label\r\n1,a\r\n2,b,3\r\n",
        "x,label\n1,a\nnan,b\n",
        "x,label\n1,a\n,b\n",
        "x,label\n1,a\none,b\n",
        "x,label\n1,a\n1e99,b\n",
        "x,label\n1,a\n1,\n",
        "x,label\n1,a\n\"1,b\n",
        "x,label\n1,a\n2,b\n",
    ] {
        refusals.push(Scene::csv(text).refusal());
    }
    let mut text = alternating(100_001);
    text.push_str("NaN,b\n1,b\n");
    refusals.push(Scene::csv(text).refusal());
    let rows: String = (0..900).map(|at| format!("{at},c{}\n", at % 300)).collect();
    refusals.push(Scene::csv(format!("x,label\n{rows}")).refusal());
    for last in ["3,c,test\n4,b,test\n", "2,b,valid\n"] {
        let text = format!("x,label,part\n1,a,train\n2,b,train\n{last}");
        let testing = Testing::Column("part".to_owned());
        refusals.push(
            Scene::csv(text)
                .with(|options| options.testing = testing)
                .refusal(),
        );
    }
    let dan = Scene::csv("x,label,who\n1,a,ada\n2,b,bob\n").with(|options| {
        options.client = Some("who".to_owned());
        options.testing = Testing::Clients(vec!["dan".to_owned()]);
    });
    refusals.push(dan.refusal());
    let scene = Scene::csv("");
    fs::remove_file(path_of(&scene)).unwrap();
    assert!(matches!(scene.import(), Err(ImportError::File(_))));
}

fn options(refusals: &mut Vec<String>) {
    let changes: [fn(&mut Options); 9] = [
        |options| options.window = 0,
        |options| options.window = 1 << 40,
        |options| options.testing = Testing::Share(1.0),
        |options| options.testing = Testing::Share(f64::NAN),
        |options| options.testing = Testing::Clients(vec!["a".to_owned()]),
        |options| options.client = Some("label".to_owned()),
        |options| options.ignore = vec!["z".to_owned()],
        |options| options.classes = vec!["a".to_owned(), "c".to_owned()],
        |options| options.window = 4,
    ];
    for change in changes {
        refusals.push(Scene::csv(alternating(20)).with(change).refusal());
    }
}

fn scales(refusals: &mut Vec<String>) {
    for rows in [
        "x,1,0\n",
        "column,scale,offset\n",
        "column,scale,offset\nx,0,0\n",
        "column,scale,offset\nx,1,nan\n",
        "column,scale,offset\nx,1\n",
        "column,scale,offset\nz,1,0\n",
        "column,scale,offset\nx,1,0\nx,1,0\n",
    ] {
        let scene = Scene::csv(alternating(20));
        let path = scene.file("scale.csv", rows.as_bytes());
        refusals.push(
            scene
                .with(|options| options.scaling = Scaling::File(path))
                .refusal(),
        );
    }
}

fn arrays(refusals: &mut Vec<String>) {
    let mut nan = floats(60);
    nan[24..28].copy_from_slice(&f32::NAN.to_le_bytes());
    for features in [
        npy("<f4", true, "(10, 6)", &floats(60)),
        npy("|O", false, "(10,)", b"pickle"),
        npy("<f2", false, "(10, 6)", &[0; 120]),
        npy("<U3", false, "(10, 1)", &[0; 120]),
        npy("<f4", false, "(10, 6)", &floats(60)[..200]),
        npy("<f4", false, "(10, 6)", &floats(61)),
        npy("<f4", false, "(10, 6)", &nan),
        npy("<f4", false, "(60,)", &floats(60)),
        npy("<f4", false, "()", &floats(1)),
        npy("<f4", false, "(10, 99999999)", &[]),
        npy("<f4", false, "(999999999999, 6)", &floats(60)),
        b"PK\x03\x04abcdefgh".to_vec(),
        features()[..50].to_vec(),
        b"\x93NUMPY\x09\x00\x10\x00".to_vec(),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
    ] {
        refusals.push(arrays_scene(&features, &labels()).refusal());
    }
    for labels in [
        npy("<i8", false, "(9,)", &[0; 72]),
        npy("<i8", false, "(99999999,)", &[0; 80]),
        npy("<i8", false, "(60000000,)", &[0; 80]),
        npy("<f4", false, "(10,)", &[9; 40]),
    ] {
        refusals.push(arrays_scene(&features(), &labels).refusal());
    }
}

/// Refusals of archives, some of which unpack to far more than they state or can be named.
fn archives(refusals: &mut Vec<String>) {
    let mut endless = features();
    endless.extend(vec![0; 1 << 24]);
    let endless = npz(&[("x.npy", endless), ("y.npy", labels())]);
    assert!(endless.len() < 1 << 16);
    refusals.push(archive(&endless).refusal());
    let many = npy("|u1", false, "(1000000,)", &vec![0; 1_000_000]);
    let each: Vec<u8> = (0..300i16).flat_map(i16::to_le_bytes).collect();
    for entries in [
        vec![("x.npy", features())],
        vec![
            ("x.npy", features()),
            ("z.npy", features()),
            ("y.npy", labels()),
        ],
        vec![
            ("x.npy", npy("|O", false, "(10,)", b"\x80\x04")),
            ("y.npy", labels()),
        ],
        vec![("x.npy", features()), ("y.npy", many)],
        vec![
            ("x.npy", features()),
            ("y.npy", npy("<i2", false, "(300,)", &each)),
        ],
    ] {
        refusals.push(archive(&npz(&entries)).refusal());
    }
    let whole = npz(&[("x.npy", features()), ("y.npy", labels())]);
    for length in (0..whole.len()).step_by(7) {
        assert!(archive(&whole[..length]).refusal().starts_with("d.npz"));
    }
    let mut damaged = whole.clone();
    damaged[whole.len() / 3] ^= 0x55;
    assert!(archive(&damaged).import().is_err());
}

fn sounds(refusals: &mut Vec<String>) {
    let short = wav(1, 16, 8000, &[0; 64]);
    for files in [
        vec![("a/x.txt", b"x".to_vec())],
        vec![("a/x.wav", tone(200.0)[..900].to_vec())],
        vec![
            ("a/x.wav", tone(200.0)),
            ("b/x.wav", wav(1, 16, 16_000, &[0; 16_000])),
        ],
        vec![("a/x.wav", tone(200.0)), ("b/c/x.wav", tone(200.0))],
        vec![("a/x.wav", short)],
        vec![("a/x.wav", wav(1, 16, 8000, &[0; 2048]))],
        vec![("a/x.wav", wav(1, 16, 800, &[0; 2048]))],
        vec![("a/x.wav", wav(3, 16, 16_000, &[0; 6]))],
        vec![("a/x.wav", wav(2, 16, 8_000, &[0; 6]))],
    ] {
        refusals.push(sounds_scene(&files).refusal());
    }
}

#[test]
fn refusals_name_the_file_the_place_and_the_fix() {
    let mut refusals = Vec::new();
    for group in [tables, options, scales, arrays, archives, sounds] {
        group(&mut refusals);
    }
    let text = refusals.join("\n") + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/data/import/tests/refusals.txt"
        );
        fs::write(path, &text).unwrap();
        return;
    }
    let expected = include_str!("refusals.txt").replace('\r', "");
    for (found, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(text.lines().count(), expected.lines().count());
}
