//! What one call of a tool costs: parsing the line, finding and starting the operation, bounding
//! and printing its report twice. The operation itself is measured alone and taken off. Only reads
//! are measured: writes that wait for one another cost more than one alone, at any door.

use std::time::Duration;

use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::mcp::Server;
use llmwiki::ops::OPERATIONS;
use llmwiki::wiki::Wiki;
use serde_json::{Value, json};

use crate::engines::Result;
use crate::measure::cpu;

const PAGES: usize = 200;

/// Measures and prints.
pub fn run(calls: u64) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("llmwiki-bench-mcp-{}", std::process::id()));
    let measured = measure(&folder, calls);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn measure(folder: &std::path::Path, calls: u64) -> Result<()> {
    let wiki = || Wiki::new(folder, Config::default());
    let ctx = Context::default();
    let source = operate(
        &wiki(),
        &ctx,
        "add-source",
        json!({"name": "n", "content": "evidence"}),
    )?;
    let words = "the pump needs oil every five hundred hours of work ";
    for page in 0..PAGES {
        let arguments = json!({"id": format!("p/{page}"), "title": format!("Page {page}"),
            "summary": "One of many.", "sources": [source["id"]],
            "body": format!("# One\n\n{}\n\n# Two\n\n{words}{page}\n", words.repeat(20))});
        operate(&wiki(), &ctx, "upsert-page", arguments)?;
    }
    println!("CPU of one call, mean of {calls}, wiki of {PAGES} pages:");
    println!(
        "{:22} {:>9} {:>12} {:>9}",
        "tool", "call", "operation", "beyond"
    );
    for (tool, arguments) in [
        ("llmwiki_status", json!({})),
        ("llmwiki_search", json!({"query": "oil hours", "limit": 10})),
        ("llmwiki_list_pages", json!({"limit": 100})),
        ("llmwiki_read_page", json!({"id": "p/1"})),
    ] {
        let operation = OPERATIONS
            .iter()
            .find(|operation| operation.mcp == Some(tool))
            .ok_or_else(|| format!("there is no tool {tool}"))?;
        let alone = wiki();
        (operation.run)(arguments.clone(), &alone, &ctx)?;
        let begun = cpu();
        for _ in 0..calls {
            (operation.run)(arguments.clone(), &alone, &ctx)?;
        }
        let operation_cost = each(cpu() - begun, calls);

        let server = Server::new(wiki(), &ctx);
        let empty = lines(tool, &arguments, 0);
        let all = lines(tool, &arguments, calls);
        let begun = cpu();
        server.clone().replay(empty.as_bytes())?;
        let opening = cpu() - begun;
        let begun = cpu();
        let answers = server.replay(all.as_bytes())?;
        let call_cost = each((cpu() - begun).saturating_sub(opening), calls);
        let answered = answers
            .split(|&byte| byte == b'\n')
            .filter(|it| !it.is_empty());
        if answered.count() as u64 != calls + 1 {
            return Err(format!("not every call of {tool} was answered").into());
        }
        println!(
            "{tool:22} {call_cost:>6.0} us {operation_cost:>9.0} us {:>6.0} us",
            call_cost - operation_cost
        );
    }
    Ok(())
}

fn operate(wiki: &Wiki, ctx: &Context, name: &str, arguments: Value) -> Result<Value> {
    let operation = OPERATIONS
        .iter()
        .find(|operation| operation.name == name)
        .ok_or_else(|| format!("there is no operation {name}"))?;
    Ok((operation.run)(arguments, wiki, ctx)?)
}

/// An opening, and so many calls.
fn lines(tool: &str, arguments: &Value, calls: u64) -> String {
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"}}});
    let calls = (1..=calls).map(|id| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}})
    });
    std::iter::once(opening)
        .chain(calls)
        .map(|message| format!("{message}\n"))
        .collect()
}

/// Microseconds of one.
fn each(all: Duration, count: u64) -> f64 {
    all.as_secs_f64() * 1e6 / count as f64
}
