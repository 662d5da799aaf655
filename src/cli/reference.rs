//! docs/commands.md and docs/errors.md, written from the tables that the program runs on. A test
//! compares the files with these texts.

use std::fmt::Write as _;

use super::commands::parser;
use crate::config::KEYS;
use crate::error::ErrorCode;

/// The text of docs/commands.md.
pub fn commands() -> String {
    let mut whole = parser().term_width(96);
    whole.build();
    let mut out = String::from(
        "# Commands\n\nGenerated from the program's own help; a test fails when this file is \
         stale.\n",
    );
    let mut section = |title: &str, command: &mut clap::Command| {
        let help = command.render_long_help().to_string();
        let help = help
            .lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n");
        let _ = write!(out, "\n## {title}\n\n```text\n{}\n```\n", help.trim_end());
    };
    section("llmwiki", &mut whole.clone());
    for command in whole
        .get_subcommands_mut()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        let title = format!("llmwiki {}", command.get_name());
        // The options that every command takes are shown once, above.
        let mut own = command.clone().mut_args(|argument| {
            let global = argument.is_global_set();
            argument.hide(global)
        });
        section(&title, &mut own);
        for inner in own
            .get_subcommands()
            .filter(|inner| inner.get_name() != "help")
        {
            let mut inner = inner.clone().mut_args(|argument| {
                let global = argument.is_global_set();
                argument.hide(global)
            });
            section(&format!("{title} {}", inner.get_name()), &mut inner);
        }
    }
    out.push_str(
        "\n## Configuration\n\n\
         `config.toml` in the wiki, then `llmwiki/config.toml` in the user's configuration \
         directory, then variables, then `--set`: the later wins. Keys may be written in camelCase \
         too. An unknown key or a value out of its range is refused.\n\n\
         | key | variable | meaning (default) |\n| --- | --- | --- |\n",
    );
    for key in KEYS {
        let _ = writeln!(
            out,
            "| `{}` | `{}` | {} |",
            key.name,
            key.variable(),
            key.meaning
        );
    }
    out
}

/// The text of docs/errors.md.
pub fn errors() -> String {
    let mut out = String::from(
        "# Errors\n\nGenerated from the one table of codes; a test fails when this file is \
         stale.\n\nAn error means that nothing was written, but for one: an output that cannot be \
         written comes after the deed, and says so. On the command line an error is \
         `error: ..` and `hint: ..` on standard error, with `--json` the document \
         `{\"error\":{\"code\",\"message\",\"hint\"}}` on standard output, where `hint` may be \
         null. Codes are stable; messages are for people. A defect of llmwiki itself ends \
         with exit status 3 and the code `INTERNAL`.\n\n\
         | code | meaning | exit | HTTP | JSON-RPC |\n| --- | --- | ---: | ---: | ---: |\n",
    );
    for row in ErrorCode::ALL.iter().map(|code| code.row()) {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} |",
            row.name, row.meaning, row.exit_status, row.http_status, row.json_rpc
        );
    }
    out
}
