//! Properties of all frames, messages and transfers.

#[allow(dead_code, reason = "each test program uses some of them")]
#[path = "samples/mod.rs"]
mod samples;

use gleaner_shared::wire::message::{self, ModelHash, Offer, Payload};
use gleaner_shared::wire::transfer::{Accepted, ChunkOutcome, Heard, Receiver, Sender};
use gleaner_shared::wire::{
    Arrival, DeviceToHost, Direction, FrameBuffer, FrameDecoder, Header, HostToDevice, Key, Kind,
    SessionKey,
};
use proptest::prelude::*;

fn key() -> SessionKey {
    Key::new([3; 32]).session(&[1; 16], &[2; 16])
}

fn header() -> impl Strategy<Value = Header> {
    let kinds = [
        Kind::Open,
        Kind::Greeting,
        Kind::Message,
        Kind::Reliable,
        Kind::Chunk,
    ];
    (
        any::<bool>(),
        prop::sample::select(kinds.to_vec()),
        any::<u32>(),
        any::<u32>(),
    )
        .prop_map(|(up, kind, session, sequence)| Header {
            direction: if up {
                Direction::DeviceToHost
            } else {
                Direction::HostToDevice
            },
            kind,
            session,
            sequence,
        })
}

/// Payloads with many zeros, with few, and of all lengths.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..=1024),
        prop::collection::vec(0..2u8, 0..=300),
        prop::collection::vec(1..=255u8, 0..=1024),
    ]
}

fn seal(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut buffer = FrameBuffer::new();
    buffer.payload()[..payload.len()].copy_from_slice(payload);
    buffer.seal(header, payload.len(), &key()).to_vec()
}

/// Returns all authentic frames on a line.
fn received(line: &[u8]) -> Vec<(Header, Vec<u8>)> {
    let mut decoder = FrameDecoder::new();
    let mut rest = line;
    let mut frames = Vec::new();
    while let Some(arrival) = decoder.next_in(&mut rest) {
        if let Arrival::Frame(frame) = arrival {
            let header = frame.header;
            frames.extend(frame.open(&key()).map(|payload| (header, payload.to_vec())));
        }
    }
    frames
}

