//! The MCP server as a hostile client meets it: any bytes as the lines of a connection.

use std::sync::Arc;

use llmwiki::config::Config;
use llmwiki::context::{Context, FixedClock};
use llmwiki::limits::Limits;
use llmwiki::mcp::Server;
use llmwiki::wiki::Wiki;
use serde_json::Value;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":"opening","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#;
const LAST: &str = r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#;

/// The first bit of the input says whether the client opens the connection as it should; the rest
/// is what it sends.
pub fn frame(data: &[u8]) {
    let (opens, lines) = match data.split_first() {
        Some((first, rest)) => (first & 1 == 0, rest),
        None => (true, data),
    };
    let folder = tempfile::tempdir().unwrap();
    let clock = FixedClock("2026-02-03T04:05:06.789Z".parse().unwrap());
    let ctx = Context::new(Arc::new(clock), Limits::default());
    let wiki = Wiki::new(folder.path().join("wiki"), Config::default());
    let mut input = Vec::new();
    if opens {
        input.extend_from_slice(OPENING.as_bytes());
        input.push(b'\n');
    }
    input.extend_from_slice(lines);
    input.push(b'\n');
    if !opens {
        input.extend_from_slice(OPENING.as_bytes());
        input.push(b'\n');
    }
    input.extend_from_slice(LAST.as_bytes());

    let output = Server::new(wiki, &ctx).replay(&input).unwrap();
    let output = String::from_utf8(output).unwrap();
    let mut last = false;
    for line in output.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        let result = &message["result"];
        if let Some(text) = result["content"][0]["text"].as_str() {
            assert!(!text.starts_with("INTERNAL"), "{text}");
            assert!(
                text.len() <= llmwiki::mcp::MAX_ANSWER_BYTES,
                "{}",
                text.len()
            );
            assert_eq!(
                result["isError"] == true,
                result.get("structuredContent").is_none(),
                "{line}"
            );
        }
        last |= message["id"] == "last";
    }
    assert!(last, "the last request was not answered: {output}");
    assert!(output.is_empty() || output.ends_with('\n'));
}
