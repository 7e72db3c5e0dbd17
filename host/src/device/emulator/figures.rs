//! What an image of the self-test says in its emulator: lines of `what bytes number`.

use gleaner_shared::units::Micros;

use super::EmulatorError;
use super::line::Line;
use crate::device::Board;
use crate::device::image::Program;

/// How long a board may take for its report, in the time it lives in.
const PATIENCE: Micros = Micros(120_000_000);
/// How long a board must live without being reset, its watchdog's patience twice over.
const LIFE: Micros = Micros(5_000_000);

/// One thing an image found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub what: String,
    /// How many bytes it is of.
    pub bytes: usize,
    /// What was found.
    pub number: u64,
}

/// Runs an image that reports, and returns what it said.
///
/// # Errors
/// Names what is missing and how to install it, or what was said instead of a report.
pub fn figures(board: Board, program: Program) -> Result<Vec<Figure>, EmulatorError> {
    let image = board.ensure(program)?;
    let mut line = Line::open(board, &image, None)?;
    let mut heard = Vec::new();
    while line.now() < PATIENCE {
        heard.extend(line.exchange(&[], PATIENCE)?);
        if let Some(report) = report(&String::from_utf8_lossy(&heard)) {
            return match line.resets_until(LIFE)? {
                0 => Ok(report),
                resets => Err(EmulatorError::Protocol {
                    emulator: "the self-test",
                    answer: format!("{resets} resets by its watchdog within {LIFE}"),
                }),
            };
        }
    }
    Err(EmulatorError::Protocol {
        emulator: "the self-test",
        answer: format!("{:?} and no end", String::from_utf8_lossy(&heard)),
    })
}

/// Returns the first whole report of what was heard.
fn report(heard: &str) -> Option<Vec<Figure>> {
    let (ended, _) = heard.rsplit_once("end\n")?;
    ended.split("end\n").find_map(|report| {
        let (_, lines) = report.rsplit_once("begin\n")?;
        lines.lines().map(figure).collect()
    })
}

fn figure(line: &str) -> Option<Figure> {
    let (rest, number) = line.rsplit_once(' ')?;
    let (what, bytes) = rest.rsplit_once(' ')?;
    Some(Figure {
        what: what.to_owned(),
        bytes: bytes.parse().ok()?,
        number: number.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_found_between_two_that_were_cut() {
        let line = "open 64 5\nend\nbegin\nframe seal 964 181770\nfingerprint 8 7\nend\nbegin\nfr";
        let seal = Figure {
            what: "frame seal".to_owned(),
            bytes: 964,
            number: 181_770,
        };
        let found = report(line).unwrap();
        assert_eq!(found[0], seal);
        assert_eq!(found[1].number, 7);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn half_a_report_and_noise_are_none() {
        assert_eq!(report("begin\nframe seal 964 1817"), None);
        assert_eq!(report("begin\nnoise\nend\n"), None);
        assert_eq!(report("begin\nframe seal 964 x\nend\n"), None);
    }
}
