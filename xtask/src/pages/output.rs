//! Compares what a page shows with what its commands printed.

/// Text that stands for anything.
pub const ANY: &str = "...";

/// Returns the first shown line that was not printed, with the printed line in its place. `...` stands
/// for anything in a line, and alone on a line for any number of lines.
pub fn difference(shown: &str, printed: &str) -> Option<String> {
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let mut rest = &printed[..];
    let mut skips = false;
    for line in shown.lines().map(str::trim_end) {
        if line == ANY {
            skips = true;
            continue;
        }
        let place = match skips {
            true => rest.iter().position(|it| fits(line, it)),
            false => rest.first().filter(|it| fits(line, it)).map(|_| 0),
        };
        let Some(place) = place else {
            let found = rest.first().unwrap_or(&"the end of the output");
            return Some(format!(
                "the page shows\n  {line}\nand the command prints\n  {found}"
            ));
        };
        rest = &rest[place + 1..];
        skips = false;
    }
    match rest.first() {
        Some(more) if !skips => Some(format!("the command also prints\n  {more}")),
        _ => None,
    }
}

/// Tells whether a printed line is the shown one.
fn fits(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split(ANY);
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        let place = match parts.peek() {
            Some(_) => rest.find(part),
            None => rest.ends_with(part).then(|| rest.len() - part.len()),
        };
        let Some(place) = place else {
            return false;
        };
        rest = &rest[place + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stand_for_anything() {
        let printed = "a 1 s\nb\nc\nd 22 ms end\n";
        for shown in [
            printed,
            "a ... s\nb\nc\nd ... ms ...\n",
            "a 1 s\n...\nd 22 ms end\n",
            "...\nc\n...\n",
            "a...\n...",
        ] {
            assert_eq!(difference(shown, printed), None, "{shown}");
        }
        for shown in [
            "a 1 s\n",
            "a 2 s\n...",
            "b\n...",
            "...\nc\nb\n...",
            "a ... m\n...",
            "...\ne\n",
            "a 1 s\nb\nc\nd 22 ms end\ne\n",
        ] {
            assert!(difference(shown, printed).is_some(), "{shown}");
        }
    }
}
