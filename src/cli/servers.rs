//! Commands that serve the wiki to other programs: `mcp` and `serve`.

use std::io::IsTerminal as _;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use serde_json::json;

use super::globals::Globals;
use super::output::{Console, Failure};
use super::session::{Needs, Session};
use super::{Exit, defect};
use crate::error::{Error, ErrorCode};
use crate::mcp::{HOSTS, Host, Server, Snippet};

/// A command that serves.
pub(crate) struct ServerCommand {
    pub(crate) name: &'static str,
    pub(crate) parser: fn() -> clap::Command,
    pub(crate) run: fn(&ArgMatches, &Globals, &Console) -> Result<Exit, Failure>,
}

/// Every command that serves.
pub(crate) const COMMANDS: &[ServerCommand] = &[
    ServerCommand {
        name: "mcp",
        parser: mcp_parser,
        run: mcp,
    },
    #[cfg(feature = "web")]
    ServerCommand {
        name: "serve",
        parser: http::parser,
        run: http::serve,
    },
];

/// What every server needs.
const NEEDS: Needs = Needs {
    wiki: true,
    user_settings: false,
    tells_faults: false,
    progress: false,
};

fn mcp_parser() -> clap::Command {
    let hosts = PossibleValuesParser::new(HOSTS.iter().map(|host| host.name));
    clap::Command::new("mcp")
        .about("Serve the wiki to an agent on standard input and output (MCP)")
        .long_about(
            "Serve the wiki to an agent on standard input and output (MCP)\n\n\
             An agent host starts this command by itself; --print-config prints what its \
             configuration needs. The server ends with its input. docs/agents.md and \
             docs/tools.md say more.",
        )
        .arg(
            Arg::new("print-config")
                .long("print-config")
                .value_name("HOST")
                .value_parser(hosts)
                .help("Print the configuration snippet for this host, and serve nothing"),
        )
}

fn mcp(matches: &ArgMatches, globals: &Globals, console: &Console) -> Result<Exit, Failure> {
    if let Some(name) = matches.get_one::<String>("print-config") {
        return print_config(name, globals, console);
    }
    // From here on standard output is for the protocol alone.
    defect::serve();
    let mut talk = console.clone();
    talk.json = false;
    let served = serve_stdio(globals, talk.clone());
    Ok(served.unwrap_or_else(|cause| talk.fail(&cause)))
}

fn serve_stdio(globals: &Globals, console: Console) -> Result<Exit, Error> {
    let session = Session::open(globals, console, NEEDS)?;
    if std::io::stdin().is_terminal() {
        session.console.note(
            "serving on standard input and output, which agent hosts start by themselves: \
             --print-config HOST prints what they need; ctrl-D ends the server",
        );
    }
    let server = Server::new(session.wiki, &session.ctx);
    server.serve_stdio().map_err(|cause| {
        Error::new(ErrorCode::UnsafeFilesystem, "cannot start the server").with_source(cause)
    })?;
    Ok(Exit::Done)
}

fn print_config(name: &str, globals: &Globals, console: &Console) -> Result<Exit, Failure> {
    let host = Host::named(name).ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("there is no host {name:?}"),
        )
    })?;
    let unreadable = |what: &str| Error::new(ErrorCode::InvalidArgument, what.to_owned());
    let command = std::env::current_exe()
        .map_err(|cause| unreadable("cannot find this program").with_source(cause))?;
    let command = command
        .to_str()
        .ok_or_else(|| unreadable("the path of this program is not UTF-8"))?;
    let root = globals
        .root
        .as_deref()
        .map(std::path::absolute)
        .transpose()
        .map_err(|cause| unreadable("--root cannot be made absolute").with_source(cause))?;
    let root = match &root {
        Some(root) => Some(
            root.to_str()
                .ok_or_else(|| unreadable("--root is not UTF-8"))?,
        ),
        None => None,
    };
    let text = host.render(&Snippet { command, root });
    if console.json {
        console.json(&json!({"host": host.name, "file": host.file, "snippet": text}))?;
    } else {
        console.text(&text)?;
        console.note(&format!("for {}: put it into {}", host.title, host.file));
        if root.is_none() {
            console.note(
                "the wiki is looked for from where the host starts the server; \
                 with --root DIR it is always that one",
            );
        }
    }
    Ok(Exit::Done)
}

#[cfg(feature = "web")]
mod http {
    //! `serve`.

    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use clap::{Arg, ArgAction, ArgMatches, value_parser};
    use serde_json::json;

    use super::super::defect;
    use super::{Console, Error, ErrorCode, Exit, Failure, Globals, NEEDS, Server, Session};
    use crate::config::Environment;
    use crate::web::{Listening, ServeOptions, new_token};

    /// What a call may take when it comes over HTTP.
    const TIME_LIMIT: Duration = Duration::from_mins(10);

