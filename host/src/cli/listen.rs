//! `--listen`: the address for boards that connect by themselves.

use std::net::{IpAddr, SocketAddr};

/// Default port of the listener.
const PORT: u16 = 7453;

#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ListenArgs {
    /// Listen for boards that connect by themselves (link = "incoming" in fleet.toml), on this
    /// machine's loopback or on ADDR, for example 0.0.0.0:7453; any address but a loopback needs a
    /// key for every such board.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1",
          value_parser = address)]
    pub listen: Option<SocketAddr>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = text.parse::<SocketAddr>();
    let alone = || text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
    whole.or_else(|_| alone()).map_err(|_| {
        format!("use an address of this machine, for example 0.0.0.0:{PORT} or [::]:{PORT}")
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: ListenArgs,
    }

    fn listen(args: &[&str]) -> Result<Option<String>, String> {
        let args = [&["gleaner"], args].concat();
        let cli = Cli::try_parse_from(args).map_err(|error| error.to_string())?;
        Ok(cli.args.listen.map(|address| address.to_string()))
    }

    #[test]
    fn the_default_address_is_the_loopback() {
        assert_eq!(listen(&[]), Ok(None));
        assert_eq!(listen(&["--listen"]), Ok(Some("127.0.0.1:7453".to_owned())));
        for (given, meant) in [
            ("0.0.0.0", "0.0.0.0:7453"),
            ("10.0.0.2:81", "10.0.0.2:81"),
            ("[::1]:0", "[::1]:0"),
            ("::", "[::]:7453"),
        ] {
            assert_eq!(listen(&["--listen", given]), Ok(Some(meant.to_owned())));
        }
        let wrong = listen(&["--listen", "everybody"]).unwrap_err();
        assert!(
            wrong.contains("everybody") && wrong.contains("0.0.0.0:7453"),
            "{wrong}"
        );
    }
}
