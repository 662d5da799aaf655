//! Configuration snippets of agent hosts.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// A host that can load the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Its name, as a person types it.
    pub name: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// Where the snippet belongs.
    pub file: &'static str,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// JSON below this key; with a type where the host wants one.
    Json {
        key: &'static str,
        typed: bool,
    },
    Toml,
}

/// Every host, by name.
pub const HOSTS: &[Host] = &[
    Host {
        name: "claude",
        title: "Claude Code and Claude Desktop",
        file: ".mcp.json in the project, or claude_desktop_config.json",
        form: Form::Json {
            key: "mcpServers",
            typed: false,
        },
    },
    Host {
        name: "codex",
        title: "Codex",
        file: "~/.codex/config.toml",
        form: Form::Toml,
    },
    Host {
        name: "cursor",
        title: "Cursor",
        file: ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
        form: Form::Json {
            key: "mcpServers",
            typed: false,
        },
    },
    Host {
        name: "vscode",
        title: "VS Code",
        file: ".vscode/mcp.json in the project",
        form: Form::Json {
            key: "servers",
            typed: true,
        },
    },
    Host {
        name: "gemini",
        title: "Gemini CLI",
        file: ".gemini/settings.json in the project, or ~/.gemini/settings.json",
        form: Form::Json {
            key: "mcpServers",
            typed: false,
        },
    },
    Host {
        name: "zed",
        title: "Zed",
        file: "settings.json of Zed",
        form: Form::Json {
            key: "context_servers",
            typed: false,
        },
    },
];

/// How a host starts the server.
#[derive(Debug, Clone)]
pub struct Snippet<'a> {
    /// The program.
    pub command: &'a str,
    /// The wiki, where it is not looked for from the working directory.
    pub root: Option<&'a str>,
}

impl Host {
    /// The host of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name == name)
    }

    /// The text to put into the file of the host.
    pub fn render(&self, snippet: &Snippet<'_>) -> String {
        let mut arguments: Vec<&str> = Vec::new();
        if let Some(root) = snippet.root {
            arguments.extend(["--root", root]);
        }
        arguments.push("mcp");
        match self.form {
            Form::Json { key, typed } => {
                let mut server = json!({"command": snippet.command, "args": arguments});
                if typed {
                    server["type"] = Value::from("stdio");
                }
                let whole = json!({ key: { "llmwiki": server } });
                format!("{whole:#}\n")
            }
            Form::Toml => {
                let mut text = String::from("[mcp_servers.llmwiki]\n");
                let list = toml::Value::from(arguments);
                let command = toml::Value::from(snippet.command);
                let _ = writeln!(text, "command = {command}\nargs = {list}");
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_snippet_is_sound_in_its_language_and_names_command_and_root() {
        let snippet = Snippet {
            command: "/opt/a \"b\"/llmwiki",
            root: Some("/home/you/notes \\ more"),
        };
        for host in HOSTS {
            let text = host.render(&snippet);
            let server = match host.form {
                Form::Json { key, .. } => {
                    let value: Value = serde_json::from_str(&text).unwrap();
                    value[key]["llmwiki"].clone()
                }
                Form::Toml => {
                    let value: toml::Table = toml::from_str(&text).unwrap();
                    serde_json::to_value(&value["mcp_servers"]["llmwiki"]).unwrap()
                }
            };
            assert_eq!(server["command"], snippet.command, "{}", host.name);
            let arguments = json!(["--root", "/home/you/notes \\ more", "mcp"]);
            assert_eq!(server["args"], arguments, "{}", host.name);
            assert_eq!(Host::named(host.name), Some(host));
        }
    }
}
