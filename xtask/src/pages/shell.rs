//! Commands in shell scripts, as far as it takes to check their arguments without running them.

use super::markdown::COMMANDS;

/// Returns the commands of a console block and the lines that they printed; `None` without a prompt.
pub fn console(text: &str) -> Option<(String, String)> {
    let (mut script, mut printed) = (String::new(), String::new());
    let mut continued = false;
    for line in text.lines() {
        let command = line.strip_prefix("$ ").or(continued.then_some(line));
        let to = match command {
            Some(_) => &mut script,
            None => &mut printed,
        };
        continued = command.is_some_and(|it| it.ends_with('\\'));
        to.push_str(command.unwrap_or(line));
        to.push('\n');
    }
    (!script.is_empty()).then_some((script, printed))
}

/// Returns the commands of a script whose arguments can be checked: each without comment and
/// redirection, on one line.
pub fn commands(script: &str) -> Vec<String> {
    let joined = script.replace("\\\n", " ");
    let parts = joined.lines().flat_map(simple);
    let known = |part: &String| {
        let part = format!("{part} ");
        COMMANDS.iter().any(|it| part.starts_with(it))
    };
    parts.filter(known).collect()
}

/// Splits a line at `&&`, `|` and `;` into commands, and cuts comments and redirections off.
fn simple(line: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    let (mut quote, mut is_cut) = (None, false);
    let mut last = ' ';
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') if last == ' ' => break,
            (None, '>' | '<') => is_cut = true,
            (None, ';' | '|' | '&') => {
                is_cut = false;
                commands.push(String::new());
                last = ' ';
                continue;
            }
            _ => {}
        }
        last = letter;
        if let (false, Some(command)) = (is_cut, commands.last_mut()) {
            command.push(letter);
        }
    }
    let trimmed = commands.iter().map(|it| it.trim().to_owned());
    trimmed.filter(|it| !it.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_tell_commands_from_what_they_print() {
        let found = console("$ a \\\n  b\nc\n$ d\n");
        assert_eq!(found, Some(("a \\\n  b\nd\n".to_owned(), "c\n".to_owned())));
        assert_eq!(console("a\n"), None);
    }

    #[test]
    fn commands_lose_comments_redirections_and_neighbours() {
        let script = "cd x; gleaner a --b 'c; d' > e && cargo figures f # g\n\
                      ls | cargo xtask h\n# gleaner i\ngleaner j \\\n  --k \"l|m#n\"\ngleanerx\ngleaner";
        let expected = [
            "gleaner a --b 'c; d'",
            "cargo figures f",
            "cargo xtask h",
            "gleaner j    --k \"l|m#n\"",
            "gleaner",
        ];
        assert_eq!(commands(script), expected);
    }
}
