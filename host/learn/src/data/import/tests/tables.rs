//! Imports of tables in text.

use super::*;

#[test]
fn a_table_becomes_a_set_with_classes_clients_and_scales() {
    let mut text = "\u{feff}time,\"ax\",who,activity\r\n".to_owned();
    for at in 0..40 {
        let (who, what) = (["10", "9"][at / 20], ["walk", "rest"][at / 10 % 2]);
        text.push_str(&format!(
            "{at},{},\"{who}\",{what}\r\n\r\n",
            at as f64 / 10.0
        ));
    }
    let scene = Scene::csv(text).with(|options| {
        options.label = "activity".to_owned();
        options.client = Some("who".to_owned());
        options.ignore = vec!["time".to_owned()];
    });
    let (imported, set) = scene.import().unwrap();
    assert_eq!(set.class_names, ["rest", "walk"]);
    let owners = set.owners.unwrap();
    // As numbers, not as texts.
    assert_eq!(owners.names, ["9", "10"]);
    // Eight of ten rows of every stretch are training samples.
    assert_eq!((set.train.len(), set.test.len()), (32, 8));
    assert_eq!(set.train.labels[..8], [1; 8]);
    assert_eq!(owners.train[..16], [1; 16]);
    let [column] = &imported.header.columns[..] else {
        panic!()
    };
    assert_eq!(column.name, "ax");
    // The last training row is 37, the bytes of the test rows beyond end at 255.
    assert!((column.scale * 255.0 - 3.7).abs() < 1e-5, "{column:?}");
    assert_eq!(set.train.images.iter().max(), Some(&255));
    assert_eq!(set.test.images.last(), Some(&255));
    assert!(imported.clipped > 0.0);
    assert_eq!(imported.header.source.files, 1);
}

#[test]
fn windows_hold_consecutive_rows_of_one_class_and_client_and_never_rows_of_both_parts() {
    let mut text = "x,y,label,who,session\n".to_owned();
    let mut row = 0;
    for (who, label, session, rows) in [
        ("a", 0, 1, 30),
        ("a", 1, 1, 30),
        ("a", 1, 2, 31),
        ("b", 1, 2, 29),
        ("b", 0, 2, 30),
    ] {
        for _ in 0..rows {
            text.push_str(&format!("{row},{},{label},{who},{session}\n", 255 - row));
            row += 1;
        }
    }
    let scene = Scene::csv(text).with(|options| {
        options.client = Some("who".to_owned());
        options.session = Some("session".to_owned());
        (options.window, options.stride) = (6, 3);
        options.testing = Testing::Share(0.25);
        let scale = "column,scale,offset\n\"x\",1,0\ny,1.0,0\n";
        let path = options.input.path().with_file_name("scale.csv");
        fs::write(&path, scale).unwrap();
        options.scaling = Scaling::File(path);
    });
    let (imported, set) = scene.import().unwrap();
    assert_eq!(
        (set.shape.height, set.shape.width, set.inputs()),
        (6, 2, 12)
    );
    let starts = [0u8, 30, 60, 91, 120, 150];
    let mut seen = [[false; 256]; 2];
    for (part, samples) in [&set.train, &set.test].into_iter().enumerate() {
        for window in samples.images.chunks_exact(12) {
            let rows: Vec<u8> = window.chunks_exact(2).map(|pair| pair[0]).collect();
            assert!(
                rows.windows(2).all(|pair| pair[1] == pair[0] + 1),
                "{rows:?}"
            );
            assert!(window.chunks_exact(2).all(|pair| pair[1] == 255 - pair[0]));
            let stretch = |row: u8| starts.iter().rposition(|&start| start <= row);
            assert_eq!(stretch(rows[0]), stretch(rows[5]), "{rows:?}");
            rows.iter()
                .for_each(|&row| seen[part][usize::from(row)] = true);
        }
    }
    assert!(
        !(0..256).any(|row| seen[0][row] && seen[1][row]),
        "a row is in both parts"
    );
    assert!(imported.straddling > 0);
    assert_eq!(imported.clipped.to_bits(), 0);
    assert!(set.test.len() * 3 >= set.train.len() / 2);
}

