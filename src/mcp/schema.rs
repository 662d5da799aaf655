//! JSON schemas as agent hosts take them: nothing that only documents Rust, and no types that
//! some hosts refuse.

use serde_json::{Map, Value, json};

/// The schema of arguments. What may be left out need not be nullable, which several hosts
/// cannot express.
pub(super) fn of_arguments(schema: &schemars::Schema) -> Map<String, Value> {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    clean(&mut schema, true);
    // The tool carries it.
    schema.remove("description");
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// The schema of an answer.
pub(super) fn of_answer(schema: &schemars::Schema) -> Map<String, Value> {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    clean(&mut schema, false);
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.insert(
            "truncated".to_owned(),
            json!({"type": "boolean", "description": "Whether this is only a part of the answer."}),
        );
        properties.insert(
            "more".to_owned(),
            json!({"type": "string", "description": "What is missing, and how to go on."}),
        );
    }
    schema
}

fn clean(schema: &mut Map<String, Value>, arguments: bool) {
    schema.remove("$schema");
    schema.remove("title");
    // `uint64` and the like are names of Rust's types.
    schema.remove("format");
    if arguments {
        if schema.get("default") == Some(&Value::Null) {
            schema.remove("default");
        }
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                schema.insert("type".to_owned(), only);
            }
        }
    }
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "patternProperties", Value::Object(members)) => {
                for member in members.values_mut() {
                    if let Value::Object(member) = member {
                        clean(member, arguments);
                    }
                }
            }
            ("items" | "additionalProperties" | "not", Value::Object(inner)) => {
                clean(inner, arguments);
            }
            ("prefixItems" | "anyOf" | "oneOf" | "allOf" | "items", Value::Array(list)) => {
                for inner in list {
                    if let Value::Object(inner) = inner {
                        clean(inner, arguments);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::OPERATIONS;

    #[test]
    fn arguments_keep_a_property_called_title_and_lose_null_and_formats() {
        let upsert = OPERATIONS
            .iter()
            .find(|it| it.name == "upsert-page")
            .unwrap();
        let schema = of_arguments(&(upsert.request_schema)());
        assert_eq!(schema["properties"]["title"]["type"], "string");
        assert_eq!(schema["properties"]["expectedSha256"]["type"], "string");
        let search = OPERATIONS.iter().find(|it| it.name == "search").unwrap();
        let text = Value::Object(of_arguments(&(search.request_schema)())).to_string();
        assert!(!text.contains("format") && !text.contains("null"), "{text}");
    }

    #[test]
    fn no_schema_of_a_tool_refers_to_another_place() {
        for operation in OPERATIONS.iter().filter(|it| it.mcp.is_some()) {
            for schema in [
                of_arguments(&(operation.request_schema)()),
                of_answer(&(operation.report_schema)()),
            ] {
                let text = Value::Object(schema).to_string();
                assert!(!text.contains("$ref"), "{}: {text}", operation.name);
            }
        }
    }
}
