//! Debian's packages, installed without ever removing one.
//!
//! A machine with one package from the release's backports refuses the release's own version of its
//! siblings: beside a backported qemu-utils, apt would install the release's emulator only by
//! removing it. Then the siblings come from the backports too.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// The sources apt reads, and the release that wins over the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sources {
    release: Option<String>,
    list: Option<PathBuf>,
}

/// An installed package that apt would remove.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Removal {
    package: String,
    version: String,
}

/// Installs `packages`, with sudo where needed, from the backports if only they remove nothing.
pub fn install(packages: &[&str]) -> Result<()> {
    let mut sources = Sources::default();
    sources.update()?;
    let removals = sources.removals(packages);
    if !removals.is_empty() {
        println!("setup: apt would remove {}", listed(&removals));
        sources = backports(&removals).with_context(|| advice(packages, &removals))?;
        sources.update()?;
        if !sources.removals(packages).is_empty() {
            bail!(advice(packages, &removals));
        }
    }
    process::run(&mut process::as_root(sources.install(packages)))
        .with_context(|| advice(packages, &removals))
}

impl Sources {
    fn apt_get(&self, subcommand: &str) -> Command {
        let mut command = Command::new("apt-get");
        command.args([subcommand, "-qq"]);
        if let Some(list) = &self.list {
            command.arg("--option");
            command.arg(format!("Dir::Etc::SourceList={}", list.display()));
        }
        command
    }

    fn update(&self) -> Result<()> {
        process::run(&mut process::as_root(self.apt_get("update")))
    }

    fn installation(&self, packages: &[&str]) -> Command {
        let mut command = self.apt_get("install");
        command.arg("--no-install-recommends");
        if let Some(release) = &self.release {
            command.args(["--target-release", release]);
        }
        command.args(packages);
        command
    }

    fn install(&self, packages: &[&str]) -> Command {
        let mut command = self.installation(packages);
        command.args(["--yes", "--no-remove"]);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    }

    /// What installing would remove; nothing as well if it is impossible, which apt then says.
    fn removals(&self, packages: &[&str]) -> Vec<Removal> {
        let simulated = process::output(self.installation(packages).arg("--simulate"));
        removals_in(&simulated.unwrap_or_default())
    }
}

/// The backports of this machine's release, if all the packages to be removed come from there.
fn backports(removals: &[Removal]) -> Result<Sources> {
    if !removals.iter().all(Removal::is_backported) {
        bail!("not all of them come from a release's backports");
    }
    let system = std::fs::read_to_string("/etc/os-release").context("cannot read os-release")?;
    let codename = codename_in(&system).context("os-release names no release")?;
    let release = format!("{codename}-backports");
    let policy = process::output(Command::new("apt-cache").arg("policy")).unwrap_or_default();
    let mut sources = Sources::default();
    if mirror_in(&policy, &release).is_none() {
        let mirror = mirror_in(&policy, codename)
            .with_context(|| format!("apt has no mirror of {codename}"))?;
        println!("setup: reading {release} for this installation only");
        sources.list = Some(list_with(mirror, &release)?);
    }
    sources.release = Some(release);
    Ok(sources)
}

/// Writes the machine's list of sources and one more to a file of our own; the folder of further
/// lists is read as ever.
fn list_with(mirror: &str, release: &str) -> Result<PathBuf> {
    let mut list = std::fs::read_to_string("/etc/apt/sources.list").unwrap_or_default();
    const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let signed = if Path::new(KEYS).is_file() {
        format!("[signed-by={KEYS}] ")
    } else {
        String::new()
    };
    writeln!(list, "\ndeb {signed}{mirror} {release} main")?;
    let folder = std::env::current_dir()?.join("target");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("sources.list");
    std::fs::write(&path, list).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

impl Removal {
    fn is_backported(&self) -> bool {
        self.version.contains("~bpo")
    }
}

/// Reads the lines `Remv name [version]` of a simulated installation.
fn removals_in(simulated: &str) -> Vec<Removal> {
    let removal = |line: &str| {
        let (package, rest) = line.strip_prefix("Remv ")?.split_once(" [")?;
        Some(Removal {
            package: package.to_owned(),
            version: rest.split(']').next()?.to_owned(),
        })
    };
    simulated.lines().filter_map(removal).collect()
}

/// The release's name in the text of os-release.
fn codename_in(system: &str) -> Option<&str> {
    let mut lines = system.lines();
    let name = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(name.trim().trim_matches('"'))
}

/// The address of the first mirror of `release` in the output of `apt-cache policy`.
fn mirror_in<'a>(policy: &'a str, release: &str) -> Option<&'a str> {
    let part = format!("{release}/main");
    policy.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (mirror, what) = (words.next()?, words.next()?);
        (mirror.contains("://") && what == part).then_some(mirror)
    })
}