#[test]
fn whole_clients_may_be_tested_on() {
    let row = |at: usize| format!("{at},{},{}\n", at % 2, ["ada", "bob", "cyd"][at % 3]);
    let text: String = (0..60).map(row).collect();
    let scene = Scene::csv(format!("x,label,who\n{text}")).with(|options| {
        options.client = Some("who".to_owned());
        options.testing = Testing::Clients(vec!["bob".to_owned()]);
    });
    let (_, set) = scene.import().unwrap();
    let owners = set.owners.unwrap();
    assert!(owners.test.iter().all(|&owner| owner == 1) && owners.test.len() == 20);
    assert!(owners.train.iter().all(|&owner| owner != 1) && owners.train.len() == 40);
}

#[test]
fn a_column_may_say_what_is_tested_on() {
    let text = "x,label,part\n1,a,train\n2,b,train\n3,a,test\n4,b,test\n5,b,train\n";
    let scene =
        Scene::csv(text).with(|options| options.testing = Testing::Column("part".to_owned()));
    let (_, set) = scene.import().unwrap();
    assert_eq!(
        (&set.train.labels[..], &set.test.labels[..]),
        (&[0, 1, 1][..], &[0, 1][..])
    );
}

#[test]
fn columns_without_names_have_numbers_and_other_delimiters_do() {
    let text: String = (0..20)
        .map(|at| format!("{at};{};{}\n", at * 2, at % 2))
        .collect();
    let scene = Scene::csv(text).with(|options| {
        options.no_header = true;
        options.delimiter = b';';
        options.label = "3".to_owned();
    });
    let (imported, set) = scene.import().unwrap();
    assert_eq!(set.train.len() + set.test.len(), 20);
    assert_eq!(imported.header.columns[1].name, "2");
}

#[test]
fn the_scale_of_one_set_serves_another() {
    let scene = Scene::csv(alternating(50));
    let (first, set) = scene.import().unwrap();
    let table = write_scale(&first.header);
    let path = scene.file("scale.csv", table.as_bytes());
    let scene = scene.with(|options| {
        options.force = true;
        options.scaling = Scaling::File(path);
    });
    let (again, same) = scene.import().unwrap();
    assert_eq!(again.header.columns, first.header.columns);
    assert_eq!(same, set);
}

#[test]
fn short_stretches_are_left_out_only_if_that_is_said() {
    let text = "x,label\n".to_owned()
        + &"1,a\n".repeat(12)
        + "2,b\n"
        + &"3,a\n2,b\n2,b\n2,b\n2,b\n".repeat(6);
    let scene = Scene::csv(text).with(|options| (options.window, options.stride) = (4, 4));
    assert!(matches!(
        scene.import(),
        Err(ImportError::At {
            place: Place::Line(15),
            ..
        })
    ));
    let (imported, set) = scene
        .with(|options| options.skip_short = true)
        .import()
        .unwrap();
    assert_eq!(imported.short, 7);
    assert_eq!(set.train.len() + set.test.len(), 9);
}

#[test]
fn a_header_of_too_many_columns_is_refused_and_one_of_many_is_read() {
    let header = |count: usize| -> String { (0..count).map(|at| format!("c{at},")).collect() };
    let wide = format!("{}label\n", header(200_000));
    let refused = Scene::csv(&wide).import().unwrap_err().to_string();
    assert!(refused.contains("200001 columns"), "{refused}");
    let row = |label| format!("{}{label}\n", "1,".repeat(60_000));
    // Of ten samples of a class one is left to test on.
    let rows = [row("a"), row("b")].concat().repeat(10);
    let table = format!("{}label\n{rows}", header(60_000));
    let (imported, _) = Scene::csv(table).import().unwrap();
    assert_eq!(imported.header.columns.len(), 60_000);
}

#[test]
fn no_name_in_a_table_reaches_an_error_unescaped() {
    for (table, shown) in [
        ("a\u{1b}[2J,label\n1,a\n", r"\u{1b}[2J"),
        ("\"a\nb\",label\n1,a\n", r"a\nb"),
        ("a,label\n\u{1b}]0;x\u{7},a\n", r"\u{1b}]0;x\u{7}"),
        ("a,label\n1,b\u{9b}2J\n", r"\u{9b}2J"),
    ] {
        let refused = Scene::csv(table).import().unwrap_err().to_string();
        assert!(refused.contains(shown), "{refused}");
        assert!(
            !refused.chars().any(gleaner_files::is_interpreted),
            "{refused:?}"
        );
    }
}
