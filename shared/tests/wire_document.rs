//! `docs/reference/wire.md` and the code agree to the byte, both ways.
//!
//! `GLEANER_BLESS=1 cargo test -p gleaner-shared --test wire_document` rewrites the examples.

#[path = "samples/mod.rs"]
mod samples;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use gleaner_shared::wire::message::{self, DeviceToHost, HostToDevice};
use gleaner_shared::wire::transfer::Chunk;
use gleaner_shared::wire::{
    Arrival, Direction, Frame, FrameBuffer, FrameDecoder, Header, Key, Kind, PROTOCOL_VERSION,
    SCHEMA_HASH, SessionKey,
};

const EXAMPLES: &str = "## 13. Examples of every message";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/wire.md")
}

fn document() -> String {
    std::fs::read_to_string(path()).expect("docs/reference/wire.md")
}

fn key() -> Key {
    Key::new(std::array::from_fn(|at| at as u8))
}

/// Returns the session of the device key with these nonces.
fn session() -> SessionKey {
    key().session(&[0x11; 16], &[0x22; 16])
}

fn header() -> Header {
    Header {
        direction: Direction::HostToDevice,
        kind: Kind::Reliable,
        session: session().id(),
        sequence: 5,
    }
}

const GREETING: Header = Header {
    direction: Direction::DeviceToHost,
    kind: Kind::Greeting,
    session: 0,
    sequence: 0,
};

/// The number of the reliable message in the example frame.
const NUMBER: [u8; 2] = [2, 0];
const CHUNK: Chunk<'static> = Chunk {
    transfer: 1,
    index: 3,
    status_wanted: true,
    data: &[0xAA, 0xBB, 0xCC],
};

fn encoded<T: serde::Serialize>(value: &T) -> Vec<u8> {
    let mut buffer = [0; 1024];
    let len = message::encode(value, &mut buffer).expect("it fits");
    buffer[..len].to_vec()
}

/// Returns the expected examples by name: a comment, if any, and the bytes.
fn expected_in_text() -> BTreeMap<String, Vec<u8>> {
    let payload = [&NUMBER[..], &encoded(&HostToDevice::Inspect)].concat();
    let mut buffer = FrameBuffer::new();
    buffer.payload()[..payload.len()].copy_from_slice(&payload);
    let line = buffer.seal(&header(), payload.len(), &session()).to_vec();
    let hello = encoded(&hello());
    buffer.payload()[..hello.len()].copy_from_slice(&hello);
    let greeting = buffer.sign(&GREETING, hello.len(), &key()).to_vec();
    // Derived here from the text of the document, and compared with the code.
    let device_key: [u8; 32] = std::array::from_fn(|at| at as u8);
    let derive = |key: &[u8; 32], text: &[u8]| *blake3::keyed_hash(key, text).as_bytes();
    let input = [&b"gleaner session"[..], &[0x11; 16], &[0x22; 16]].concat();
    let secret = derive(&device_key, &input);
    let number = &derive(&secret, b"gleaner session id")[..4];
    assert_eq!(number, session().id().to_le_bytes());
    let greeting_key = derive(&device_key, b"gleaner greeting");
    let signed = unstuffed(&greeting);
    let (tagged, tag) = signed[..signed.len() - 4].split_at(signed.len() - 20);
    assert_eq!(&derive(&greeting_key, tagged)[..16], tag);
    let mut chunk = [0; 7];
    CHUNK.write(&mut chunk).expect("it fits");
    BTreeMap::from([
        ("frame-payload".into(), payload),
        ("frame-sealed".into(), unstuffed(&line)),
        ("frame-line".into(), line),
        ("greeting-key".into(), greeting_key.to_vec()),
        ("greeting-signed".into(), signed),
        ("session-secret".into(), secret.to_vec()),
        ("session-number".into(), number.to_vec()),
        (
            "session-frames-key".into(),
            derive(&secret, b"gleaner session frames")[..16].to_vec(),
        ),
        ("chunk".into(), chunk.to_vec()),
    ])
}

fn hello() -> DeviceToHost {
    let samples = samples::device_to_host();
    let hello = samples.into_iter().find(|(name, _)| *name == "hello");
    hello.expect("a greeting").1
}

/// Decodes COBS, implemented a second time from the document.
fn unstuffed(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = &line[..line.len() - 1];
    while let Some((&code, tail)) = rest.split_first() {
        let (piece, tail) = tail.split_at(usize::from(code) - 1);
        plain.extend_from_slice(piece);
        if code != 0xFF && !tail.is_empty() {
            plain.push(0);
        }
        rest = tail;
    }
    plain
}

