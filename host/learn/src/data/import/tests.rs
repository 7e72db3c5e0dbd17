//! Imports of tables, arrays and sounds; `tests/refusals.txt` holds the wording of every refusal.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::data::{Dataset, own::read};

mod arrays;
mod refusals;
mod sounds;
mod tables;

pub(super) struct Silent;

impl Progress for Silent {
    fn step(&mut self, _: &str, _: Option<u64>) {}
    fn advance(&mut self, _: u64) {}
}

/// A temporary folder with one file to import, and the options to import it with.
pub(super) struct Scene {
    folder: tempfile::TempDir,
    pub(super) options: Options,
}

impl Scene {
    pub(super) fn csv(text: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, text).unwrap();
        Self {
            folder,
            options: Options::new(Input::Csv(path)),
        }
    }

    /// Writes another file into the folder.
    pub(super) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    pub(super) fn place(&self) -> PathBuf {
        self.folder.path().join("set")
    }

    pub(super) fn import(&self) -> Result<(Imported, Dataset), ImportError> {
        let made = import("tiny", &self.options, &self.place(), &mut Silent)?;
        Ok((made, read(&self.place(), "tiny").unwrap()))
    }

    /// Returns the error of an import, without the temporary folder; nothing may be written.
    pub(super) fn refusal(&self) -> String {
        let error = self.import().map(|_| ()).unwrap_err().to_string();
        assert!(!self.place().exists(), "the import left a folder");
        let folder = format!(
            "{}{}",
            self.folder.path().display(),
            std::path::MAIN_SEPARATOR
        );
        error.replace(&folder, "").replace('\\', "/")
    }
}

/// A table of `rows` rows of one column, classes a and b in turn.
pub(super) fn alternating(rows: usize) -> String {
    let row = |at: usize| format!("{at},{}\n", ["a", "b"][at % 2]);
    let rows: String = (0..rows).map(row).collect();
    format!("x,label\n{rows}")
}

#[test]
fn an_existing_set_is_kept_unless_it_is_to_be_replaced() {
    let scene = Scene::csv(alternating(20));
    let (first, _) = scene.import().unwrap();
    assert!(matches!(scene.import(), Err(ImportError::Exists { .. })));
    let scene = scene.with(|options| options.force = true);
    assert_eq!(scene.import().unwrap().0.digest, first.digest);
    // An import that fails leaves the set that was there.
    let scene = scene.with(|options| options.label = "nobody".to_owned());
    assert!(scene.import().is_err());
    assert!(read(&scene.place(), "tiny").is_ok());
    assert_eq!(fs::read_dir(scene.place()).unwrap().count(), 1);
}

#[test]
fn names_of_known_sets_and_names_that_lead_elsewhere_are_refused() {
    let scene = Scene::csv(alternating(20));
    for name in ["mnist", "har", "../x", ""] {
        let made = import(name, &scene.options, &scene.place(), &mut Silent);
        assert!(matches!(made, Err(ImportError::Name(_))), "{name}");
    }
}

#[test]
fn random_bytes_are_imported_or_refused_without_a_panic() {
    use gleaner_shared::rng::{Purpose, Rng};
    let alphabet = b"01.,\n\r\"-eab \xff\0;";
    for seed in 0..400 {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
        let length = rng.below(300) as usize;
        let mut text = b"x,label\n".to_vec();
        text.extend((0..length).map(|_| alphabet[rng.below(alphabet.len() as u32) as usize]));
        let scene = Scene::csv(&text);
        if scene.import().is_err() {
            assert!(!scene.place().join(FILE).exists());
        }
    }
}

pub(super) fn path_of(scene: &Scene) -> &Path {
    scene.options.input.path()
}
