use super::*;

/// One square metre of a perfect panel: watts are watts per square metre.
fn read(text: &str) -> Result<Curve, HarvestError> {
    curve("w.csv", text.as_bytes(), 1.0)
}

fn hours(curve: &Curve) -> Vec<f64> {
    let hour = 3_600_000_000;
    (0..curve.length_us() / hour)
        .map(|n| curve.energy_aj((n + 1) * hour, true) - curve.energy_aj(n * hour, true))
        .map(|attojoules| (attojoules / 3_600) as f64 / 1e18)
        .collect()
}

const STATION: &str = "723170,\"GREENSBORO\",NC,-5.0,36.100,-79.950,273\n\
    Date (MM/DD/YYYY),Time (HH:MM),ETR (W/m^2),GHI (W/m^2),GHI source\n";

#[test]
fn a_typical_year_of_nrel_joins_months_of_different_years() {
    let text = format!(
        "{STATION}01/31/1988,23:00,0,10,1\n01/31/1988,24:00,0,20,1\n02/01/1979,01:00,0,30,1\n"
    );
    assert_eq!(hours(&read(&text).unwrap()), [10.0, 20.0, 30.0]);
}

#[test]
fn an_hourly_series_of_pvgis_is_read_between_its_preface_and_its_legend() {
    let preface = "Latitude (decimal degrees):\t45.000\nElevation (m):\t250\n\
        Radiation database:\tPVGIS-SARAH2\n\n\nSlope: 30 deg.\n";
    let legend = "\r\nG(i): Global irradiance on the inclined plane (W/m2)\r\n\
        H_sun: Sun height (degrees)\r\n\r\nPVGIS (c) European Union, 2001-2024\r\n";
    let rows = "time,G(i),H_sun,T2m\n20200228:2310,0.0,0.0,3.1\n20200229:0010,5.5,0.0,3.0\n\
        20200229:0110,7.25,0.0,3.0\n";
    let text = format!("{preface}{rows}{legend}");
    assert_eq!(hours(&read(&text).unwrap()), [0.0, 5.5, 7.25]);
}

#[test]
fn parts_of_pvgis_add_up() {
    let text = "time,Gb(i),Gd(i),Gr(i),H_sun\n20200101:0010,100,20,3,1\n20200101:0110,1,1,1,1\n";
    assert_eq!(hours(&read(text).unwrap()), [123.0, 3.0]);
}

#[test]
fn a_typical_year_of_pvgis_is_read_from_below_its_table_of_months() {
    let text = "Latitude (decimal degrees): 45.0\nmonth,year\n1,2010\n2,2007\n\
        time(UTC),T2m,RH,G(h),Gb(n),Gd(h)\n20100131:2200,1,80,5.0,0,0\n20100131:2300,1,80,7.0,0,0\n20070201:0000,1,80,9.0,0,0\n";
    assert_eq!(hours(&read(text).unwrap()), [5.0, 7.0, 9.0]);
}

#[test]
fn plain_rows_may_be_of_any_length() {
    let curve = read("t_s,ghi_w_m2\n0,100\n1800,200\n5400,0\n").unwrap();
    assert_eq!(hours(&curve), [150.0, 100.0]);
}

#[test]
fn errors_name_file_line_value_and_fix() {
    let tmy = |rows: &str| format!("{STATION}{rows}");
    let pvgis = |rows: &str| format!("time,G(i)\n{rows}");
    let cases = [
        (String::new(), "w.csv: no headings of TMY3"),
        ("t_s,p_w\n0,1\n".to_owned(), "or `t_s,ghi_w_m2`"),
        (tmy(""), "w.csv: fewer than two rows"),
        (
            tmy("01/01/1988,01:00,0,10,1\n"),
            "w.csv: fewer than two rows",
        ),
        (tmy("01/01/1988,01:00,0,10\n"), "w.csv:3: 4 fields in"),
        (
            tmy("01/01/1988,01:00,0,,1\n"),
            "w.csv:3: GHI (W/m^2) is missing",
        ),
        (
            tmy("01/01/1988,01:00,0,NaN,1\n"),
            "w.csv:3: GHI (W/m^2) `NaN` is not finite",
        ),
        (
            tmy("01/01/1988,01:00,0,-9900,1\n"),
            "w.csv:3: GHI (W/m^2) -9900 is negative",
        ),
        (
            tmy("01/01/1988,01:00,0,36000,1\n"),
            "w.csv:3: irradiance 36000 W/m^2 is more",
        ),
        (
            tmy("13/01/1988,01:00,0,1,1\n"),
            "w.csv:3: `13/01/1988 01:00` is no time",
        ),
        (
            tmy("01/01/1988,01:00,0,1,1\n01/01/1988,01:00,0,1,1\n"),
            "w.csv:4: 1988-01-01 01:00 is not after 1988-01-01 01:00; sort",
        ),
        (
            tmy("01/01/1988,01:00,0,1,1\n01/01/1988,02:00,0,1,1\n01/01/1988,04:00,0,1,1\n"),
            "w.csv:5: 1988-01-01 04:00 follows 1988-01-01 02:00, but rows are 60 minutes apart",
        ),
        (
            pvgis("2020-01-01,1\n"),
            "w.csv:2: `2020-01-01` is no time YYYYMMDD:HHMM",
        ),
        (
            pvgis("20200101:0000,1\nlegend\n20200101:0100,1\n"),
            "w.csv:3: a line that is no row of the table",
        ),
        (
            "t_s,ghi_w_m2\n0,1\n0,1\n".to_owned(),
            "w.csv:3: time 0 s is not after",
        ),
    ];
    for (text, expected) in cases {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}
