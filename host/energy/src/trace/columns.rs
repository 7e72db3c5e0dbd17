//! Roles and units of the columns of a table.

use std::str::FromStr;

use super::error::Kind;
use crate::InputError;

/// The role of a column, with the factor from its unit to the SI unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Role {
    Time(f64),
    Current(f64),
    Voltage(f64),
    Power(f64),
    /// Levels of all inputs as a number.
    Mask,
    /// Levels of eight inputs as characters, input 0 first.
    Word,
    /// The level of one input.
    Pin(u8),
}

impl Role {
    const fn order(self) -> usize {
        match self {
            Self::Time(_) => 0,
            Self::Current(_) => 1,
            Self::Voltage(_) => 2,
            Self::Power(_) => 3,
            Self::Mask | Self::Word => 4,
            Self::Pin(input) => 5 + input as usize,
        }
    }
}

/// Names of the roles in the order of [`Role::order`].
const NAMES: [&str; 5] = ["time", "current", "voltage", "power", "pins"];

const TIMES: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
const CURRENTS: [(&str, f64); 4] = [("A", 1.0), ("mA", 1e-3), ("uA", 1e-6), ("nA", 1e-9)];
const VOLTAGES: [(&str, f64); 2] = [("V", 1.0), ("mV", 1e-3)];
const POWERS: [(&str, f64); 3] = [("W", 1.0), ("mW", 1e-3), ("uW", 1e-6)];

/// Columns of a table as a user declares them: `time=t:s,current=i:mA,voltage=v:V,pins=gpio:mask`.
///
/// A column is named by its header or by its number, from 1. Roles are `time`, `current`,
/// `voltage`, `power`, `pins` (in the units `mask`, a number, or `bits`, characters with input 0
/// first) and `pin0` to `pin7`.
///
/// ```
/// use gleaner_energy::trace::Columns;
///
/// assert!("time=t:ms,current=2:uA".parse::<Columns>().is_ok());
/// assert!("time=t:ms".parse::<Columns>().is_err()); // neither current nor power
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Columns(Vec<(Role, String)>);

impl FromStr for Columns {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let columns: Vec<_> = text.split(',').map(column).collect::<Result<_, _>>()?;
        for (at, (role, _)) in columns.iter().enumerate() {
            if columns[..at]
                .iter()
                .any(|(other, _)| other.order() == role.order())
            {
                return Err(InputError(format!("{text:?} declares a role twice")));
            }
        }
        let has = |order| columns.iter().any(|(role, _)| role.order() == order);
        if !has(1) && !has(3) {
            return Err(InputError(format!(
                "{text:?} declares neither current nor power; for example current=i:mA"
            )));
        }
        Ok(Self(columns))
    }
}

fn column(text: &str) -> Result<(Role, String), InputError> {
    let form = || {
        InputError(format!(
            "{text:?} is not of the form ROLE=COLUMN:UNIT, for example current=i:mA"
        ))
    };
    let (role, rest) = text.trim().split_once('=').ok_or_else(form)?;
    if let Some(input) = role.strip_prefix("pin").and_then(|n| n.parse::<u8>().ok()) {
        return match input {
            0..8 => Ok((Role::Pin(input), rest.to_owned())),
            _ => Err(InputError(format!("{text:?}: inputs are pin0 to pin7"))),
        };
    }
    let (name, unit) = rest.rsplit_once(':').ok_or_else(form)?;
    let pick = |units: &[(&str, f64)]| {
        let known = units.iter().find(|(known, _)| *known == unit);
        known.map(|(_, factor)| *factor).ok_or_else(|| {
            let all: Vec<&str> = units.iter().map(|(unit, _)| *unit).collect();
            InputError(format!(
                "{text:?}: {unit:?} is not a unit of {role}; units are {}",
                all.join(", ")
            ))
        })
    };
    let role = match (role, unit) {
        ("time", _) => Role::Time(pick(&TIMES)?),
        ("current", _) => Role::Current(pick(&CURRENTS)?),
        ("voltage", _) => Role::Voltage(pick(&VOLTAGES)?),
        ("power", _) => Role::Power(pick(&POWERS)?),
        ("pins", "mask") => Role::Mask,
        ("pins", "bits") => Role::Word,
        ("pins", _) => {
            return Err(InputError(format!(
                "{text:?}: use pins=COLUMN:mask or :bits"
            )));
        }
        _ => {
            return Err(InputError(format!(
                "{text:?}: {role:?} is none of {}, pin0 to pin7",
                NAMES.join(", ")
            )));
        }
    };
    Ok((role, name.to_owned()))
}