proptest! {
    #[test]
    fn a_frame_comes_back_as_it_was(header in header(), payload in payload()) {
        let line = seal(&header, &payload);
        prop_assert_eq!(line.iter().filter(|&&byte| byte == 0).count(), 1);
        prop_assert_eq!(received(&line), vec![(header, payload)]);
    }

    #[test]
    fn a_good_frame_is_received_after_any_garbage_and_a_delimiter(
        garbage in prop::collection::vec(any::<u8>(), 0..3000),
        header in header(),
        payload in payload(),
    ) {
        let line = [&garbage[..], &[0], &seal(&header, &payload)].concat();
        prop_assert_eq!(received(&line), vec![(header, payload)]);
    }

    #[test]
    fn an_oversized_frame_is_skipped_whole(
        noise in prop::collection::vec(1..=255u8, 1100..4000),
        inner in payload(),
        header in header(),
    ) {
        // The tail of the noise looks like a frame; without a delimiter before it, it is not one.
        let line = [&noise[..], &seal(&header, &inner), &seal(&header, &[])].concat();
        prop_assert_eq!(received(&line), vec![(header, Vec::new())]);
    }

    #[test]
    fn how_the_line_cuts_the_bytes_does_not_matter(
        header in header(),
        payload in payload(),
        cuts in prop::collection::vec(1..200usize, 1..20),
    ) {
        let line = seal(&header, &payload);
        let mut decoder = FrameDecoder::new();
        let (mut rest, mut cuts) = (&line[..], cuts.into_iter().cycle());
        let mut frames = 0;
        while !rest.is_empty() {
            let (mut piece, tail) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
            rest = tail;
            while let Some(arrival) = decoder.next_in(&mut piece) {
                let Arrival::Frame(frame) = arrival else {
                    return Err(TestCaseError::fail("damaged"));
                };
                prop_assert_eq!(frame.open(&key()), Some(&payload[..]));
                frames += 1;
            }
        }
        prop_assert_eq!(frames, 1);
    }

    /// Runs are processed as a whole, bytes one by one: the arrivals must be equal.
    #[test]
    fn bytes_in_one_piece_and_one_by_one_are_the_same_arrivals(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..1500),
                (header(), payload()).prop_map(|(header, payload)| seal(&header, &payload)),
            ],
            0..4,
        ),
    ) {
        let line = pieces.concat();
        let (mut whole, mut single) = (FrameDecoder::new(), FrameDecoder::new());
        let mut rest = &line[..];
        for byte in &line {
            if let Some(arrival) = single.push(*byte) {
                prop_assert_eq!(Some(arrival), whole.next_in(&mut rest));
            }
        }
        prop_assert_eq!(whole.next_in(&mut rest), None);
        prop_assert_eq!(whole.counters(), single.counters());
    }

    #[test]
    fn an_altered_frame_is_never_accepted(
        header in header(),
        payload in payload(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..6),
    ) {
        let line = seal(&header, &payload);
        let mut altered = line.clone();
        for (at, change) in &changes {
            altered[at.index(line.len())] ^= change;
        }
        prop_assume!(altered != line);
        for frame in received(&altered) {
            prop_assert_eq!(frame, (header, payload.clone()));
        }
    }

    #[test]
    fn a_signed_frame_is_readable_and_altered_by_nobody(
        payload in payload(),
        at in any::<prop::sample::Index>(),
        change in 1..=255u8,
    ) {
        let (owner, header) = (Key::new([3; 32]), Header {
            direction: Direction::DeviceToHost,
            kind: Kind::Greeting,
            session: 0,
            sequence: 0,
        });
        let mut buffer = FrameBuffer::new();
        buffer.payload()[..payload.len()].copy_from_slice(&payload);
        let mut line = buffer.sign(&header, payload.len(), &owner).to_vec();
        let signed = |line: &[u8]| match FrameDecoder::new().next_in(&mut &line[..]) {
            Some(Arrival::Frame(frame)) => {
                (frame.is_signed_by(&owner), frame.payload().to_vec())
            }
            _ => (false, Vec::new()),
        };
        prop_assert_eq!(signed(&line), (true, payload));
        let at = at.index(line.len());
        line[at] ^= change;
        prop_assert!(!signed(&line).0);
    }

    #[test]
    fn no_bytes_upset_the_message_parsers(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = message::decode::<HostToDevice>(&bytes);
        let _ = message::decode::<DeviceToHost>(&bytes);
    }

    #[test]
    fn a_message_with_anything_behind_it_is_refused(extra in prop::collection::vec(any::<u8>(), 1..9)) {
        let mut buffer = [0; 1024];
        for (name, sample) in samples::device_to_host() {
            let len = message::encode(&sample, &mut buffer).expect("it fits");
            let bytes = [&buffer[..len], &extra].concat();
            prop_assert!(message::decode::<DeviceToHost>(&bytes).is_err(), "{}", name);
            prop_assert!(message::decode::<DeviceToHost>(&bytes[..len - 1]).is_err(), "{}", name);
        }
    }

    #[test]
    fn a_transfer_ends_identical_whatever_is_lost(
        source in prop::collection::vec(any::<u8>(), 1..20_000),
        window in 1..20u16,
        fates in prop::collection::vec(0..4u8, 1..64),
    ) {
        let offer = Offer {
            transfer: 1,
            payload: Payload::Update,
            work: None,
            len: source.len() as u32,
            hash: ModelHash::of(&source),
        };
        let mut store = vec![0; source.len()];
        let mut receiver = Receiver::new();
        prop_assert_eq!(receiver.accept(&offer, &store), Ok(Accepted::Fresh));
        let mut sender = Sender::new(offer, window).expect("a length a transfer can have");
        let mut sequence = 0;
        // One chunk in four is lost; the last one never, so that the transfer ends.
        let mut fates = fates.into_iter().chain([1]).cycle();
        let mut complete = 0;
        let mut rounds = 0;
        while sender.heard(&receiver.status(sequence).expect("an offer")) != Heard::Delivered {
            rounds += 1;
            prop_assert!(rounds < 10_000, "no end");
            while sender.is_ready() {
                sequence += 1;
                let chunk = sender.next_chunk(sequence, &source).expect("ready");
                if fates.next() == Some(0) {
                    continue;
                }
                let outcome = receiver.chunk(&chunk, &mut store);
                complete += usize::from(outcome == ChunkOutcome::Complete);
                prop_assert_eq!(
                    matches!(outcome, ChunkOutcome::Written | ChunkOutcome::Complete),
                    true
                );
                // A duplicate changes nothing.
                prop_assert_eq!(receiver.chunk(&chunk, &mut store), ChunkOutcome::Duplicate);
            }
            // The answer to a poll lists everything sent so far.
            sequence += 1;
        }
        prop_assert_eq!(complete, 1);
        prop_assert_eq!(store, source);
    }
}

