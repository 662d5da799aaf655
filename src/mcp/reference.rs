//! docs/tools.md, written from the lists that the server answers with. A test compares the file
//! with this text.

use std::fmt::Write as _;

use rmcp::model::Tool;
use serde_json::{Map, Value};

use super::{MAX_ANSWER_BYTES, prompts, resources, tools, words};
use crate::ops::OPERATIONS;

/// The text of docs/tools.md.
pub fn tools() -> String {
    let mut out = format!(
        "# Tools\n\nGenerated from what the MCP server says of itself; a test fails when this file \
         is stale. [agents.md](agents.md) shows how a host loads it.\n\n\
         An answer is at most {MAX_ANSWER_BYTES} bytes of JSON, about 20 000 tokens. What is larger \
         is cut, with `truncated: true` and a sentence in `more` on how to go on. An error is \
         text that begins with its code ([errors.md](errors.md)); an argument that a tool does not \
         know is refused by name. No tool reads a path of the machine.\n\n\
         ## Instructions\n\n```text\n{}\n```\n",
        words::INSTRUCTIONS
    );
    for tool in tools::listed(OPERATIONS) {
        describe(&mut out, &tool);
    }
    let _ = write!(
        out,
        "\n## Other names\n\n`knowledge.ask_projects` and `knowledge.get_from` are understood in \
         calls, and not listed: several hosts drop a whole server for one dot.\n\n\
         ## Resources\n\n| URI | |\n| --- | --- |\n\
         | `llmwiki://schema` | the schema.md of the wiki |\n\
         | `llmwiki://pages` | id and title of each page, one a line |\n",
    );
    for template in resources::templates(OPERATIONS).resource_templates {
        let about = template.description.unwrap_or_default();
        let _ = writeln!(out, "| `{}` | {about} |", template.uri_template);
    }
    out.push_str("\n## Prompts\n\n| prompt | arguments | |\n| --- | --- | --- |\n");
    for prompt in prompts::listed() {
        let arguments: Vec<String> = prompt
            .arguments
            .iter()
            .flatten()
            .map(|argument| match argument.required {
                Some(true) => format!("`{}`", argument.name),
                _ => format!("`{}`?", argument.name),
            })
            .collect();
        let about = prompt.description.unwrap_or_default();
        let _ = writeln!(
            out,
            "| `{}` | {} | {about} |",
            prompt.name,
            arguments.join(", ")
        );
    }
    out
}

fn describe(out: &mut String, tool: &Tool) {
    let description = tool.description.as_deref().unwrap_or_default();
    let hints = tool.annotations.as_ref();
    let is = |hint: fn(&rmcp::model::ToolAnnotations) -> Option<bool>| {
        hints.and_then(hint).unwrap_or_default()
    };
    let mut effects = Vec::new();
    effects.push(if is(|it| it.read_only_hint) {
        "reads only"
    } else if is(|it| it.destructive_hint) {
        "writes, and may replace what was there"
    } else {
        "writes, and replaces nothing"
    });
    if is(|it| it.open_world_hint) {
        effects.push("reaches beyond the wiki");
    }
    let _ = write!(
        out,
        "\n## {}\n\n{description}\n\n*{}*\n",
        tool.name,
        effects.join("; ")
    );
    members(out, "argument", &tool.input_schema);
    if let Some(schema) = &tool.output_schema {
        members(out, "answer", schema);
    }
}

fn members(out: &mut String, what: &str, schema: &Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    if properties.is_empty() {
        return;
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let _ = write!(out, "\n| {what} | type | |\n| --- | --- | --- |\n");
    for (name, property) in properties {
        let mark = if required.contains(&name.as_str()) {
            ""
        } else {
            "?"
        };
        let about = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .replace('\n', " ")
            .replace('|', "\\|");
        let _ = writeln!(out, "| `{name}`{mark} | {} | {about} |", type_of(property));
    }
}

fn type_of(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => {
            format!(
                "{} list",
                schema.get("items").map(type_of).unwrap_or_default()
            )
        }
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        _ => "object".to_owned(),
    }
}
