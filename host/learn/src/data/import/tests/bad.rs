//! Tables that are refused.

use super::*;

#[test]
fn every_fault_of_a_table_is_named_with_its_line() {
    for (text, words) in [
        ("", "t.csv: holds no row"),
        ("x,label\n", "t.csv: holds no row"),
        (
            "x,y\n1,2\n",
            "t.csv, line 1: no column is called `label` (--label-column); there are x, y",
        ),
        (
            "x,x,label\n1,2,a\n",
            "t.csv, line 1: two columns are called `x`",
        ),
        ("x,,label\n1,2,a\n", "t.csv, line 1: column 2 has no name"),
        (
            "label\na\nb\n",
            "t.csv, line 1: 0 columns in windows of 1 rows",
        ),
        (
            "1,2,3\n4,5,6\n",
            "t.csv, line 1: these are numbers, not names",
        ),
        ("x,label\n1,a\n1,a\n", "t.csv: all rows have the label `a`"),
        (
            "x,label\n1,a\n\n2\n",
            "t.csv, line 4: 1 columns instead of 2",
        ),
        (
            "x,label\n1,a\n2,b,3\n",
            "t.csv, line 3: 3 columns instead of 2",
        ),
        (
            "x,label\n1,a\nnan,b\n",
            "t.csv, line 3: column `x` is `nan`, not a finite number",
        ),
        ("x,label\n1,a\n,b\n", "t.csv, line 3: column `x` is empty"),
        (
            "x,label\n1,a\none,b\n",
            "t.csv, line 3: column `x` is `one`, not a number",
        ),
        (
            "x,label\n1,a\n1e99,b\n",
            "t.csv, line 3: column `x` is `1e99`, beyond",
        ),
        ("x,label\n1,a\n1,\n", "t.csv, line 3: the label is empty"),
        (
            "x,label\n1,a\n\"1,b\n",
            "t.csv, line 3: column `x` is `1,b`, not a number",
        ),
        ("x,label\n1,a\n2,b\n", "t.csv: no sample is left to test on"),
    ] {
        let said = Scene::csv(text).refusal();
        assert!(said.starts_with(words), "{text:?}: {said}");
    }
}

#[test]
fn one_bad_number_among_a_hundred_thousand_is_found() {
    let mut text = alternating(100_001);
    text.push_str("NaN,b\n");
    text.push_str("1,b\n");
    let said = Scene::csv(text).refusal();
    assert_eq!(
        said,
        "t.csv, line 100003: column `x` is `NaN`, not a finite number"
    );
}

#[test]
fn three_hundred_classes_are_too_many() {
    let row = |at: usize| format!("{at},c{}\n", at % 300);
    let text: String = (0..900).map(row).collect();
    let said = Scene::csv(format!("x,label\n{text}")).refusal();
    let words = "t.csv, line 258: the label `c256` is one more than the 256 there may be (c0, c1";
    assert!(said.starts_with(words), "{said}");
}

#[test]
fn labels_beyond_those_that_may_be_and_labels_that_are_only_tested_on_are_refused() {
    let scene = Scene::csv(alternating(30))
        .with(|options| options.classes = vec!["a".to_owned(), "c".to_owned()]);
    let words = "t.csv, line 3: the label `b` is one more than the 2 there may be (a, c)";
    assert_eq!(scene.refusal(), words);
    let text = "x,label,part\n1,a,train\n2,b,train\n3,c,test\n4,b,test\n";
    let scene =
        Scene::csv(text).with(|options| options.testing = Testing::Column("part".to_owned()));
    assert!(
        scene
            .refusal()
            .starts_with("t.csv: no training sample has the label `c`")
    );
    let text = "x,label,part\n1,a,train\n2,b,valid\n";
    let scene =
        Scene::csv(text).with(|options| options.testing = Testing::Column("part".to_owned()));
    assert_eq!(
        scene.refusal(),
        "t.csv, line 3: the part is `valid`: `train` or `test` is expected"
    );
}

#[test]
fn options_that_cannot_be_are_named() {
    for (change, words) in [
        (
            (|options: &mut Options| options.window = 0) as fn(&mut Options),
            "--window",
        ),
        (
            |options| options.testing = Testing::Share(1.0),
            "--test-share",
        ),
        (
            |options| options.testing = Testing::Share(f64::NAN),
            "--test-share",
        ),
        (
            |options| options.testing = Testing::Clients(vec!["a".to_owned()]),
            "--test-clients",
        ),
        (
            |options| options.window = 1 << 40,
            "t.csv, line 1: 1 columns in windows of",
        ),
        (
            |options| options.client = Some("label".to_owned()),
            "t.csv, line 1: column `label` is for two",
        ),
        (
            |options| options.ignore = vec!["z".to_owned()],
            "t.csv, line 1: no column is called `z` (--ignore)",
        ),
    ] {
        let said = Scene::csv(alternating(20)).with(change).refusal();
        assert!(said.starts_with(words), "{said}");
    }
}

#[test]
fn scales_that_cannot_be_are_named_with_their_line() {
    for (text, words) in [
        ("", "scale.csv: says nothing of column `x`"),
        (
            "x,1,0\n",
            "scale.csv, line 1: `column,scale,offset` is expected",
        ),
        (
            "column,scale,offset\n",
            "scale.csv: says nothing of column `x`",
        ),
        (
            "column,scale,offset\nx,0,0\n",
            "scale.csv, line 2: the scale is 0",
        ),
        (
            "column,scale,offset\nx,1,nan\n",
            "scale.csv, line 2: the offset is `nan`",
        ),
        (
            "column,scale,offset\nx,1\n",
            "scale.csv, line 2: 2 cells instead of 3",
        ),
        (
            "column,scale,offset\nz,1,0\n",
            "scale.csv, line 2: no column is called `z`",
        ),
        (
            "column,scale,offset\nx,1,0\nx,1,0\n",
            "scale.csv, line 3: column `x` has a scale already",
        ),
    ] {
        let scene = Scene::csv(alternating(20));
        let path = scene.file("scale.csv", text.as_bytes());
        let scene = scene.with(|options| options.scaling = Scaling::File(path));
        let said = scene.refusal();
        assert!(said.starts_with(words), "{said}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let scene = Scene::csv("");
    fs::remove_file(path_of(&scene)).unwrap();
    assert!(scene.refusal().starts_with("t.csv: "));
}
