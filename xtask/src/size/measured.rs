//! What an image did in its emulator, as tests and benches left it beside the image.
//!
//! Figures older than the image are of another one and are not shown.

use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::board::{Board, image};

/// A figure, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure<T> {
    /// As it was measured.
    Measured(T),
    /// The image can be run, but was not since it was built; what to type.
    NotYet(String),
    /// Nothing runs the image.
    NotRun,
}

/// Depth of the stack, measured by paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    used: u64,
    available: u64,
}

/// Cost of sealing and opening a chunk of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    unit: String,
    seal: f64,
    open: f64,
    model_each_way: u64,
}

/// Returns what is known of a board's stack.
pub fn stack(board: &Board) -> Figure<Stack> {
    figure(
        board,
        "stack",
        "gleaner bench device --board BOARD",
        |json| {
            Some(Stack {
                used: json["used_bytes"].as_u64()?,
                available: json["available_bytes"].as_u64()?,
            })
        },
    )
}

/// Returns what is known of a board's frames.
pub fn frames(board: &Board) -> Figure<Frames> {
    figure(
        board,
        "frames",
        "cargo test -p gleaner-tests --test emulated",
        |json| {
            Some(Frames {
                unit: json["unit"].as_str()?.to_owned(),
                seal: json["seal_per_byte"].as_f64()?,
                open: json["open_per_byte"].as_f64()?,
                model_each_way: json["model_each_way"].as_u64()?,
            })
        },
    )
}

fn figure<T>(
    board: &Board,
    kind: &str,
    source: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Figure<T> {
    if !board.self_test {
        return Figure::NotRun;
    }
    let image = image(board);
    match fresh(Path::new(&image), kind).as_ref().and_then(read) {
        Some(found) => Figure::Measured(found),
        None => Figure::NotYet(source.replace("BOARD", board.name)),
    }
}

/// Reads what lies beside an image, if it is not older.
fn fresh(image: &Path, kind: &str) -> Option<Value> {
    let path = image.with_extension(format!("{kind}.json"));
    let changed = |path: &Path| -> Option<SystemTime> { path.metadata().ok()?.modified().ok() };
    if changed(&path)? < changed(image)? {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

impl<T: fmt::Display> fmt::Display for Figure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured(figure) => figure.fmt(f),
            Self::NotYet(command) => write!(f, "not measured: `cargo {command}`"),
            Self::NotRun => f.write_str("not run: nothing emulates this board"),
        }
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stack {} of {} bytes", self.used, self.available)
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, .. } = self;
        write!(
            f,
            "{unit} a byte: seal {:.1}, open {:.1}; {} {unit} for a model each way",
            self.seal, self.open, self.model_each_way
        )
    }
}

impl Figure<Stack> {
    /// As JSON; `null` where there is none.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Measured(it) => json!({"used_bytes": it.used, "available_bytes": it.available}),
            _ => Value::Null,
        }
    }
}

impl Figure<Frames> {
    /// As JSON; `null` where there is none.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Measured(it) => json!({
                "unit": it.unit,
                "seal_per_byte": it.seal,
                "open_per_byte": it.open,
                "model_each_way": it.model_each_way,
            }),
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::BOARDS;
    use std::fs::{self, File};
    use std::time::Duration;

    #[test]
    fn figures_of_an_earlier_image_are_not_shown() {
        let folder = std::env::temp_dir().join(format!("gleaner-size-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (image, figures) = (folder.join("board"), folder.join("board.stack.json"));
        fs::write(&image, "").unwrap();
        assert_eq!(fresh(&image, "stack"), None);
        fs::write(&figures, r#"{"used_bytes": 7}"#).unwrap();
        assert_eq!(fresh(&image, "stack").unwrap()["used_bytes"], 7);
        let built = fs::metadata(&image).unwrap().modified().unwrap();
        let file = File::options().write(true).open(&figures).unwrap();
        file.set_modified(built - Duration::from_secs(1)).unwrap();
        assert_eq!(fresh(&image, "stack"), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_board_that_nothing_runs_says_so() {
        for board in BOARDS.into_iter().filter(|board| !board.self_test) {
            assert_eq!(stack(board), Figure::NotRun);
            assert_eq!(frames(board).to_json(), Value::Null);
        }
    }
}
