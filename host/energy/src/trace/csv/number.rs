//! Decimal numbers, quickly: most of the time of reading a table goes here.

/// Powers of ten that a double holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Reads a number; `None` if it is none.
///
/// Up to 15 digits and 22 places the quotient of two exact doubles is the nearest double (Clinger,
/// 1990); all else is left to the standard library.
pub(super) fn parse(cell: &[u8]) -> Option<f64> {
    quick(cell).or_else(|| std::str::from_utf8(cell).ok()?.parse().ok())
}

fn quick(cell: &[u8]) -> Option<f64> {
    let (negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, cell),
    };
    // The sign, the point and fifteen digits.
    if digits.len() > 16 {
        return None;
    }
    let mut value = 0_u64;
    let mut places = None;
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = 10 * value + u64::from(byte - b'0'),
            b'.' if places.is_none() => places = Some(digits.len() - 1 - at),
            _ => return None,
        }
    }
    if digits.len() == usize::from(places.is_some()) || value >= 1 << 53 {
        return None;
    }
    let size = value as f64 / TENS[places.unwrap_or(0)];
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for text in [
            "0",
            "-0",
            "1",
            "+1.5",
            "0.001",
            "123456.789",
            "99999.99999",
            "3.3000e-3",
            "1e6",
            "12345678901234567890",
            "0.1234567890123456789",
            "-.5",
            "5.",
            "1E-9",
            "0.200",
            "4503599627370497.5",
            "9007199254740993",
            "NaN",
            "inf",
        ] {
            let expected: f64 = text.parse().unwrap();
            let found = parse(text.as_bytes()).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        for text in ["", ".", "-", "1,5", "1.2.3", "0x10", "abc", "1 "] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(&[0xFF, 0xFE]), None);
    }
}