fn listed(removals: &[Removal]) -> String {
    let named = |removal: &Removal| format!("{} {}", removal.package, removal.version);
    removals.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// What to type where apt refuses.
fn advice(packages: &[&str], removals: &[Removal]) -> String {
    let packages = packages.join(" ");
    if removals.is_empty() {
        return format!("apt cannot install {packages}: see its message above");
    }
    let release = if removals.iter().all(Removal::is_backported) {
        "<release>-backports"
    } else {
        "<release>"
    };
    let losers: Vec<&str> = removals.iter().map(|r| r.package.as_str()).collect();
    let losers = losers.join(" ");
    format!(
        "{packages} would remove {}, which set-up never does: give apt the source that is from and \
         run `apt-get install --no-remove -t {release} {packages}`, or, if you can do without it, \
         `apt-get remove {losers}`",
        listed(removals)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIMULATED: &str = "Remv qemu-utils [1:10.0.2+ds-2+deb13u1~bpo12+1]\n\
        Inst libfdt1 (1.6.1-4+b1 Debian:12.14/oldstable [amd64])\n\
        Inst qemu-system-arm (1:7.2+dfsg-7+deb12u18+b2 Debian:12.14/oldstable [amd64])\n\
        Conf qemu-system-arm (1:7.2+dfsg-7+deb12u18+b2 Debian:12.14/oldstable [amd64])\n";

    const POLICY: &str = "Package files:\n 100 /var/lib/dpkg/status\n     \
        release a=now\n 500 http://security.example/debian-security bookworm-security/main amd64 \
        Packages\n     release v=12,o=Debian\n 500 http://mirror.example/debian bookworm/main amd64 \
        Packages\n     origin mirror.example\nPinned packages:\n";

    #[test]
    fn a_simulated_installation_tells_what_it_would_remove() {
        let removals = removals_in(SIMULATED);
        assert_eq!(
            listed(&removals),
            "qemu-utils 1:10.0.2+ds-2+deb13u1~bpo12+1"
        );
        assert!(removals.iter().all(Removal::is_backported));
        assert_eq!(removals_in("Inst npm (9.2.0 Debian:12 [all])"), []);
    }

    #[test]
    fn a_package_of_the_release_itself_is_not_backported() {
        let removals = removals_in("Remv nodejs [18.20.4+dfsg-1~deb12u1]\n");
        assert!(!removals[0].is_backported());
        assert!(backports(&removals).is_err());
    }

    #[test]
    fn the_mirror_of_a_release_is_where_apt_reads_it() {
        assert_eq!(
            mirror_in(POLICY, "bookworm"),
            Some("http://mirror.example/debian")
        );
        assert_eq!(mirror_in(POLICY, "bookworm-backports"), None);
        assert_eq!(mirror_in("", "bookworm"), None);
    }

    #[test]
    fn the_codename_is_read_with_and_without_quotes() {
        let plain = "NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=bookworm\nID=debian\n";
        assert_eq!(codename_in(plain), Some("bookworm"));
        assert_eq!(codename_in("VERSION_CODENAME=\"noble\""), Some("noble"));
        assert_eq!(codename_in("ID=arch"), None);
    }

    #[test]
    fn every_installation_forbids_removals() {
        let sources = Sources {
            release: Some("bookworm-backports".to_owned()),
            list: Some("target/sources.list".into()),
        };
        for sources in [Sources::default(), sources] {
            let command = sources.install(&["qemu-system-arm"]);
            assert!(command.get_args().any(|word| word == "--no-remove"));
        }
    }

    #[test]
    fn the_advice_names_both_ways_out() {
        let advice = advice(&["qemu-system-arm"], &removals_in(SIMULATED));
        for part in [
            "would remove qemu-utils 1:10.0.2",
            "apt-get install --no-remove -t <release>-backports qemu-system-arm",
            "apt-get remove qemu-utils",
        ] {
            assert!(advice.contains(part), "{advice}");
        }
    }
}