    const PORT: &str = "7345";

    pub(super) fn parser() -> clap::Command {
        clap::Command::new("serve")
            .about("Serve the wiki over HTTP: the dashboard in a browser, MCP at /mcp")
            .long_about(
                "Serve the wiki over HTTP: the dashboard in a browser, MCP at /mcp\n\n\
                 On a loopback address only this machine is answered, and no page of another \
                 site. On any other address each request must bring a token as Authorization: \
                 Bearer TOKEN: that of LLMWIKI_TOKEN, else one that is made and printed. A browser \
                 asks for it once. The server speaks plain HTTP; beyond this machine put it behind one that speaks \
                 TLS. SIGTERM and SIGINT end it when what is in work is done.",
            )
            .arg(
                Arg::new("host")
                    .long("host")
                    .value_name("ADDRESS")
                    .default_value("127.0.0.1")
                    .value_parser(address)
                    .help("The address to listen on"),
            )
            .arg(
                Arg::new("port")
                    .long("port")
                    .value_name("N")
                    .default_value(PORT)
                    .value_parser(value_parser!(u16))
                    .help("The port; 0 takes a free one"),
            )
            .arg(
                Arg::new("allow-host")
                    .long("allow-host")
                    .value_name("NAME")
                    .action(ArgAction::Append)
                    .help("A name by which the server is reached; give it once for each"),
            )
            .arg(
                Arg::new("allow-origin")
                    .long("allow-origin")
                    .value_name("ORIGIN")
                    .action(ArgAction::Append)
                    .value_parser(origin)
                    .help(
                        "A site whose pages may show the code wiki, such as \
                         https://board.example; give it once for each",
                    ),
            )
    }

    fn address(text: &str) -> Result<IpAddr, String> {
        if text == "localhost" {
            return Ok(Ipv4Addr::LOCALHOST.into());
        }
        text.trim_start_matches('[')
            .trim_end_matches(']')
            .parse()
            .map_err(|_| "give an IP address, for example 127.0.0.1 or 0.0.0.0".to_owned())
    }

    fn origin(text: &str) -> Result<String, String> {
        let host = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"));
        match host {
            Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']) => {
                Ok(text.to_ascii_lowercase())
            }
            _ => Err("give scheme and host alone, for example https://board.example".to_owned()),
        }
    }

    pub(super) fn serve(
        matches: &ArgMatches,
        globals: &Globals,
        console: &Console,
    ) -> Result<Exit, Failure> {
        let ip = matches.get_one::<IpAddr>("host").copied();
        let port = matches.get_one::<u16>("port").copied();
        let hosts = matches.get_many::<String>("allow-host");
        let origins = matches.get_many::<String>("allow-origin");
        let failed = |what: String, cause: std::io::Error| {
            Error::new(ErrorCode::InvalidArgument, what).with_source(cause)
        };
        let session = Session::open(globals, console.clone(), NEEDS)?;
        let mut options = ServeOptions {
            address: SocketAddr::new(
                ip.unwrap_or(Ipv4Addr::LOCALHOST.into()),
                port.unwrap_or_default(),
            ),
            token: Environment::of_process()?
                .get("LLMWIKI_TOKEN")
                .map(str::to_owned),
            allowed_hosts: hosts.into_iter().flatten().cloned().collect(),
            allowed_origins: origins.into_iter().flatten().cloned().collect(),
            max_body_bytes: crate::mcp::largest_message(&session.ctx.limits),
        };
        let made = !options.is_loopback() && options.token.is_none();
        if made {
            let token = new_token()
                .map_err(|cause| failed("the system has no randomness".to_owned(), cause))?;
            options.token = Some(token);
        }
        let listening = Listening::bind(options.address).map_err(|cause| {
            failed(format!("cannot listen on {}", options.address), cause)
                .with_hint("--port takes another port, 0 a free one")
        })?;
        let url = format!("http://{}", listening.address());
        let shown = made.then_some(options.token.as_deref()).flatten();
        if console.json {
            let mut document = json!({"url": format!("{url}/"), "mcp": format!("{url}/mcp")});
            if let Some(token) = shown {
                document["token"] = token.into();
            }
            console.json(&document)?;
        } else {
            console.text(&format!("{url}/\n"))?;
            if let Some(token) = shown {
                console.text(&format!("token {token}\n"))?;
            }
            console.note(&format!(
                "serving {}; agents find MCP at {url}/mcp",
                session.wiki.root().display()
            ));
        }
        defect::serve();
        let server = Server::new(session.wiki, &session.ctx).with_time_limit(TIME_LIMIT);
        listening
            .serve(server, &options)
            .map_err(|cause| failed("cannot start the server".to_owned(), cause))?;
        Ok(Exit::Done)
    }
}
