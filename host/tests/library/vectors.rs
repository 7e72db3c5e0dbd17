//! Compares the numeric core with the committed test vectors, and with the shared ones if present.

use std::path::Path;

use gleaner_check::vectors::check_folder;

fn assert_all_pass(folder: &Path) {
    let reports = check_folder(folder).expect("the vectors are readable");
    for report in &reports {
        assert_eq!(report.failures, Vec::<String>::new());
        assert_eq!(report.passed, report.total);
        assert!(report.total > 0, "{} is empty", report.path.display());
        assert!(report.worst < 1e-9, "{}: {}", report.kind, report.worst);
    }
    let values: usize = reports.iter().map(|report| report.values).sum();
    assert!(values >= 3709, "only {values} values are compared");
    let mut kinds: Vec<&str> = reports.iter().map(|report| report.kind).collect();
    kinds.dedup();
    assert_eq!(kinds.len(), 12, "every kind is there: {kinds:?}");
}

#[test]
fn every_committed_vector_passes() {
    assert_all_pass(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors"));
}

#[test]
fn every_shared_vector_passes_where_the_folder_exists() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/vectors");
    if shared.is_dir() {
        assert_all_pass(&shared);
    }
}
