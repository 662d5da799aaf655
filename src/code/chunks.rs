//! Cutting a file into chunks that a citation can point at: along its definitions, at most
//! [`MAX_CHUNK_LINES`] lines each, with the comments above a definition in its chunk.

use super::outline::{Outline, Symbol};
use super::text::Lines;

/// Longest chunk in lines.
pub const MAX_CHUNK_LINES: u32 = 60;
/// Neighbours are joined up to this many lines: fewer than a chunk may have, so that what is shown
/// beside a definition is little.
const JOINED_LINES: u32 = 40;
/// How far before the longest possible end a long stretch may be cut at a blank line.
const SLACK_LINES: u32 = 20;

/// Consecutive lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// First line.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// Places in [`Outline::symbols`] of the definitions that begin here.
    pub symbols: Vec<usize>,
    /// Places of the definitions around it, the outermost first, where the chunk is a part of a
    /// longer one.
    pub within: Vec<usize>,
}

/// A definition with those inside it.
struct Span {
    start: u32,
    end: u32,
    symbol: usize,
    inner: Vec<Span>,
}

/// Cuts a file. Chunks come in order and do not overlap; blank lines between them belong to none.
pub fn chunks(lines: &Lines<'_>, outline: &Outline) -> Vec<Chunk> {
    let spans = nest(lines, &outline.symbols);
    let mut pieces = Vec::new();
    cut(
        lines,
        1,
        lines.count(),
        &spans,
        &mut Vec::new(),
        &mut pieces,
    );
    let mut chunks: Vec<Chunk> = Vec::new();
    for piece in pieces {
        match chunks.last_mut() {
            Some(last) if joins(lines, last, &piece) => {
                last.end_line = piece.end_line;
                last.symbols.extend(piece.symbols);
            }
            _ => chunks.push(piece),
        }
    }
    chunks
}

/// Whether a piece goes into the chunk before it. Brackets alone, such as the end of a long
/// definition, are no chunk of their own.
fn joins(lines: &Lines<'_>, last: &Chunk, piece: &Chunk) -> bool {
    let length = piece.end_line - last.start_line;
    let has_words = lines
        .slice(piece.start_line, piece.end_line)
        .contains(char::is_alphanumeric);
    let most = if has_words {
        JOINED_LINES
    } else {
        MAX_CHUNK_LINES
    };
    last.within == piece.within && length < most
}

/// Puts definitions inside each other, each with the comment lines above it.
fn nest(lines: &Lines<'_>, symbols: &[Symbol]) -> Vec<Span> {
    let mut open: Vec<Span> = Vec::new();
    let mut roots: Vec<Span> = Vec::new();
    let close = |open: &mut Vec<Span>, roots: &mut Vec<Span>| {
        if let Some(done) = open.pop() {
            match open.last_mut() {
                Some(around) => around.inner.push(done),
                None => roots.push(done),
            }
        }
    };
    // The last line that belongs to an earlier definition of the same level.
    let mut floor = 0;
    for (symbol, found) in symbols.iter().enumerate() {
        while open.last().is_some_and(|top| top.end < found.start_line) {
            floor = open.last().map_or(floor, |top| top.end);
            close(&mut open, &mut roots);
        }
        if let Some(top) = open.last() {
            // Two on one line, or one that reaches over its neighbour's end: a part of it.
            if found.start_line <= top.start || found.end_line > top.end {
                continue;
            }
            floor = floor.max(symbols[top.symbol].start_line);
        }
        let start = above(lines, found.start_line, floor);
        open.push(Span {
            start,
            end: found.end_line,
            symbol,
            inner: Vec::new(),
        });
    }
    while !open.is_empty() {
        close(&mut open, &mut roots);
    }
    roots
}

/// The first of the comment and attribute lines right above a definition, not going to `floor`.
fn above(lines: &Lines<'_>, line: u32, floor: u32) -> u32 {
    let mut first = line;
    while first > floor + 1 {
        let text = lines.line(first - 1).trim_start();
        let belongs = ["//", "#", "/*", "*", "@", "--", ";;", "\"\"\"", "'''", "%"]
            .iter()
            .any(|mark| text.starts_with(mark));
        if !belongs {
            break;
        }
        first -= 1;
    }
    first
}

fn cut(
    lines: &Lines<'_>,
    start: u32,
    end: u32,
    spans: &[Span],
    within: &mut Vec<usize>,
    pieces: &mut Vec<Chunk>,
) {
    let mut next = start;
    for span in spans {
        let from = span.start.max(next);
        windows(lines, next, from.saturating_sub(1), &[], within, pieces);
        if span.end < from {
            continue;
        }
        if span.end - from < MAX_CHUNK_LINES {
            let mut symbols = Vec::new();
            collect(span, &mut symbols);
            windows(lines, from, span.end, &symbols, within, pieces);
        } else if span.inner.is_empty() {
            let mut parts = Vec::new();
            windows(lines, from, span.end, &[], within, &mut parts);
            for (at, mut part) in parts.into_iter().enumerate() {
                if at == 0 {
                    part.symbols.push(span.symbol);
                } else {
                    part.within.push(span.symbol);
                }
                pieces.push(part);
            }
        } else {
            let first = pieces.len();
            within.push(span.symbol);
            cut(lines, from, span.end, &span.inner, within, pieces);
            within.pop();
            if let Some(head) = pieces.get_mut(first) {
                head.symbols.insert(0, span.symbol);
            }
        }
        next = span.end + 1;
    }
    windows(lines, next, end, &[], within, pieces);
}

