//! Device classes: reading, canonical text, membership and refused input.

use crate::scenario::{Override, Scenario, keys, resolve, resolve_text};

const TWO: &str = "\
[clients]
count = 8

[[device.class]]
name = \"slow\"
share = 0.5
frequency_hz = 125e6
harvest_j = 1

[[device.class]]
clients = [0, 3]
deadline_slack_s = 1e-3
energy_coefficient = 4.2e-26
cycles_per_sample = 79300
";

fn two() -> Scenario {
    resolve_text(TWO, "lab.toml", &[]).unwrap()
}

fn clients_of(scenario: &Scenario, class: Option<usize>) -> Vec<usize> {
    let devices = scenario.devices();
    (0..devices.len())
        .filter(|&client| devices[client].class == class)
        .collect()
}

#[test]
fn a_class_says_what_differs_and_the_rest_is_as_in_device() {
    let scenario = two();
    assert_eq!(clients_of(&scenario, Some(1)), [0, 3]);
    assert_eq!(clients_of(&scenario, Some(0)).len(), 4);
    assert_eq!(clients_of(&scenario, None).len(), 2);
    let (common, devices) = (scenario.device.common(), scenario.devices());
    for (client, device) in devices.iter().enumerate() {
        assert_eq!(*device, scenario.device_of(client));
        let mut expected = common;
        expected.class = device.class;
        match device.class {
            Some(0) => (expected.frequency_hz, expected.harvest_j) = (125e6, 1.0),
            Some(1) => {
                expected.cycles_per_sample = 79_300.0;
                expected.energy_coefficient = 4.2e-26;
                expected.deadline_slack_s = 1e-3;
            }
            _ => {}
        }
        assert_eq!(*device, expected);
    }
    let names = [Some(0), Some(1), None].map(|class| scenario.class_name(class));
    assert_eq!(names, ["slow", "device.class[1]", "others"]);
}

#[test]
fn shares_are_drawn_anew_with_every_seed_and_never_touch_a_list() {
    let mut drawn = Vec::new();
    for seed in 0..20 {
        let mut scenario = two();
        scenario.run.seed = seed;
        assert_eq!(clients_of(&scenario, Some(1)), [0, 3]);
        assert_eq!(scenario.devices(), scenario.devices());
        drawn.push(clients_of(&scenario, Some(0)));
    }
    drawn.sort();
    drawn.dedup();
    assert!(drawn.len() > 5, "{drawn:?}");
}

#[test]
fn shares_become_clients_by_largest_remainder() {
    for (clients, shares, expected) in [
        (10, &[0.5, 0.5][..], &[5, 5][..]),
        // 3.3 and 6.7: the rounded sum is 10, the larger remainder takes the last.
        (10, &[0.33, 0.67], &[3, 7]),
        (10, &[0.25, 0.25, 0.5], &[3, 2, 5]),
        // 0.29 x 100 is below 29 in floating point.
        (100, &[0.29], &[29]),
        (7, &[1.0], &[7]),
        (10, &[0.1, 0.2, 0.7], &[1, 2, 7]),
    ] {
        let classes: Vec<String> = shares.iter().map(|s| format!("{{share={s}}}")).collect();
        let sets = [
            format!("clients.count={clients}"),
            format!("device.class=[{}]", classes.join(",")),
        ];
        let scenario = resolve("paper-mlp", &sets.map(|set| set.parse().unwrap())).unwrap();
        let counts: Vec<usize> = (0..shares.len())
            .map(|class| clients_of(&scenario, Some(class)).len())
            .collect();
        assert_eq!(counts, expected, "{shares:?} of {clients}");
    }
}

#[test]
fn classes_survive_their_canonical_text_and_leave_others_alone() {
    let (plain, scenario) = (Scenario::default().to_toml(), two());
    assert!(!plain.contains("class"), "{plain}");
    let text = scenario.to_toml();
    assert!(
        text.contains(
            "\n[[device.class]]\nname = \"slow\"\nshare = 0.5\nfrequency_hz = 125000000.0\n\
             harvest_j = 1.0\n\n[[device.class]]\nclients = [0, 3]\ncycles_per_sample = 79300.0\n\
             energy_coefficient = 4.2e-26\ndeadline_slack_s = 0.001\n\n[cre]\n"
        ),
        "{text}"
    );
    assert_eq!(resolve_text(&text, "x", &[]).unwrap(), scenario);
    let commented = scenario.to_commented_toml();
    assert!(commented.contains("# [Hz] "), "{commented}");
    assert_eq!(resolve_text(&commented, "x", &[]).unwrap(), scenario);
}

#[test]
fn an_option_replaces_the_whole_list() {
    let set: Override = "device.class=[{share=0.25, frequency_hz=1e8}]"
        .parse()
        .unwrap();
    assert_eq!(
        set.value_text(),
        "[{ frequency_hz = 100000000.0, share = 0.25 }]"
    );
    let scenario = resolve_text(TWO, "lab.toml", &[set]).unwrap();
    assert_eq!(scenario.device.class.len(), 1);
    assert_eq!(clients_of(&scenario, Some(0)).len(), 2);
    let none = resolve_text(TWO, "lab.toml", &["device.class=[]".parse().unwrap()]).unwrap();
    assert_eq!(clients_of(&none, None).len(), 8);
}

