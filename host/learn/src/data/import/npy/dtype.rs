//! The header of an array, a Python dictionary with three keys, and the element type it names.

/// The kind of an array's elements.
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
    /// Parses a type as NumPy writes it, such as `<f4`.
    ///
    /// # Errors
    /// Says how to save an array of another type.
    pub(super) fn parse(descr: &str) -> Result<Self, String> {
        let refuse = || {
            let fix = match descr.contains('O') || descr.contains('[') {
                true => {
                    "an array of Python objects or fields could hold anything: save plain \
                         numbers, with `np.stack` of windows of one length"
                }
                false => "save it as `x.astype(np.float32)`",
            };
            format!("elements of type `{descr}` are not supported; {fix}")
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

    /// Returns the bytes of an element as an unsigned integer.
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

    /// Returns a finite number; the error says what the element is instead.
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

    /// Returns a name, a text or an integer; the error says what the element is instead.
    pub(super) fn name(self, element: &[u8]) -> Result<String, String> {
        match self.kind {
            Kind::Signed => Ok(self.signed(element).to_string()),
            Kind::Unsigned => Ok(self.word(element).to_string()),
            Kind::Float => {
                let value = f64::from(self.number(element)?);
                match value.fract() == 0.0 && value.abs() < 1e15 {
                    true => Ok((value as i64).to_string()),
                    false => Err(format!("is {value}, not an integer or a text")),
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
                text.ok_or_else(|| "is not Unicode".to_owned())
            }
        }
    }
}

/// The header of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrayHeader {
    pub(super) descr: String,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
}

/// Parses the dictionary; `None` if it is not the header of an array.
pub(super) fn parse(text: &str) -> Option<ArrayHeader> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    while !rest.is_empty() {
        let (key, more) = quoted(rest)?;
        let value = more.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" if value.starts_with(['\'', '"']) => {
                let (word, more) = quoted(value)?;
                descr = Some(word.to_owned());
                more
            }
            // A list of fields.
            "descr" => {
                let end = value.find(']')? + 1;
                descr = Some(value[..end].to_owned());
                &value[end..]
            }
            "fortran_order" => {
                let (word, more) = value.split_at(value.find([',', '}']).unwrap_or(value.len()));
                fortran = Some(match word.trim() {
                    "True" => true,
                    "False" => false,
                    _ => return None,
                });
                more
            }
            "shape" => {
                let (inside, more) = value.strip_prefix('(')?.split_once(')')?;
                let sizes = inside
                    .split(',')
                    .map(str::trim)
                    .filter(|size| !size.is_empty());
                shape = Some(sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?);
                more
            }
            _ => return None,
        }
        .trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Some(ArrayHeader {
        descr: descr?,
        fortran: fortran?,
        shape: shape?,
    })
}

/// Returns a word in quotes and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| "'\"".contains(*quote))?;
    text[1..].split_once(quote)
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

    #[test]
    fn headers_are_parsed_as_numpy_writes_them() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 192), }    \n";
        let header = parse(text).unwrap();
        assert_eq!((header.descr.as_str(), header.fortran), ("<f4", false));
        assert_eq!(header.shape, [3, 192]);
        assert_eq!(
            parse("{'descr':'|u1','fortran_order':True,'shape':(5,)}")
                .unwrap()
                .shape,
            [5]
        );
        let fields = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}";
        assert_eq!(parse(fields).unwrap().descr, "[('a', '<f4')]");
        for text in [
            "",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
            "{'é': 3}",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
