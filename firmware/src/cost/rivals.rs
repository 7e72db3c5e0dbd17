//! What frames are not sealed with, and what they were signed with: for comparison.

use core::hint::black_box;

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use crc::{CRC_32_ISO_HDLC, Crc, Table};

use super::{LONGEST, PAYLOADS, header, mean, payload, session};
use crate::platform::CycleCounter;
use crate::report::Report;

const KEY: [u8; 32] = [7; 32];
const CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// Says what else a frame could have cost.
pub fn rivals(counter: &impl CycleCounter, report: &mut Report, mut between: impl FnMut()) {
    let header = header(&session()).to_bytes();
    for len in PAYLOADS {
        let mut count = |what: &str, work: &dyn Fn(&mut [u8])| {
            let mut text = payload();
            let restore = |text: &mut [u8; LONGEST]| *text = payload();
            let mean = mean(counter, &mut text, restore, |text| work(&mut text[..len]));
            report.say(what, len, mean);
            between();
        };
        let nonce = [1; 12].into();
        count("chacha20-poly1305 seal", &|text| {
            let cipher = ChaCha20Poly1305::new(black_box(&KEY).into());
            let tag = cipher.encrypt_inout_detached(&nonce, &header, text.into());
            black_box(tag.is_ok());
        });
        count("keyed blake3 stream and tag", &|text| {
            let mut stream = blake3::Hasher::new_keyed(black_box(&KEY))
                .update(&header)
                .finalize_xof();
            let mut block = [0; 64];
            for bytes in text.chunks_mut(block.len()) {
                stream.fill(&mut block);
                for (byte, key) in bytes.iter_mut().zip(&block) {
                    *byte ^= key;
                }
            }
            let mut tag = blake3::Hasher::new_keyed(black_box(&KEY));
            tag.update(&header).update(text);
            black_box(tag.finalize());
        });
        count("keyed blake3 tag alone", &|text| {
            black_box(blake3::keyed_hash(black_box(&KEY), text));
        });
        count("crc-32", &|text| {
            black_box(CRC.checksum(text));
        });
    }
}
