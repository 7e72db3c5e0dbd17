//! Decimal numbers, quickly: most of the time of an import goes here.

/// Powers of ten that a double holds exactly.
const TENS: [f64; 19] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];

/// Reads a finite number; otherwise says what the cell is instead.
pub(super) fn parse(cell: &[u8]) -> Result<f32, String> {
    let value = match plain(cell) {
        Some(value) => value,
        None => any(cell)?,
    };
    Ok(value as f32)
}

/// Reads a number of at most 18 digits without exponent. As an integer it is exact, as a double it
/// and the power of ten are off by half a step at most: far below the step of a single.
fn plain(cell: &[u8]) -> Option<f64> {
    let (negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, cell),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0_u64;
    let mut point = digits.len();
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            value = 10 * value + u64::from(digit);
        } else if byte == b'.' && point == digits.len() {
            point = at;
        } else {
            return None;
        }
    }
    let places = digits.len().saturating_sub(point + 1);
    if digits == b"." {
        return None;
    }
    let size = value as f64 / TENS[places];
    Some(if negative { -size } else { size })
}

fn any(cell: &[u8]) -> Result<f64, String> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Err("is empty".to_owned());
    }
    let shown: String = String::from_utf8_lossy(cell).chars().take(40).collect();
    let value: f64 = std::str::from_utf8(cell)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("is `{shown}`, not a number"))?;
    if !value.is_finite() {
        return Err(format!("is `{shown}`, not a finite number"));
    }
    if value.abs() > f64::from(f32::MAX) {
        return Err(format!("is `{shown}`, beyond 3.4e38"));
    }
    Ok(value)
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
            "-.5",
            "5.",
            "123456.789",
            "-99999.99999",
            "3.3e-3",
            "1E6",
            "12345678901234567890123",
            "0.1234567890123456789",
            "999999999999999999",
            " 7 ",
            "16777217",
            "-0.000000000000001",
        ] {
            let expected: f32 = text.trim().parse().unwrap();
            assert_eq!(
                parse(text.as_bytes()).unwrap().to_bits(),
                expected.to_bits(),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        for (text, words) in [
            ("", "is empty"),
            ("  ", "is empty"),
            (".", "not a number"),
            ("-", "not a number"),
            ("1.2.3", "not a number"),
            ("0x10", "not a number"),
            ("NaN", "not a finite number"),
            ("-inf", "not a finite number"),
            ("1e39", "beyond"),
            ("1e400", "not a finite number"),
        ] {
            let said = parse(text.as_bytes()).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
