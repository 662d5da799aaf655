//! Which parts of a Markdown text are code: fenced blocks, also unclosed ones, and inline spans.
//! Indented blocks are prose here: models indent lists, and what is indented may cite.

/// A stretch of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region<'t> {
    /// Anything that is not code.
    Prose(&'t str),
    /// A fenced block with its fences.
    Code(&'t str),
    /// Inline code with its backticks.
    Span(&'t str),
}

/// Cuts a text; the regions put together are the text.
pub(super) fn regions(text: &str) -> Vec<Region<'_>> {
    let mut found = Vec::new();
    let mut prose = 0;
    let mut at = 0;
    while at < text.len() {
        let end = line_end(text, at);
        let Some((mark, length)) = fence(&text[at..end]) else {
            at = end;
            continue;
        };
        spans(&text[prose..at], &mut found);
        let start = at;
        at = end;
        while at < text.len() {
            let line = at;
            at = line_end(text, line);
            if closes(&text[line..at], mark, length) {
                break;
            }
        }
        found.push(Region::Code(&text[start..at]));
        prose = at;
    }
    spans(&text[prose..], &mut found);
    found
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find('\n')
        .map_or(text.len(), |length| at + length + 1)
}

/// The character and length of the fence that a line opens.
pub(super) fn fence(line: &str) -> Option<(char, usize)> {
    let mut line = line.trim_start_matches([' ', '\t', '>']);
    // A block may begin in a list item.
    let item = line.trim_start_matches(|c: char| c.is_ascii_digit());
    for mark in ["- ", "* ", "+ "] {
        line = line.strip_prefix(mark).unwrap_or(line);
    }
    if item.len() < line.len() {
        line = item
            .strip_prefix(". ")
            .or(item.strip_prefix(") "))
            .unwrap_or(line);
    }
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    let is_fence = length >= 3 && !(mark == '`' && line[length..].contains('`'));
    is_fence.then_some((mark, length))
}

pub(super) fn closes(line: &str, mark: char, length: usize) -> bool {
    let line = line.trim_start_matches([' ', '\t', '>']).trim_end();
    line.chars().all(|c| c == mark) && line.chars().count() >= length
}

/// Cuts prose at inline code: a run of backticks up to the next run of the same length, in one
/// paragraph.
fn spans<'t>(text: &'t str, found: &mut Vec<Region<'t>>) {
    let bytes = text.as_bytes();
    let run = |at: usize| bytes[at..].iter().take_while(|&&byte| byte == b'`').count();
    let (mut prose, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
            continue;
        }
        if bytes[at] != b'`' {
            at += 1;
            continue;
        }
        let length = run(at);
        let mut close = at + length;
        let mut end = None;
        while close < bytes.len() {
            if bytes[close] == b'`' {
                let other = run(close);
                if other == length {
                    end = Some(close + length);
                    break;
                }
                close += other;
            } else if bytes[close..].starts_with(b"\n\n") {
                break;
            } else {
                close += 1;
            }
        }
        match end {
            Some(end) => {
                if prose < at {
                    found.push(Region::Prose(&text[prose..at]));
                }
                found.push(Region::Span(&text[at..end]));
                prose = end;
                at = end;
            }
            None => at += length,
        }
    }
    if prose < text.len() {
        found.push(Region::Prose(&text[prose..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_and_spans_are_code() {
        assert_eq!(
            regions("a `b` c\n```rs\nx\n```\nd"),
            [
                Region::Prose("a "),
                Region::Span("`b`"),
                Region::Prose(" c\n"),
                Region::Code("```rs\nx\n```\n"),
                Region::Prose("d"),
            ]
        );
        assert_eq!(regions("~~~\nx[1]\n"), [Region::Code("~~~\nx[1]\n")]);
        assert_eq!(
            regions("1. a\n\n   ```sh\n   x\n   ```\n2. b"),
            [
                Region::Prose("1. a\n\n"),
                Region::Code("   ```sh\n   x\n   ```\n"),
                Region::Prose("2. b"),
            ]
        );
        assert_eq!(regions("a ` b"), [Region::Prose("a ` b")]);
        assert_eq!(regions("``a`b``"), [Region::Span("``a`b``")]);
    }
}
