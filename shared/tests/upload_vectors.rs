//! The bytes of `tests/vectors/upload/codes.json`: every code of one change, for other implementations.
//!
//! `GLEANER_BLESS=1 cargo test -p gleaner-shared --test upload_vectors` rewrites the file.

use std::fmt::Write as _;
use std::path::PathBuf;

use gleaner_shared::mlp::code::{Between, Change, Draw, Layers, STRETCH};
use gleaner_shared::mlp::selftest::fingerprint;
use gleaner_shared::mlp::{Clip, Params, UploadCode};
use gleaner_shared::rng::{Purpose, Rng};

/// The least network whose first layer every rank but the largest sends as factors.
type Net = Params<64, 36, 4>;

const DRAW: Draw = Draw {
    seed: 11,
    client: 2,
    round: 5,
};

fn models() -> (Box<Net>, Box<Net>) {
    let mut base = Box::new(Net::new());
    base.initialise(1);
    let (mut model, mut rng) = (base.clone(), Rng::stream(3, Purpose::Synthetic, 0, 0));
    model.map(|_, _, old| old.saturating_add((rng.next_u32() as i32 >> 22) / 3));
    (model, base)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn differences(change: &impl Change) -> Vec<i32> {
    let mut all = Vec::new();
    for layer in 0..change.count() {
        let size = change.size(layer);
        for row in 0..size.rows {
            for first in (0..size.columns).step_by(STRETCH) {
                let mut numbers = vec![0; STRETCH.min(size.columns - first)];
                change.read(layer, row, first, &mut numbers, |number| number);
                all.append(&mut numbers);
            }
        }
    }
    all
}

/// Returns the file: the change in units, and of every code its bytes and a fingerprint of what they decode
/// to.
fn vectors() -> String {
    let (model, base) = models();
    let change = Between {
        model: &*model,
        base: &*base,
    };
    let sizes: Vec<[usize; 2]> = (0..change.count())
        .map(|layer| change.size(layer))
        .map(|size| [size.rows, size.columns])
        .collect();
    let Draw {
        seed,
        client,
        round,
    } = DRAW;
    let mut text = format!(
        "[\n {{\"seed\": {seed}, \"client\": {client}, \"round\": {round}, \"layers\": {sizes:?},\n  \
         \"differences\": {:?},\n  \"codes\": [",
        differences(&change)
    );
    for (at, code) in UploadCode::ALL.into_iter().enumerate() {
        let mut bytes = vec![0; code.encoded_len(&change)];
        let mut work = vec![0; code.work_words(&change)];
        code.encode(&change, Clip::NONE, DRAW, &mut work, &mut bytes)
            .unwrap();
        let decoded = differences(&code.decode(base.shape(), &bytes).unwrap());
        let decoded: Vec<u8> = decoded.iter().flat_map(|it| it.to_le_bytes()).collect();
        let comma = if at == 0 { "" } else { "," };
        write!(
            text,
            "{comma}\n   {{\"code\": \"{code}\", \"decoded\": \"{:016x}\", \"bytes\": \"{}\"}}",
            fingerprint(&decoded),
            hex(&bytes),
        )
        .unwrap();
    }
    text + "\n  ]}\n]\n"
}

#[test]
fn every_code_gives_the_bytes_of_the_vectors() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/upload/codes.json");
    let found = vectors();
    if std::env::var_os("GLEANER_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept == found, "{} is out of date", path.display());
}
