//! The cases of `tests/vectors/mlp.json`, read by the tests of both precisions.

use serde::Deserialize;

/// A case of `mlp.json`; see the README beside it.
#[derive(Deserialize)]
#[allow(non_snake_case, dead_code, missing_docs)]
pub struct Case {
    pub n_in: usize,
    pub n_hidden: usize,
    pub n_out: usize,
    pub W1: Vec<Vec<f64>>,
    pub b1: Vec<f64>,
    pub W2: Vec<Vec<f64>>,
    pub b2: Vec<f64>,
    pub X: Vec<Vec<f64>>,
    pub y: Vec<u8>,
    pub loss: f64,
    pub accuracy: f64,
    pub grad_W1: Vec<Vec<f64>>,
    pub grad_b1: Vec<f64>,
    pub grad_W2: Vec<Vec<f64>>,
    pub grad_b2: Vec<f64>,
    pub eta: f64,
    pub tau: u32,
    pub after_W1: Vec<Vec<f64>>,
    pub after_b1: Vec<f64>,
    pub after_W2: Vec<Vec<f64>>,
    pub after_b2: Vec<f64>,
    pub loss_after: f64,
}

impl Case {
    /// Reads every case; there is at least one.
    pub fn all() -> Vec<Self> {
        let text = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/vectors/mlp.json"
        ));
        let cases: Vec<Self> = serde_json::from_str(text).unwrap();
        assert!(!cases.is_empty());
        cases
    }
}
