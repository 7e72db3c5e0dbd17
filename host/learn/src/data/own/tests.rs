//! Intact and damaged files of data sets.

use super::*;
use crate::data::DataError;

pub(crate) fn header() -> Header {
    Header {
        name: "tiny".to_owned(),
        about: String::new(),
        classes: vec!["rest".to_owned(), "walk".to_owned()],
        columns: ["x", "y"]
            .map(|name| Column {
                name: name.to_owned(),
                scale: 0.5,
                offset: -1.0,
            })
            .to_vec(),
        window: 2,
        clients: vec!["ada".to_owned(), "bob".to_owned()],
        train: 3,
        test: 1,
        source: Source {
            kind: "csv".to_owned(),
            name: "tiny.csv".to_owned(),
            files: 1,
            bytes: 7,
            sha256: String::new(),
        },
    }
}

fn write(directory: &std::path::Path, header: &Header) -> [u8; 32] {
    let mut writer = Writer::create(directory, header).unwrap();
    for (at, (label, test, owner)) in
        (0..).zip([(0, false, 0), (1, false, 1), (1, true, 0), (0, false, 1)])
    {
        let features = &[at, 10 + at, 20 + at, 30 + at];
        let record = Record {
            features,
            label,
            test,
            owner,
        };
        writer.record(&record).unwrap();
    }
    writer.finish().unwrap()
}

fn bytes() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &header());
    std::fs::read(folder.path().join(FILE)).unwrap()
}

/// Returns the byte that the error names.
fn refusal(bytes: &[u8]) -> usize {
    match parse(std::path::Path::new("x.gds"), bytes, "tiny") {
        Err(DataError::Malformed { offset, .. }) => offset,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sets_are_read_as_written_and_no_temporary_file_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let digest = write(folder.path(), &header());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(read_header(folder.path()).unwrap(), header());
    let set = read(folder.path(), "tiny").unwrap();
    assert_eq!((set.inputs(), set.classes), (4, 2));
    assert_eq!(set.class_names, ["rest", "walk"]);
    assert_eq!(set.train.labels, [0, 1, 0]);
    assert_eq!(set.train.images[4..8], [1, 11, 21, 31]);
    assert_eq!(set.test.labels, [1]);
    let owners = set.owners.unwrap();
    assert_eq!(
        (&owners.train[..], &owners.test[..]),
        (&[0, 1, 1][..], &[0][..])
    );
    let bytes = std::fs::read(folder.path().join(FILE)).unwrap();
    assert_eq!(bytes[bytes.len() - 32..], digest);
}

#[test]
fn a_set_without_clients_has_no_owners() {
    let folder = tempfile::tempdir().unwrap();
    let clients = Vec::new();
    write(
        folder.path(),
        &Header {
            clients,
            ..header()
        },
    );
    assert_eq!(read(folder.path(), "tiny").unwrap().owners, None);
}

#[test]
fn every_flipped_bit_and_every_length_is_noticed() {
    let whole = bytes();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            refusal(&damaged);
        }
    }
    for length in 0..whole.len() {
        refusal(&whole[..length]);
    }
    refusal(&[&whole[..], &[0]].concat());
}

#[test]
fn random_bytes_behind_a_true_beginning_are_refused() {
    let whole = bytes();
    for seed in 0..2_000_u64 {
        let mut rng =
            gleaner_shared::rng::Rng::stream(seed, gleaner_shared::rng::Purpose::Partition, 0, 0);
        let keep = (rng.uniform() * whole.len() as f64) as usize;
        let more = (rng.uniform() * 400.0) as usize;
        let mut made = whole[..keep].to_vec();
        made.extend((0..more).map(|_| (rng.uniform() * 256.0) as u8));
        refusal(&made);
    }
}

/// Returns a file with any header and the right digest.
fn forged(text: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(body);
    bytes.extend(gleaner_files::sha256(&bytes));
    bytes
}

#[test]
fn headers_that_lie_are_refused() {
    let text = serde_json::to_string(&header()).unwrap();
    let body = [[0, 1, 2, 3, 0, 0, 0, 0]; 3].concat();
    let body = [&body[..], &[0, 1, 2, 3, 1, 1, 0, 0]].concat();
    let read = |bytes: &[u8]| parse(std::path::Path::new("x"), bytes, "t");
    assert!(read(&forged(&text, &body)).is_ok());
    for (truth, lie) in [
        ("\"train\":3", "\"train\":4"),
        ("\"train\":3,\"test\":1", "\"train\":2,\"test\":2"),
        ("\"train\":3", "\"train\":18446744073709551615"),
        ("\"train\":3", "\"train\":4294967295"),
        ("\"train\":3", "\"train\":-3"),
        ("\"test\":1", "\"test\":0"),
        ("\"window\":2", "\"window\":0"),
        ("\"window\":2", "\"window\":9223372036854775807"),
        ("\"window\":2", "\"window\":40000"),
        ("[\"rest\",\"walk\"]", "[\"rest\"]"),
        ("0.5", "0.0"),
        ("0.5", "-0.5"),
        ("0.5", "1e39"),
        ("\"about\":\"\"", "\"about\":\"\",\"more\":1"),
        ("\"clients\":[\"ada\",\"bob\"]", "\"clients\":[]"),
        ("\"clients\":[\"ada\",\"bob\"]", "\"clients\":7"),
    ] {
        assert!(text.contains(truth), "{truth}");
        let error = read(&forged(&text.replace(truth, lie), &body)).unwrap_err();
        assert!(
            matches!(error, DataError::Malformed { .. }),
            "{lie}: {error}"
        );
    }
    // Label, part and client of the first record.
    for at in [4, 5, 6] {
        let mut body = body.clone();
        body[at] = 2;
        assert_eq!(refusal(&forged(&text, &body)), PREFIX + text.len() + at);
    }
    assert_eq!(refusal(&forged(&text, &[0; 32])), PREFIX + text.len() + 32);
}

#[test]
fn another_version_is_refused() {
    let mut other = bytes();
    other[7] = 2;
    assert_eq!(refusal(&other), 0);
}