fn hex(bytes: &[u8]) -> String {
    let lines: Vec<String> = bytes
        .chunks(32)
        .map(|line| {
            line.iter()
                .map(|byte| format!("{byte:02X}"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    lines.join("\n")
}

/// Returns the last section of the document.
fn examples() -> String {
    let mut text = format!(
        "{EXAMPLES}\n\nThe line after `#` is the value as the Rust code prints it, then follow the \
         bytes of the message as\nthey stand in a frame's payload. Version and sizes in them are made \
         up.\n\n### Host to device\n"
    );
    let mut add = |name: &str, value: String, bytes: &[u8]| {
        write!(text, "\n```hex {name}\n# {value}\n{}\n```\n", hex(bytes)).expect("a string");
        text.len()
    };
    for (name, value) in samples::host_to_device() {
        add(name, format!("{value:?}"), &encoded(&value));
    }
    let split = add("split", String::new(), &[]);
    for (name, value) in samples::device_to_host() {
        add(name, format!("{value:?}"), &encoded(&value));
    }
    text[..split].replace("\n```hex split\n# \n\n```\n", "\n### Device to host\n") + &text[split..]
}

fn bless() {
    let mut text = document();
    text.truncate(text.find(EXAMPLES).expect("the last section"));
    text.push_str(&examples());
    for (name, bytes) in expected_in_text() {
        let open = format!("```hex {name}\n");
        let start = text.find(&open).expect("a block of that name") + open.len();
        let end = start + text[start..].find("```").expect("its end");
        text.replace_range(start..end, &format!("{}\n", hex(&bytes)));
    }
    let mark = "Schema hash: `";
    let start = text.find(mark).expect("the schema hash") + mark.len();
    text.replace_range(start..start + 18, &format!("{SCHEMA_HASH:#018x}"));
    std::fs::write(path(), text).expect("a writable document");
}

/// Returns all `hex` blocks of the document: name, comment, bytes.
fn blocks() -> Vec<(String, String, Vec<u8>)> {
    let text = document();
    let mut found = Vec::new();
    for block in text.split("```hex ").skip(1) {
        let (name, rest) = block.split_once('\n').expect("a name");
        let (body, _) = rest.split_once("```").expect("an end");
        let (comments, lines): (Vec<&str>, Vec<&str>) =
            body.lines().partition(|line| line.starts_with('#'));
        let bytes = lines
            .iter()
            .flat_map(|line| line.split_whitespace())
            .map(|byte| u8::from_str_radix(byte, 16).expect("a byte in hexadecimal"))
            .collect();
        found.push((name.to_string(), comments.join("\n"), bytes));
    }
    found
}

#[test]
fn every_example_is_what_the_code_writes() {
    if std::env::var_os("GLEANER_BLESS").is_some() {
        bless();
    }
    let mut expected: BTreeMap<String, (String, Vec<u8>)> = expected_in_text()
        .into_iter()
        .map(|(name, bytes)| (name, (String::new(), bytes)))
        .collect();
    for (name, value) in samples::host_to_device() {
        expected.insert(name.into(), (format!("# {value:?}"), encoded(&value)));
    }
    for (name, value) in samples::device_to_host() {
        expected.insert(name.into(), (format!("# {value:?}"), encoded(&value)));
    }
    let mut written = BTreeMap::new();
    for (name, comment, bytes) in blocks() {
        let before = written.insert(name.clone(), (comment, bytes));
        assert_eq!(before, None, "{name} is there twice");
    }
    assert_eq!(written, expected);
}

#[test]
fn every_example_decodes_to_what_it_states() {
    let blocks: BTreeMap<String, Vec<u8>> = blocks()
        .into_iter()
        .map(|(name, _, bytes)| (name, bytes))
        .collect();
    for (name, value) in samples::host_to_device() {
        assert_eq!(message::decode(&blocks[name]), Ok(value), "{name}");
    }
    for (name, value) in samples::device_to_host() {
        assert_eq!(message::decode(&blocks[name]), Ok(value), "{name}");
    }

    let mut decoder = FrameDecoder::new();
    let Some(Arrival::Frame(frame)) = decoder.next_in(&mut &blocks["frame-line"][..]) else {
        panic!("the example on the line is no frame");
    };
    let mut sealed = blocks["frame-sealed"].clone();
    let unstuffed = Frame::parse(&mut sealed).expect("the sealed example is a frame");
    assert_eq!(frame, unstuffed);
    assert_eq!(frame.header, header());
    let payload = frame.open(&session()).expect("sealed in this session");
    assert_eq!(payload, blocks["frame-payload"]);
    let (number, rest) = payload.split_at(2);
    assert_eq!(number, NUMBER);
    assert_eq!(message::decode(rest), Ok(HostToDevice::Inspect));

    let mut signed = blocks["greeting-signed"].clone();
    let greeting = Frame::parse(&mut signed).expect("the greeting is a frame");
    assert!(greeting.is_signed_by(&key()));
    assert_eq!(greeting.header, GREETING);
    assert_eq!(message::decode(greeting.payload()), Ok(hello()));

    assert_eq!(Chunk::parse(&blocks["chunk"]), Some(CHUNK));
}

#[test]
fn version_and_schema_are_those_of_the_code() {
    let text = document();
    let stated =
        format!("Protocol version: `{PROTOCOL_VERSION}`. Schema hash: `{SCHEMA_HASH:#018x}`.");
    assert!(
        text.contains(&stated),
        "docs/reference/wire.md must say: {stated}"
    );
}