/// The application that wrote the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    Ppk2,
    Joulescope,
    Other,
}

/// The roles of a table's columns by index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) author: Author,
    pub(super) separator: u8,
    roles: Vec<Option<Role>>,
}

impl Layout {
    /// Returns the layout of a known header.
    pub(super) fn recognise(line: &str) -> Option<Self> {
        let line = line
            .trim_start_matches("#= header=")
            .trim_start_matches('#');
        let separator = separator(line);
        let cells = cells(line, separator);
        let ppk2 = cells.iter().any(|cell| cell == "Current(uA)");
        let joulescope = ["current", "current (A)"]
            .iter()
            .any(|name| cells.iter().any(|cell| cell == name))
            && cells.iter().any(|cell| cell.starts_with("time"));
        let role = |cell: &String| match cell.as_str() {
            "Timestamp(ms)" => Some(Role::Time(1e-3)),
            "Current(uA)" => Some(Role::Current(1e-6)),
            "D0-D7" => Some(Role::Word),
            "time" | "time (s)" => Some(Role::Time(1.0)),
            "current" | "current (A)" => Some(Role::Current(1.0)),
            "voltage" | "voltage (V)" => Some(Role::Voltage(1.0)),
            name => {
                let input = name.strip_prefix('D')?.parse().ok()?;
                (ppk2 && input < 8).then_some(Role::Pin(input))
            }
        };
        let author = match (ppk2, joulescope) {
            (true, _) => Author::Ppk2,
            (_, true) => Author::Joulescope,
            _ => return None,
        };
        let mut roles: Vec<Option<Role>> = cells.iter().map(role).collect();
        // The application offers the levels in two forms; one is enough.
        if roles.contains(&Some(Role::Word)) {
            for role in &mut roles {
                role.take_if(|role| matches!(role, Role::Pin(_)));
            }
        }
        Some(Self {
            author,
            separator,
            roles,
        })
    }

    /// Finds declared columns by the first line of a table; returns whether that line is a header.
    pub(super) fn declared(columns: &Columns, line: &str) -> Result<(Self, bool), Kind> {
        let line = line.trim_start_matches('#');
        let separator = separator(line);
        let cells = cells(line, separator);
        let is_header = cells.iter().any(|cell| cell.parse::<f64>().is_err());
        let mut roles = vec![None; cells.len()];
        for (role, name) in &columns.0 {
            let named = cells.iter().position(|cell| cell == name && is_header);
            let numbered = || {
                let number: usize = name.parse().ok()?;
                number.checked_sub(1).filter(|at| *at < cells.len())
            };
            let Some(at) = named.or_else(numbered) else {
                let there = if is_header {
                    format!("columns are {}", cells.join(", "))
                } else {
                    format!("there is no header, columns are 1 to {}", cells.len())
                };
                return Err(Kind::Column(format!(
                    "--columns names {name:?}, and {there}"
                )));
            };
            if roles[at].replace(*role).is_some() {
                return Err(Kind::Column(format!("--columns names {name:?} twice")));
            }
        }
        let layout = Self {
            author: Author::Other,
            separator,
            roles,
        };
        Ok((layout, is_header))
    }

    pub(super) fn role(&self, column: usize) -> Option<Role> {
        self.roles.get(column).copied().flatten()
    }

    /// Returns the smallest number of columns that a row must have.
    pub(super) fn width(&self) -> usize {
        let last = self.roles.iter().rposition(Option::is_some);
        last.map_or(0, |last| last + 1)
    }

    pub(super) fn has_time(&self) -> bool {
        self.has(|role| matches!(role, Role::Time(_)))
    }

