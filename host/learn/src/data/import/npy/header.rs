//! The header of an array: a Python dictionary with three keys.

/// What an array states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrayHeader {
    pub(super) descr: String,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
}

/// Reads the dictionary; `None` if it is not one of an array.
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

/// Returns a word in quotes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| "'\"".contains(*quote))?;
    text[1..].split_once(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_as_numpy_writes_them_and_none_other() {
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
