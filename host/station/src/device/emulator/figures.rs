//! Figures of the self-test in its emulator: lines of `what bytes number`.

use gleaner_shared::board::Shape;
use gleaner_shared::mlp::{PaperParams, Width};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::CHUNK_BYTES;
use serde::Serialize;

use super::EmulatorError;
use super::line::Line;
use crate::device::Board;
use crate::device::image::Program;

/// Time limit of a report, in the board's time.
const PATIENCE: Micros = Micros(120_000_000);
/// Time that a board must run without a reset: twice its watchdog's timeout.
const LIFE: Micros = Micros(5_000_000);

/// One figure of the self-test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Name of the figure.
    pub what: String,
    /// Number of bytes that the figure is for.
    pub bytes: usize,
    /// The measured value, in the unit of the emulator.
    pub number: u64,
}

/// Cost of a frame with a chunk of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FrameCost {
    /// Unit of the counts: cycles or instructions.
    pub unit: &'static str,
    /// Cost of sealing, per byte.
    pub seal_per_byte: f64,
    /// Cost of opening, per byte.
    pub open_per_byte: f64,
    /// Frames of a model in 8-bit codes.
    pub frames_of_a_model: usize,
    /// Cost of receiving one such model and sending another.
    pub model_each_way: u64,
}

impl FrameCost {
    /// Computes the cost from figures; returns `None` without figures of frames.
    #[must_use]
    pub fn of(unit: &'static str, figures: &[Figure]) -> Option<Self> {
        let piece = |what: &str| {
            let mut figures = figures.iter();
            figures.find(|figure| figure.what == what && figure.bytes > CHUNK_BYTES)
        };
        let (seal, open) = (piece("frame seal")?, piece("frame open")?);
        let per_byte = |figure: &Figure| figure.number as f64 / figure.bytes as f64;
        let model_bytes = Width::Byte.coded_bytes(PaperParams::COUNT);
        let frames_of_a_model = model_bytes.div_ceil(CHUNK_BYTES);
        Some(Self {
            unit,
            seal_per_byte: per_byte(seal),
            open_per_byte: per_byte(open),
            frames_of_a_model,
            model_each_way: (seal.number + open.number) * frames_of_a_model as u64,
        })
    }
}

/// Depth of a board's stack, measured by painting it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StackDepth {
    /// Size of the stack.
    pub available_bytes: u32,
    /// Largest use of the stack.
    pub used_bytes: u32,
}

/// Writes a figure beside the board's image for a network; `cargo xtask size` reads that of 784-50-10.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn keep(
    (board, network): (Board, Shape),
    kind: &str,
    figure: &impl Serialize,
) -> std::io::Result<()> {
    let path = board.image_for(Program::Client, network);
    let text = serde_json::to_string(figure)?;
    std::fs::write(path.with_extension(format!("{kind}.json")), text)
}

/// Runs a board's self-test and returns its figures.
///
/// # Errors
/// Names the missing emulator and how to install it, or the unexpected output.
pub fn figures(board: Board) -> Result<Vec<Figure>, EmulatorError> {
    let image = board.ensure(Program::SelfTest)?;
    let mut line = Line::open(board, &image, None, None)?;
    let mut output = Vec::new();
    while line.now() < PATIENCE {
        output.extend(line.exchange(&[], PATIENCE)?);
        if let Some(report) = report(&String::from_utf8_lossy(&output)) {
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
        answer: format!("{:?} and no end", String::from_utf8_lossy(&output)),
    })
}

/// Returns the first complete report in the output.
fn report(output: &str) -> Option<Vec<Figure>> {
    let (ended, _) = output.rsplit_once("end\n")?;
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
    fn a_model_each_way_is_its_frames_sealed_and_opened() {
        let figure = |what: &str, bytes, number| Figure {
            what: what.to_owned(),
            bytes,
            number,
        };
        let mut figures = vec![
            figure("cipher seal", 964, 1_000),
            figure("frame seal", 64, 500),
            figure("frame seal", 964, 20),
        ];
        assert_eq!(FrameCost::of("cycles", &figures), None);
        figures.push(figure("frame open", 964, 3));
        let cost = FrameCost::of("cycles", &figures).unwrap();
        assert_eq!((cost.frames_of_a_model, cost.model_each_way), (42, 42 * 23));
        assert!((cost.seal_per_byte - 20.0 / 964.0).abs() < 1e-12);
    }

    #[test]
    fn half_a_report_and_noise_are_none() {
        assert_eq!(report("begin\nframe seal 964 1817"), None);
        assert_eq!(report("begin\nnoise\nend\n"), None);
        assert_eq!(report("begin\nframe seal 964 x\nend\n"), None);
    }
}
