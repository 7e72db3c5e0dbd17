//! Parser of WAV files of 8 or 16 bits and one or two channels.

/// A sound: one value in [-1, 1] per sampling instant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sound {
    pub(super) rate_hz: u32,
    pub(super) samples: Vec<f32>,
}

/// The encoding of samples.
#[derive(Clone, Copy)]
struct Form {
    channels: usize,
    bytes: usize,
    rate_hz: u32,
}

impl Sound {
    /// Parses a file; two channels become their mean. The error holds the byte that is wrong.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, (u64, String)> {
        let wrong = |at: usize, what: &str| Err((at as u64, what.to_owned()));
        if bytes.len() < 12 || !bytes.starts_with(b"RIFF") || &bytes[8..12] != b"WAVE" {
            return wrong(0, "is not a WAV file");
        }
        let (mut at, mut form) = (12, None);
        while let Some(head) = bytes.get(at..at + 8) {
            let length = word(&head[4..]) as usize;
            let body = bytes.get(at + 8..).and_then(|rest| rest.get(..length));
            let Some(body) = body else {
                let left = bytes.len() - at - 8;
                let what = format!("a part of {length} bytes begins here, but only {left} follow");
                return Err((at as u64, what));
            };
            match &head[..4] {
                b"fmt " => form = Some(Form::parse(body).map_err(|what| (at as u64, what))?),
                b"data" => {
                    let Some(form) = form else {
                        return wrong(at, "samples come before their encoding (`fmt `)");
                    };
                    return form.samples(body).map_err(|what| (at as u64, what));
                }
                _ => {}
            }
            at += 8 + length.next_multiple_of(2);
        }
        wrong(bytes.len(), "ends before its samples")
    }
}

impl Form {
    fn parse(body: &[u8]) -> Result<Self, String> {
        if body.len() < 16 {
            return Err("the encoding (`fmt `) has fewer than 16 bytes".to_owned());
        }
        let half = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
        let (code, channels, rate_hz, bits) = (half(0), half(2), word(&body[4..]), half(14));
        if code != 1 || !matches!(bits, 8 | 16) || !matches!(channels, 1 | 2) {
            return Err(format!(
                "code {code}, {bits} bits, {channels} channels: must be PCM (code 1) of 8 or 16 bits and \
                 1 or 2 channels"
            ));
        }
        Ok(Self {
            channels: channels.into(),
            bytes: usize::from(bits / 8),
            rate_hz,
        })
    }

    fn samples(self, body: &[u8]) -> Result<Sound, String> {
        let instant = self.channels * self.bytes;
        if !body.len().is_multiple_of(instant) {
            return Err(format!(
                "{} bytes are not whole samples of {instant}",
                body.len()
            ));
        }
        let sample = |bytes: &[u8]| match *bytes {
            [low, high] => f32::from(i16::from_le_bytes([low, high])) / 32768.0,
            [byte, ..] => (f32::from(byte) - 128.0) / 128.0,
            [] => 0.0,
        };
        let mean = |bytes: &[u8]| {
            bytes.chunks_exact(self.bytes).map(sample).sum::<f32>() / self.channels as f32
        };
        Ok(Sound {
            rate_hz: self.rate_hz,
            samples: body.chunks_exact(instant).map(mean).collect(),
        })
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes[..4]
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Writes a WAV file for tests.
#[cfg(test)]
pub(in crate::data::import) fn wav(channels: u16, bits: u16, rate_hz: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0".to_vec();
    let instant = channels * bits / 8;
    bytes.extend(channels.to_le_bytes());
    bytes.extend(rate_hz.to_le_bytes());
    bytes.extend((rate_hz * u32::from(instant)).to_le_bytes());
    bytes.extend(instant.to_le_bytes());
    bytes.extend(bits.to_le_bytes());
    bytes.extend(b"LIST\x03\0\0\0abc\0data");
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_and_sixteen_bits_and_the_mean_of_two_channels() {
        let mono = Sound::parse(&wav(1, 16, 16_000, &[0, 0x40, 0, 0xC0])).unwrap();
        assert_eq!(
            (mono.rate_hz, &mono.samples[..]),
            (16_000, &[0.5, -0.5][..])
        );
        let stereo = Sound::parse(&wav(2, 16, 8_000, &[0, 0x40, 0, 0])).unwrap();
        assert_eq!(stereo.samples, [0.25]);
        assert_eq!(
            Sound::parse(&wav(1, 8, 8_000, &[128, 192, 0]))
                .unwrap()
                .samples,
            [0.0, 0.5, -1.0]
        );
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        let whole = wav(1, 16, 16_000, &[1, 2, 3, 4]);
        for length in 0..whole.len() {
            assert!(Sound::parse(&whole[..length]).is_err(), "{length}");
        }
        let mut lying = whole.clone();
        let at = lying.len() - 8;
        lying[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Sound::parse(&lying).is_err());
    }

    #[test]
    fn invalid_headers_are_refused_with_their_byte() {
        let whole = wav(1, 16, 16_000, &[1, 2, 3, 4]);
        let byte = |at: usize, bytes: &[u8]| {
            let mut odd = whole.clone();
            odd[at..at + bytes.len()].copy_from_slice(bytes);
            Sound::parse(&odd).unwrap_err().0
        };
        // Floats, and the extensible encoding.
        assert_eq!(byte(20, &3u16.to_le_bytes()), 12);
        assert_eq!(byte(20, &0xFFFEu16.to_le_bytes()), 12);
        assert_eq!(byte(34, &24u16.to_le_bytes()), 12);
        assert_eq!(byte(0, b"RIFX"), 0);
        assert_eq!(byte(12, b"fmt \x08\0\0\0"), 12);
        assert_eq!(byte(12, b"fmt?"), 48);
    }
}