fn collect(span: &Span, symbols: &mut Vec<usize>) {
    symbols.push(span.symbol);
    for inner in &span.inner {
        collect(inner, symbols);
    }
}

/// Cuts lines into stretches of at most [`MAX_CHUNK_LINES`], at blank lines where there are some,
/// and leaves out blank lines at both ends.
fn windows(
    lines: &Lines<'_>,
    start: u32,
    end: u32,
    symbols: &[usize],
    within: &[usize],
    pieces: &mut Vec<Chunk>,
) {
    let is_blank = |line: u32| lines.line(line).trim().is_empty();
    let mut first = start;
    let mut symbols = symbols.to_vec();
    loop {
        while first <= end && is_blank(first) {
            first += 1;
        }
        if first > end {
            return;
        }
        let mut last = end;
        if end - first >= MAX_CHUNK_LINES {
            last = first + MAX_CHUNK_LINES - 1;
            let blank = (last - SLACK_LINES..=last)
                .rev()
                .find(|&line| is_blank(line));
            last = blank.unwrap_or(last);
        }
        let next = last + 1;
        while last > first && is_blank(last) {
            last -= 1;
        }
        pieces.push(Chunk {
            start_line: first,
            end_line: last,
            symbols: std::mem::take(&mut symbols),
            within: within.to_vec(),
        });
        first = next;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::code::SymbolKind;

    fn symbol(name: &str, start_line: u32, end_line: u32) -> Symbol {
        Symbol {
            name: name.to_owned(),
            kind: SymbolKind::Function,
            start_line,
            end_line,
        }
    }

    fn cut_text(text: &str, symbols: Vec<Symbol>) -> Vec<(u32, u32, Vec<usize>)> {
        let outline = Outline {
            symbols,
            references: Vec::new(),
        };
        chunks(&Lines::new(text), &outline)
            .into_iter()
            .map(|chunk| (chunk.start_line, chunk.end_line, chunk.symbols))
            .collect()
    }

    #[test]
    fn text_without_definitions_is_cut_at_blank_lines() {
        let text = format!("{}\n{}", "x\n".repeat(50), "y\n".repeat(30));
        assert_eq!(cut_text(&text, vec![]), [(1, 50, vec![]), (52, 81, vec![])]);
        assert!(cut_text("", vec![]).is_empty());
        assert!(cut_text("\n \n", vec![]).is_empty());
    }

    #[test]
    fn comments_above_a_definition_go_with_it() {
        let text = format!(
            "{}// about f\nfn f() {{\n{}}}\n",
            "a\n".repeat(30),
            "b\n".repeat(40)
        );
        assert_eq!(
            cut_text(&text, vec![symbol("f", 32, 73)]),
            [(1, 30, vec![]), (31, 73, vec![0])]
        );
    }

    #[test]
    fn long_definitions_are_split_at_the_inner_ones() {
        let text = format!("{}}}\n", "x\n".repeat(99));
        let cut = cut_text(
            &text,
            vec![symbol("A", 1, 100), symbol("f", 5, 50), symbol("g", 51, 99)],
        );
        assert_eq!(cut, [(1, 4, vec![0]), (5, 50, vec![1]), (51, 100, vec![2])]);
    }

    proptest! {
        #[test]
        fn every_line_with_text_is_in_exactly_one_chunk(
            text in "([ a-z#/]{0,6}\n){0,200}",
            spans in proptest::collection::vec((1u32..200, 0u32..120), 0..12),
        ) {
            let lines = Lines::new(&text);
            let mut symbols: Vec<Symbol> = spans
                .into_iter()
                .filter(|(start, _)| *start <= lines.count())
                .map(|(start, length)| symbol("s", start, (start + length).min(lines.count())))
                .collect();
            symbols.sort_by(|a, b| (a.start_line, b.end_line).cmp(&(b.start_line, a.end_line)));
            let outline = Outline { symbols, references: Vec::new() };
            let cut = chunks(&lines, &outline);
            let mut last = 0;
            let mut covered = vec![false; lines.count() as usize + 1];
            for chunk in &cut {
                prop_assert!(chunk.start_line > last && chunk.end_line >= chunk.start_line);
                prop_assert!(chunk.end_line - chunk.start_line < MAX_CHUNK_LINES);
                last = chunk.end_line;
                for line in chunk.start_line..=chunk.end_line {
                    covered[line as usize] = true;
                }
            }
            for line in 1..=lines.count() {
                prop_assert!(covered[line as usize] || lines.line(line).trim().is_empty(), "line {line}");
            }
        }
    }
}
