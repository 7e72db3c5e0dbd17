//! Elements of an array: how many bytes they have, and what they say.

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Float,
    Signed,
    Unsigned,
    /// Text of one byte a character.
    Bytes,
    /// Text of four bytes a character.
    Wide,
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) kind: Kind,
    pub(super) bytes: usize,
    big: bool,
}

impl Element {
    /// Reads a type as NumPy spells it, `<f4` say.
    ///
    /// # Errors
    /// Says what cannot be read, and how to make it readable.
    pub(super) fn parse(descr: &str) -> Result<Self, String> {
        let refuse = || {
            let fix = match descr.contains('O') || descr.contains('[') {
                true => {
                    "an array of Python objects or fields could hold anything: save plain \
                         numbers, with `np.stack` of windows of one length"
                }
                false => "save it as `x.astype(np.float32)`",
            };
            format!("elements are `{descr}`, which is not read; {fix}")
        };
        let (order, kind) = descr.split_at_checked(1).ok_or_else(refuse)?;
        let (kind, size) = kind.split_at_checked(1).ok_or_else(refuse)?;
        let size: usize = size.parse().map_err(|_| refuse())?;
        let (kind, bytes) = match (kind, size) {
            ("f", 4 | 8) => (Kind::Float, size),
            ("i", 1 | 2 | 4 | 8) => (Kind::Signed, size),
            ("u", 1 | 2 | 4 | 8) | ("b", 1) => (Kind::Unsigned, size),
            ("S", 1..=256) => (Kind::Bytes, size),
            ("U", 1..=256) => (Kind::Wide, 4 * size),
            _ => return Err(refuse()),
        };
        let big = match order {
            "<" | "|" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return Err(refuse()),
        };
        Ok(Self { kind, bytes, big })
    }

    /// Returns the bytes of an element, least first, in the low end of a word.
    fn word(self, element: &[u8]) -> u64 {
        let join = |word, &byte: &u8| word << 8 | u64::from(byte);
        match self.big {
            true => element.iter().fold(0, join),
            false => element.iter().rev().fold(0, join),
        }
    }

    fn signed(self, element: &[u8]) -> i64 {
        let empty = 64 - 8 * self.bytes as u32;
        (self.word(element) << empty) as i64 >> empty
    }

    /// Reads a finite number.
    ///
    /// # Errors
    /// Says what it is instead.
    pub(super) fn number(self, element: &[u8]) -> Result<f32, String> {
        let word = || self.word(element);
        let value = match self.kind {
            Kind::Float if self.bytes == 4 => f64::from(f32::from_bits(word() as u32)),
            Kind::Float => f64::from_bits(word()),
            Kind::Signed => self.signed(element) as f64,
            Kind::Unsigned => word() as f64,
            Kind::Bytes | Kind::Wide => return Err("is text, not a number".to_owned()),
        };
        if value.abs() <= f64::from(f32::MAX) {
            return Ok(value as f32);
        }
        Err(format!("is {value}, not a finite number"))
    }

    /// Reads a name: a text, or a whole number.
    ///
    /// # Errors
    /// Says what it is instead.
    pub(super) fn name(self, element: &[u8]) -> Result<String, String> {
        match self.kind {
            Kind::Signed => Ok(self.signed(element).to_string()),
            Kind::Unsigned => Ok(self.word(element).to_string()),
            Kind::Float => {
                let value = f64::from(self.number(element)?);
                match value.fract() == 0.0 && value.abs() < 1e15 {
                    true => Ok((value as i64).to_string()),
                    false => Err(format!("is {value}, not a whole number or a text")),
                }
            }
            Kind::Bytes => {
                let end = element
                    .iter()
                    .rposition(|&byte| byte != 0)
                    .map_or(0, |at| at + 1);
                let text = String::from_utf8(element[..end].to_vec());
                text.map_err(|_| "is not UTF-8".to_owned())
            }
            Kind::Wide => {
                let letters = element
                    .chunks_exact(4)
                    .map(|letter| self.word(letter) as u32);
                let letters: Vec<u32> = letters.collect();
                let end = letters.iter().rposition(|&letter| letter != 0);
                let letters = &letters[..end.map_or(0, |at| at + 1)];
                let text: Option<String> = letters.iter().copied().map(char::from_u32).collect();
                text.ok_or_else(|| "has letters that are none".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_of_every_type() {
        let of = |descr: &str| Element::parse(descr).unwrap();
        assert_eq!(
            of("<i2").number(&(-2i16).to_le_bytes()).unwrap().to_bits(),
            (-2f32).to_bits()
        );
        assert_eq!(
            of(">i2").number(&(-2i16).to_be_bytes()).unwrap().to_bits(),
            (-2f32).to_bits()
        );
        assert_eq!(
            of("<f8").number(&0.5f64.to_le_bytes()).unwrap().to_bits(),
            0.5f32.to_bits()
        );
        assert_eq!(of("|u1").name(&[200]).unwrap(), "200");
        assert_eq!(of("<i8").name(&(-7i64).to_le_bytes()).unwrap(), "-7");
        assert_eq!(of("<f4").name(&3f32.to_le_bytes()).unwrap(), "3");
        assert_eq!(of("|S4").name(b"ab\0\0").unwrap(), "ab");
        assert_eq!(of("<U2").name(&[b'a', 0, 0, 0, 0, 0, 0, 0]).unwrap(), "a");
        assert!(of("<f4").number(&f32::NAN.to_le_bytes()).is_err());
        assert!(of("<f8").number(&1e300f64.to_le_bytes()).is_err());
        assert!(of("<f4").name(&1.5f32.to_le_bytes()).is_err());
        assert!(of("<U1").name(&0x0011_0000u32.to_le_bytes()).is_err());
        for descr in [
            "|O",
            "<f2",
            "<c8",
            "<M8[ns]",
            "",
            "<",
            "é",
            "[('a', '<f4')]",
            "<U0",
            "<S9999999999",
        ] {
            assert!(Element::parse(descr).is_err(), "{descr}");
        }
    }
}
