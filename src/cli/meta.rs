//! Commands about the program itself. They need no wiki and no configuration.

use clap::{Arg, ArgMatches};
use clap_complete::Shell;
use serde_json::json;

use super::Exit;
use super::commands::parser;
use super::output::{Console, Failure};
use crate::error::{Error, ErrorCode};
use crate::ops::OPERATIONS;

/// A command that needs no wiki.
pub(crate) struct MetaCommand {
    pub(crate) name: &'static str,
    pub(crate) parser: fn() -> clap::Command,
    pub(crate) run: fn(&ArgMatches, &Console) -> Result<Exit, Failure>,
}

/// Every command about the program itself.
pub(crate) const COMMANDS: &[MetaCommand] = &[
    MetaCommand {
        name: "schema",
        parser: schema_parser,
        run: schema,
    },
    MetaCommand {
        name: "completions",
        parser: completions_parser,
        run: completions,
    },
    MetaCommand {
        name: "man",
        parser: man_parser,
        run: man,
    },
];

fn schema_parser() -> clap::Command {
    clap::Command::new("schema")
        .about("Print the JSON schema of a report, or list the names")
        .arg(
            Arg::new("name")
                .value_name("NAME")
                .help("The command whose report is described"),
        )
        .arg(
            Arg::new("request")
                .long("request")
                .requires("name")
                .action(clap::ArgAction::SetTrue)
                .help("The schema of its request, as MCP and HTTP take it"),
        )
}

fn schema(matches: &ArgMatches, console: &Console) -> Result<Exit, Failure> {
    let Some(name) = matches.get_one::<String>("name") else {
        let names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
        if console.json {
            console.json(&json!({ "names": names }))?;
        } else {
            console.text(&format!("{}\n", names.join("\n")))?;
        }
        return Ok(Exit::Done);
    };
    let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == name) else {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            format!("no report is called {name:?}"),
        )
        .with_hint("`llmwiki schema` lists the names")
        .into());
    };
    let schema = if matches.get_flag("request") {
        (operation.request_schema)()
    } else {
        (operation.report_schema)()
    };
    if console.json {
        console.json(&schema)?;
    } else {
        let text = serde_json::to_string_pretty(&schema).map_err(std::io::Error::from)?;
        console.text(&format!("{text}\n"))?;
    }
    Ok(Exit::Done)
}

fn completions_parser() -> clap::Command {
    clap::Command::new("completions")
        .about("Print completions for a shell")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(clap::value_parser!(Shell))
                .help("The shell"),
        )
}

fn completions(matches: &ArgMatches, console: &Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    if let Some(&shell) = matches.get_one::<Shell>("shell") {
        clap_complete::generate(shell, &mut parser(), "llmwiki", &mut script);
    }
    document(console, &script)
}

fn man_parser() -> clap::Command {
    clap::Command::new("man")
        .about("Print the man page of the program, or of one command")
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .help("The command"),
        )
}

fn man(matches: &ArgMatches, console: &Console) -> Result<Exit, Failure> {
    let mut whole = parser();
    whole.build();
    let page = match matches.get_one::<String>("command") {
        None => whole,
        Some(name) => {
            let Some(command) = whole.find_subcommand(name).cloned() else {
                return Err(Error::new(
                    ErrorCode::InvalidArgument,
                    format!("there is no command {name:?}"),
                )
                .with_hint("`llmwiki --help` lists the commands")
                .into());
            };
            command.display_name(format!("llmwiki-{name}"))
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    document(console, &text)
}

/// Text as it is, or as the one JSON document.
fn document(console: &Console, text: &[u8]) -> Result<Exit, Failure> {
    if console.json {
        console.json(&json!({ "text": String::from_utf8_lossy(text) }))?;
    } else {
        console.bytes(text)?;
    }
    Ok(Exit::Done)
}
