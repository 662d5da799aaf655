//! Tools, folded from the operations that name one.

use rmcp::model::{Tool, ToolAnnotations};

use super::{schema, words};
use crate::ops::{Effect, OperationEntry};

/// The tools of these operations, in their order, which is the same for every client.
pub(super) fn listed(operations: &[OperationEntry]) -> Vec<Tool> {
    operations
        .iter()
        .filter_map(|operation| Some(tool(operation.mcp?, operation)))
        .collect()
}

fn tool(name: &'static str, operation: &OperationEntry) -> Tool {
    let request = (operation.request_schema)();
    let description = request
        .get("description")
        .and_then(|text| text.as_str())
        .map(words::for_agents)
        .unwrap_or_default();
    let title = title(name);
    let writes = operation.effect == Effect::Writes;
    // All four are said: left out, they mean the worst.
    let annotations = ToolAnnotations::with_title(title.clone())
        .read_only(!writes)
        .destructive(writes && operation.destructive)
        // The same call again finds its work done.
        .idempotent(true)
        .open_world(operation.reaches_out);
    Tool::new(name, description, schema::of_arguments(&request))
        .with_title(title)
        .with_raw_output_schema(schema::of_answer(&(operation.report_schema)()).into())
        .with_annotations(annotations)
}

/// `llmwiki_read_page` for people: `Read page`.
fn title(name: &str) -> String {
    let words = name.split_once('_').map_or(name, |(_, rest)| rest);
    let mut words = words.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

/// Finds a tool. Names with a dot are understood as those with an underscore, which are the ones
/// that are listed: several hosts drop a whole server for one dot.
pub(super) fn find(
    operations: &'static [OperationEntry],
    name: &str,
) -> Option<&'static OperationEntry> {
    let name = match name {
        "knowledge.ask_projects" => "knowledge_ask_projects",
        "knowledge.get_from" => "knowledge_get_from",
        name => name,
    };
    operations
        .iter()
        .find(|operation| operation.mcp == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::OPERATIONS;

    #[test]
    fn every_tool_says_all_four_hints_and_answers_an_object() {
        let tools = listed(OPERATIONS);
        assert!(tools.len() >= 8);
        for tool in &tools {
            let hints = tool.annotations.as_ref().unwrap();
            let said = [
                hints.read_only_hint,
                hints.destructive_hint,
                hints.idempotent_hint,
                hints.open_world_hint,
            ];
            assert!(said.iter().all(Option::is_some), "{}", tool.name);
            assert_eq!(tool.output_schema.as_ref().unwrap()["type"], "object");
            assert_eq!(tool.input_schema["type"], "object");
            assert_eq!(tool.input_schema["additionalProperties"], false);
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(tool.name.len() <= 40 && tool.name.chars().all(good));
            assert!(!tool.description.as_ref().unwrap().is_empty());
        }
        let hints = |name: &str| {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let hints = tool.annotations.as_ref().unwrap();
            (hints.read_only_hint, hints.destructive_hint)
        };
        assert_eq!(hints("llmwiki_search"), (Some(true), Some(false)));
        assert_eq!(hints("llmwiki_add_source"), (Some(false), Some(false)));
        assert_eq!(hints("llmwiki_upsert_page"), (Some(false), Some(true)));
    }

    #[test]
    fn a_tool_is_found_by_its_name_and_by_the_dotted_one() {
        assert!(find(OPERATIONS, "llmwiki_search").is_some());
        assert!(find(OPERATIONS, "search").is_none());
        assert!(find(OPERATIONS, "knowledge.ask_projects").is_some());
        assert!(find(OPERATIONS, "knowledge_get_from").is_some());
        assert!(find(OPERATIONS, "llmwiki.search").is_none());
    }

    #[test]
    fn a_title_is_for_people() {
        assert_eq!(title("llmwiki_read_page"), "Read page");
        assert_eq!(title("knowledge_get_from"), "Get from");
    }
}