#[test]
fn a_key_of_a_class_is_explained_by_its_path_or_a_name_of_its_own() {
    let path = |words: &str| keys::look_up(words).map(|key| key.path());
    assert_eq!(path("share").as_deref(), Some("device.class.share"));
    assert_eq!(path("harvest_j").as_deref(), Some("device.harvest_j"));
    let of_class = keys::look_up("device.class.harvest_j").unwrap();
    assert_eq!(of_class.default_text(), "that of [device]");
    assert!(
        keys::find("device.class.harvest_j").is_none(),
        "it cannot be set alone"
    );
}

fn refused(text: &str) -> String {
    resolve_text(text, "lab.toml", &[]).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn what_is_no_class_is_refused_with_its_line() {
    let first = "[device]\nharvest_j = 1e-3\n[[device.class]]\nshare = 0.5\n\n[[device.class]]\n";
    for (wrong, expected) in [
        (
            "clients = [1]\nfrequency = 1e8",
            "lab.toml, line 8: unknown key `device.class[1].frequency`; did you mean \
             `frequency_hz`? (`gleaner config explain` lists all keys)",
        ),
        (
            "clients = [1]\nzzz = 1",
            "lab.toml, line 8: unknown key `device.class[1].zzz` (`gleaner config explain` lists \
             all keys)",
        ),
        (
            "share = \"half\"",
            "lab.toml, line 7: device.class[1].share = \"half\": a number is expected",
        ),
        (
            "clients = [0, -1]",
            "lab.toml, line 7: device.class[1].clients = [0, -1]: a list of client numbers, as in \
             [0, 3, 7], is expected",
        ),
        (
            "name = 3",
            "lab.toml, line 7: device.class[1].name = 3: a text in quotes is expected",
        ),
    ] {
        assert_eq!(refused(&format!("{first}{wrong}\n")), expected);
    }
    assert_eq!(
        refused("[device.class]\nshare = 0.5\n"),
        "lab.toml, line 1: device.class = { share = 0.5 }: a list of tables, each as \
         [[device.class]] in double brackets, is expected"
    );
    let set = "device.class=[{sahre=0.5}]".parse().unwrap();
    let said = resolve("paper-mlp", &[set]).unwrap_err().to_string();
    assert!(
        said.starts_with("--set device.class=[{ sahre = 0.5 }]: unknown key"),
        "{said}"
    );
    assert!(said.contains("did you mean `share`?"), "{said}");
}

#[test]
fn classes_that_cannot_be_are_refused_with_value_and_fix() {
    for (classes, expected) in [
        (
            "{share=0.0}",
            "device.class[0].share = 0: must be a positive number",
        ),
        (
            "{share=1.5}",
            "device.class[0].share = 1.5: must be at most 1",
        ),
        (
            "{share=nan}",
            "device.class[0].share = NaN: must be a positive number",
        ),
        (
            "{share=0.5},{share=0.7}",
            "device.class[1].share = 0.7: the shares up to here add up to 1.2; lower them to 1 at \
             most",
        ),
        (
            "{share=0.5,clients=[1]}",
            "device.class[0].share = 0.5: clients says who belongs to the class already; keep one \
             of the two",
        ),
        (
            "{name='pico'}",
            "device.class[0] = pico: say who belongs to it: share = 0.5, or clients = [0, 3, 7]",
        ),
        (
            "{clients=[]}",
            "device.class[0].clients = []: name a client, as in [0, 3, 7], or leave the class out",
        ),
        (
            "{clients=[10]}",
            "device.class[0].clients = 10: clients are numbered from 0 and clients.count = 10",
        ),
        (
            "{clients=[1,2]},{clients=[3,2]}",
            "device.class[1].clients = 2: device.class[0] has this client; name it once",
        ),
        (
            "{clients=[1,1]}",
            "device.class[0].clients = 1: device.class[0] has this client; name it once",
        ),
        (
            "{clients=[0,1,2,3,4,5]},{share=0.3},{share=0.2}",
            "device.class[2].share = 0.2: the shares ask for 5 clients, but lists leave 4 of \
             clients.count = 10; lower the shares",
        ),
        (
            "{share=0.04}",
            "device.class[0].share = 0.04: is no client of clients.count = 10; raise one of the two, \
             or write clients = [0]",
        ),
        (
            "{share=0.5,frequency_hz=0}",
            "device.class[0].frequency_hz = 0: must be a positive number",
        ),
        (
            "{share=0.5,harvest_j=-1}",
            "device.class[0].harvest_j = -1: must be a finite number, 0 or more",
        ),
        (
            "{share=0.5,cycles_per_sample=inf}",
            "device.class[0].cycles_per_sample = inf: must be a positive number",
        ),
        (
            "{share=0.5,deadline_slack_s=0.01}",
            "device.class[0].deadline_slack_s = 0.01: must be below device.deadline_s = 0.01",
        ),
        (
            "{share=0.5,name='a'},{share=0.5,name='a'}",
            "device.class[1].name = a: device.class[0] has this name; choose another",
        ),
        (
            "{share=0.5,name=' '}",
            "device.class[0].name = \"\": write a name, or leave the key out",
        ),
    ] {
        let set = format!("device.class=[{classes}]").parse().unwrap();
        let said = resolve("paper-mlp", &[set]).map(|_| String::new());
        assert_eq!(said.unwrap_or_else(|error| error.to_string()), expected);
    }
}