#[test]
fn a_wrong_hash_is_detected_before_use_and_given_up_in_the_end() {
    let source = [7; 2000];
    let offer = Offer {
        transfer: 1,
        payload: Payload::Model,
        work: None,
        len: 2000,
        hash: ModelHash([0; 16]),
    };
    let mut store = [0; 2000];
    let mut receiver = Receiver::new();
    receiver.accept(&offer, &store).expect("room");
    let mut sender = Sender::new(offer, 8).expect("a good length");
    let mut mismatches = 0;
    let mut sequence = 0;
    while !receiver.is_hopeless() {
        let heard = sender.heard(&receiver.status(sequence).expect("an offer"));
        assert_eq!(heard, Heard::Progress, "the hash cannot fit");
        while let Some(chunk) = sender.next_chunk(sequence + 1, &source) {
            sequence += 1;
            let outcome = receiver.chunk(&chunk, &mut store);
            mismatches += usize::from(outcome == ChunkOutcome::HashMismatch);
        }
        assert!(mismatches < 10, "never given up");
    }
    assert_eq!(mismatches, 4);
}

#[test]
fn a_receiver_continues_only_with_bytes_that_are_still_there() {
    let source: Vec<u8> = (0..3000u32).map(|at| (at * 7) as u8).collect();
    let offer = |transfer| Offer {
        transfer,
        payload: Payload::Model,
        work: None,
        len: 3000,
        hash: ModelHash::of(&source),
    };
    let mut store = vec![0; 3000];
    let mut receiver = Receiver::new();
    receiver.accept(&offer(1), &store).expect("room");
    let mut sender = Sender::new(offer(1), 8).expect("a good length");
    sender.heard(&receiver.status(0).expect("an offer"));
    for sequence in 1..=2 {
        let chunk = sender.next_chunk(sequence, &source).expect("ready");
        receiver.chunk(&chunk, &mut store);
    }
    assert_eq!(
        receiver.accept(&offer(2), &store),
        Ok(Accepted::Resumed { chunks: 2 })
    );
    let mut sender = Sender::new(offer(2), 8).expect("a good length");
    sender.heard(&receiver.status(0).expect("an offer"));
    let mut sequence = 0;
    while let Some(chunk) = sender.next_chunk(sequence + 1, &source) {
        sequence += 1;
        receiver.chunk(&chunk, &mut store);
    }
    assert_eq!(sequence, 2, "only what was missing");
    assert_eq!(receiver.accept(&offer(3), &store), Ok(Accepted::Complete));
    store[17] ^= 1;
    assert_eq!(receiver.accept(&offer(4), &store), Ok(Accepted::Fresh));
}