    pub(super) fn has_current(&self) -> bool {
        self.has(|role| matches!(role, Role::Current(_)))
    }

    pub(super) fn has_voltage(&self) -> bool {
        self.has(|role| matches!(role, Role::Voltage(_)))
    }

    pub(super) fn has_power(&self) -> bool {
        self.has(|role| matches!(role, Role::Power(_)))
    }

    pub(super) fn has_pins(&self) -> bool {
        self.has(|role| matches!(role, Role::Mask | Role::Word | Role::Pin(_)))
    }

    fn has(&self, test: impl Fn(&Role) -> bool) -> bool {
        self.roles.iter().flatten().any(test)
    }

    /// Returns the unit of the currents, or else of the powers.
    pub(super) fn unit(&self) -> &'static str {
        let unit = self.roles.iter().flatten().find_map(|role| match role {
            Role::Current(factor) => CURRENTS.iter().find(|(_, known)| known == factor),
            Role::Power(factor) => POWERS.iter().find(|(_, known)| known == factor),
            _ => None,
        });
        unit.map_or("A", |(name, _)| name)
    }
}

/// Returns the separator: the first comma, semicolon or tab of the line.
fn separator(line: &str) -> u8 {
    let found = line.bytes().find(|byte| b",;\t".contains(byte));
    found.unwrap_or(b',')
}

fn cells(line: &str, separator: u8) -> Vec<String> {
    let cells = line.split(char::from(separator));
    cells
        .map(|cell| cell.trim().trim_matches('"').to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_both_meters_are_known() {
        let ppk2 = Layout::recognise("Timestamp(ms),Current(uA),D0-D7,D0,D1,D2,D3,D4,D5,D6,D7");
        let ppk2 = ppk2.unwrap();
        assert_eq!(ppk2.author, Author::Ppk2);
        assert_eq!(ppk2.width(), 3);
        let apart = Layout::recognise("Current(uA),D0,D1,D2,D3,D4,D5,D6,D7").unwrap();
        assert_eq!(apart.role(8), Some(Role::Pin(7)));
        assert!(!apart.has_time());
        for header in [
            "#time (s),current (A),voltage (V)",
            "time,current,voltage,power,charge,energy",
            "#time,current,voltage,power,charge,energy",
            "#= header=time,current,voltage,power,charge,energy",
        ] {
            let layout = Layout::recognise(header).unwrap();
            assert_eq!(layout.author, Author::Joulescope, "{header}");
            assert_eq!(layout.width(), 3, "{header}");
        }
        assert_eq!(Layout::recognise("t,i,v"), None);
    }

    #[test]
    fn declared_columns_are_found_by_name_and_number() {
        let columns: Columns = "time=t:ms,current=3:uA,pin0=d".parse().unwrap();
        let (layout, header) = Layout::declared(&columns, "t;d;i").unwrap();
        assert!(header);
        assert_eq!(layout.separator, b';');
        assert_eq!(layout.role(2), Some(Role::Current(1e-6)));
        assert_eq!(layout.unit(), "uA");
        let columns: Columns = "current=1:A".parse().unwrap();
        let (_, header) = Layout::declared(&columns, "1.25e-3").unwrap();
        assert!(!header);
        let lost = Layout::declared(&"current=x:A".parse().unwrap(), "t,i").unwrap_err();
        assert_eq!(
            lost.to_string(),
            "--columns names \"x\", and columns are t, i"
        );
    }

    #[test]
    fn invalid_declarations_are_rejected() {
        let refused = |text: &str| text.parse::<Columns>().unwrap_err().0;
        assert!(refused("time=t:s").contains("neither current nor power"));
        assert!(refused("current=i").contains("ROLE=COLUMN:UNIT"));
        assert!(refused("current=i:kA").contains("units are A, mA, uA, nA"));
        assert!(refused("current=i:A,current=j:A").contains("twice"));
        assert!(refused("amps=i:A").contains("none of time, current"));
        assert!(refused("pin8=x,current=i:A").contains("pin0 to pin7"));
    }
}
