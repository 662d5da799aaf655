//! `events.jsonl`: what happened to a source after it was first captured. Append-only, one JSON
//! object a line; lines are a set, so two branches that both append merge by union.

use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    /// The same bytes were captured again.
    Captured,
    /// The source was retired.
    Retired,
    /// A newer source takes its place.
    Superseded,
}

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceEvent {
    /// What happened.
    pub event: EventKind,
    /// When, RFC 3339, UTC, milliseconds.
    pub at: String,
    /// Name given at this capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Media type given at this capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Origin given at this capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Id of the source that takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl SourceEvent {
    /// A capture of known bytes under other circumstances.
    pub fn captured(at: String, name: String, media_type: String, origin: Option<String>) -> Self {
        Self {
            event: EventKind::Captured,
            at,
            name: Some(name),
            media_type: Some(media_type),
            origin,
            reason: None,
            actor: None,
            by: None,
        }
    }

    /// The line for `events.jsonl`, without its newline.
    pub fn render(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// Reads `events.jsonl`: the events that could be read, in file order, each once, and the 1-based
/// numbers of lines that could not. A torn last line is one of those.
pub fn parse_events(bytes: &[u8]) -> (Vec<SourceEvent>, Vec<u64>) {
    let mut events = Vec::new();
    let mut bad = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<SourceEvent>(line) {
            Ok(event) if events.contains(&event) => {}
            Ok(event) => events.push(event),
            Err(_) => bad.push(number),
        }
    }
    (events, bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_set_and_a_torn_line_is_named() {
        let event = SourceEvent::captured(
            "2026-02-03T04:05:06.789Z".into(),
            "n".into(),
            "t".into(),
            None,
        );
        let line = event.render();
        let text = format!("{line}\n{line}\n\n{{\"event\":\"capt");
        assert_eq!(parse_events(text.as_bytes()), (vec![event], vec![4]));
    }
}
