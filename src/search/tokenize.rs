//! Text to tokens. [`classic`] is the rule of the peer: NFKC, lower case, maximal runs of letters
//! and digits, grams of two for runs that are CJK throughout. `standard_units` is ours: full
//! folding, marks kept in words, scripts without spaces cut into single characters that callers
//! join to grams. Both run in linear time, whatever the text holds.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::chars;

/// Longest word that `standard` keeps, in bytes of folded text; the rest of it is dropped, in
/// pages and queries alike.
const MAX_WORD_BYTES: usize = 96;

/// Tokens of the `classic` analysis, in order, with repeats.
///
/// ```
/// assert_eq!(llmwiki::search::tokenize::classic("The pier, 2nd"), ["the", "pier", "2nd"]);
/// ```
pub fn classic(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    classic_each(&normalized(text), &mut |token| {
        tokens.push(token.to_owned());
    });
    tokens
}

/// NFKC, then lower case, as the `classic` analysis stores and reads text.
pub(crate) fn normalized(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(text.to_ascii_lowercase());
        }
        return Cow::Borrowed(text);
    }
    Cow::Owned(nfkc(text).to_lowercase())
}

/// NFKC, segment by segment: an ASCII character never composes with what stands before it, so
/// text may be cut there, and only the other stretches need the tables.
fn nfkc(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let foreign = bytes[at..].iter().position(|byte| !byte.is_ascii());
        let Some(foreign) = foreign.map(|offset| at + offset) else {
            out.push_str(&text[at..]);
            break;
        };
        // Marks may follow the last ASCII character, so it belongs to the segment.
        let start = if foreign > at { foreign - 1 } else { foreign };
        out.push_str(&text[at..start]);
        let end = bytes[foreign..].iter().position(u8::is_ascii);
        let end = end.map_or(bytes.len(), |offset| foreign + offset);
        let segment = &text[start..end];
        if is_nfkc_quick(segment.chars()) == IsNormalized::Yes {
            out.push_str(segment);
        } else {
            out.extend(segment.nfkc());
        }
        at = end;
    }
    out
}

/// Tokens of text that is already [`normalized`].
pub(crate) fn classic_each(normalized: &str, emit: &mut impl FnMut(&str)) {
    let bytes = normalized.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii() && !bytes[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let start = at;
        let mut characters = 0;
        let mut cjk = true;
        loop {
            let from = at;
            while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
                at += 1;
            }
            characters += at - from;
            cjk &= at == from;
            if at == bytes.len() || bytes[at].is_ascii() {
                break;
            }
            let Some(c) = normalized[at..].chars().next() else {
                break;
            };
            let flags = chars::flags(c);
            if flags & chars::WORD == 0 {
                break;
            }
            cjk &= flags & chars::CJK != 0;
            characters += 1;
            at += c.len_utf8();
        }
        if at == start {
            at += normalized[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let run = &normalized[start..at];
        emit(run);
        if cjk && characters > 1 {
            let mut previous = 0;
            for (offset, c) in run.char_indices() {
                if offset > 0 {
                    emit(&run[previous..offset + c.len_utf8()]);
                    previous = offset;
                }
            }
        }
    }
}

/// One token and where it stands in the original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The token.
    pub text: String,
    /// Byte where it starts.
    pub start: usize,
    /// Byte after its end.
    pub end: usize,
}

/// The tokens of [`classic`] with their places in `text`. Final sigmas are not told apart from
/// others here, since their form depends on what follows; see [`same_sigma`].
pub(crate) fn classic_spans(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut run: Vec<(char, usize, usize)> = Vec::new();
    for_each_cluster(text, &mut |cluster, start| {
        let end = start + cluster.len();
        let mut take = |c: char| {
            if chars::flags(c) & chars::WORD != 0 {
                run.push((c, start, end));
            } else {
                flush_run(&mut run, &mut tokens);
            }
        };
        if cluster.is_ascii() {
            cluster.chars().for_each(|c| take(c.to_ascii_lowercase()));
        } else {
            let lowered = cluster.nfkc().flat_map(char::to_lowercase);
            lowered
                .map(|c| if c == '\u{3C2}' { '\u{3C3}' } else { c })
                .for_each(take);
        }
    });
    flush_run(&mut run, &mut tokens);
    tokens
}

/// Text with every final sigma replaced by the other one.
pub(crate) fn same_sigma(text: &str) -> Cow<'_, str> {
    if text.contains('\u{3C2}') {
        Cow::Owned(text.replace('\u{3C2}', "\u{3C3}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn flush_run(run: &mut Vec<(char, usize, usize)>, tokens: &mut Vec<Token>) {
    if let (Some(first), Some(last)) = (run.first(), run.last()) {
        let text = run.iter().map(|&(c, ..)| c).collect();
        tokens.push(Token {
            text,
            start: first.1,
            end: last.2,
        });
        if run.len() > 1 && run.iter().all(|&(c, ..)| chars::flags(c) & chars::CJK != 0) {
            for pair in run.windows(2) {
                let text = pair.iter().map(|&(c, ..)| c).collect();
                tokens.push(Token {
                    text,
                    start: pair[0].1,
                    end: pair[1].2,
                });
            }
        }
    }
    run.clear();
}

/// Whether a character may compose with what stands before it, or be moved by normalisation.
fn continues(c: char) -> bool {
    c > '\u{2FF}' && chars::flags(c) & chars::CONTINUES != 0
}

/// Calls `take` with each character and the marks that follow it, and where that starts.
/// NFKC of the whole is NFKC of these pieces one after the other.
fn for_each_cluster(text: &str, take: &mut impl FnMut(&str, usize)) {
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if at > start && !continues(c) {
            take(&text[start..at], start);
            start = at;
        }
    }
    if start < text.len() {
        take(&text[start..], start);
    }
}

/// What kind of token a [`Unit`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// A word between separators.
    Word,
    /// One character of a script that is written without spaces.
    Gram,
}

/// One folded piece of text under the `standard` analysis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'a> {
    /// Folded text.
    pub(crate) text: &'a str,
    /// Byte of the original text where it starts.
    pub(crate) start: usize,
    /// Byte after its end.
    pub(crate) end: usize,
    /// Word or gram.
    pub(crate) kind: UnitKind,
    /// A gram that follows another gram with nothing between them.
    pub(crate) joined: bool,
}

/// Units of the `standard` analysis, in order.
pub(crate) fn standard_units(text: &str, emit: &mut impl FnMut(Unit<'_>)) {
    let bytes = text.as_bytes();
    let mut walker = Walker::default();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii() {
            if !bytes[at].is_ascii_alphanumeric() {
                walker.finish(emit);
                walker.gap();
                at += 1;
                continue;
            }
            let from = at;
            while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
                at += 1;
            }
            let alone = at == bytes.len() || bytes[at].is_ascii();
            if alone && walker.open == Open::Nothing {
                if let Some(past) = citation_end(text, from, at) {
                    at = past;
                } else {
                    walker.ascii_word(text, from, at, emit);
                }
                walker.gap();
                continue;
            }
            walker.ascii_part(&text[from..at], from, at, emit);
            continue;
        }
        let Some(c) = text[at..].chars().next() else {
            break;
        };
        let end = at + c.len_utf8();
        let next = text[end..].chars().next();
        if continues(c) || !next.is_some_and(continues) {
            walker.character(c, at, end, emit);
            at = end;
            continue;
        }
        // A base with marks: normalise them together.
        let rest = &text[end..];
        let cluster_end = rest
            .char_indices()
            .find(|&(_, c)| !continues(c))
            .map_or(text.len(), |(o, _)| end + o);
        for c in text[at..cluster_end].nfkc() {
            walker.character(c, at, cluster_end, emit);
        }
        at = cluster_end;
    }
    walker.finish(emit);
}

/// End of a `llmwiki://source/...` target whose scheme stands at `from..to`: an address, not
/// words, and its 64 digits are no use to anybody's search.
fn citation_end(text: &str, from: usize, to: usize) -> Option<usize> {
    if to - from != 7 || &text[from..to] != "llmwiki" || !text[to..].starts_with("://source/") {
        return None;
    }
    let rest = &text.as_bytes()[to..];
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b')' | b'>' | b']' | b'"');
    Some(
        rest.iter()
            .position(ends)
            .map_or(text.len(), |offset| to + offset),
    )
}

/// What a word of a text is looked for by besides itself: [`wholes`], [`pieces`], and the spelling
/// with its accents, which brings exact forms before others and is what stemmers were made for.
pub(crate) fn extras(text: &str, unit: &Unit<'_>, emit: &mut impl FnMut(&str)) {
    let (start, end) = (unit.start, unit.end);
    wholes(text, start, end, emit);
    let word = &text[start..end];
    if word.is_ascii() {
        pieces(word, emit);
    } else if word.len() <= MAX_WORD_BYTES {
        let spelled: String = word.nfkc().flat_map(char::to_lowercase).collect();
        if spelled != unit.text {
            emit(&spelled);
        }
    }
}

/// As a whole, what [`standard_units`] cuts: `C++`, `F#`, `v1.2.3` (also without its `v`), and
/// `life-jacket` as one word.
pub(crate) fn wholes(text: &str, start: usize, end: usize, emit: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let word = &bytes[start..end];
    let next = |at: usize| bytes.get(end + at).copied().unwrap_or(b' ');
    let follows = |mark: u8| {
        start > 1 && bytes[start - 1] == mark && bytes[start - 2].is_ascii_alphanumeric()
    };
    let run = |from: usize, fits: fn(&u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default().iter();
        rest.take(MAX_WORD_BYTES)
            .take_while(|byte| fits(byte))
            .count()
    };
    match next(0) {
        b'+' if next(1) == b'+' && !next(2).is_ascii_alphanumeric() => {
            emit(&text[start..end + 2].to_ascii_lowercase());
        }
        b'#' if word.len() < 3 && !next(1).is_ascii_alphanumeric() => {
            emit(&text[start..=end].to_ascii_lowercase());
        }
        b'.' if next(1).is_ascii_digit()
            && word.is_ascii()
            && word.last().is_some_and(u8::is_ascii_digit)
            && !follows(b'.') =>
        {
            let length = run(end, |byte| byte.is_ascii_alphanumeric() || *byte == b'.');
            let whole = text[start..end + length].to_ascii_lowercase();
            let whole = whole.trim_end_matches('.');
            emit(whole);
            if let Some(number) = whole.strip_prefix('v') {
                emit(number);
            }
            measure(whole, emit);
        }
        b'-' if !follows(b'-') && word.iter().all(u8::is_ascii_alphabetic) => {
            let length = run(end + 1, u8::is_ascii_alphabetic);
            let after = bytes.get(end + 1 + length).copied().unwrap_or(b' ');
            if length > 0 && !after.is_ascii_alphanumeric() && after != b'-' && after < 0x80 {
                let second = &text[end + 1..end + 1 + length];
                emit(&[&text[start..end], second].concat().to_ascii_lowercase());
            }
        }
        _ => {}
    }
}

/// The parts of `HttpClient` and of `500GB`, and `TEU` of `TEUs`.
fn pieces(word: &str, emit: &mut impl FnMut(&str)) {
    let bytes = word.as_bytes();
    if bytes.len() < 3 {
        return;
    }
    let (shown, last) = bytes.split_at(bytes.len() - 1);
    if last == b"s" && shown.iter().all(u8::is_ascii_uppercase) {
        emit(&word[..shown.len()].to_ascii_lowercase());
    } else if bytes[0].is_ascii_digit() {
        measure(&word.to_ascii_lowercase(), emit);
    } else if bytes[1..].iter().any(u8::is_ascii_uppercase) {
        humps(word, emit);
    }
}

/// A number and its unit: `500gb`, `2.5mw`.
fn measure(text: &str, emit: &mut impl FnMut(&str)) {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    if !number.is_empty() && !unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
    {
        emit(number);
        emit(unit);
    }
}

/// The parts of a word of ASCII in mixed case, where there are several: `HTTPServer` is `http` and
/// `server`, `PDFs` is one.
fn humps(word: &str, emit: &mut impl FnMut(&str)) {
    let bytes = word.as_bytes();
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let mut start = 0;
    for at in 1..bytes.len() {
        let begins = bytes[at].is_ascii_uppercase()
            && (is_lower(at - 1) || (is_lower(at + 1) && is_lower(at + 2)));
        if begins {
            hump(&word[start..at], emit);
            start = at;
        }
    }
    if start > 0 {
        hump(&word[start..], emit);
    }
}

fn hump(part: &str, emit: &mut impl FnMut(&str)) {
    if part.len() > 1 {
        emit(&part.to_ascii_lowercase());
    }
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Open {
    #[default]
    Nothing,
    Word,
    Gram,
    /// A gram that takes the marks after it.
    GramWithMarks,
}

/// The token under construction.
#[derive(Default)]
struct Walker {
    buffer: String,
    start: usize,
    end: usize,
    open: Open,
    /// Accents after the last letter are dropped.
    accented: bool,
    /// What the last emitted token was, when nothing came between.
    previous: Open,
    joined: bool,
}

impl Walker {
    fn gap(&mut self) {
        self.previous = Open::Nothing;
    }

    /// Emits what is open.
    fn finish(&mut self, emit: &mut impl FnMut(Unit<'_>)) {
        if self.open == Open::Nothing {
            return;
        }
        let kind = if self.open == Open::Word {
            UnitKind::Word
        } else {
            UnitKind::Gram
        };
        let (start, end, joined) = (self.start, self.end, self.joined);
        emit(Unit {
            text: &self.buffer,
            start,
            end,
            kind,
            joined,
        });
        self.previous = self.open;
        self.open = Open::Nothing;
        self.buffer.clear();
    }

    fn begin(&mut self, open: Open, start: usize) {
        self.joined = open != Open::Word && self.previous == open;
        self.open = open;
        self.start = start;
    }

    /// A whole word of ASCII.
    fn ascii_word(&mut self, text: &str, from: usize, to: usize, emit: &mut impl FnMut(Unit<'_>)) {
        let word = &text[from..to.min(from + MAX_WORD_BYTES)];
        let unit = |text| Unit {
            text,
            start: from,
            end: to,
            kind: UnitKind::Word,
            joined: false,
        };
        if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.buffer.push_str(word);
            self.buffer.make_ascii_lowercase();
            emit(unit(&self.buffer));
            self.buffer.clear();
        } else {
            emit(unit(word));
        }
    }

    /// ASCII letters and digits that touch other characters.
    fn ascii_part(&mut self, part: &str, from: usize, to: usize, emit: &mut impl FnMut(Unit<'_>)) {
        if self.open != Open::Word {
            self.finish(emit);
            self.begin(Open::Word, from);
        }
        let room = MAX_WORD_BYTES
            .saturating_sub(self.buffer.len())
            .min(part.len());
        let old = self.buffer.len();
        self.buffer.push_str(&part[..room]);
        self.buffer[old..].make_ascii_lowercase();
        self.end = to;
        self.accented = true;
    }

    /// One character that is not ASCII, or came out of normalisation.
    fn character(&mut self, c: char, at: usize, end: usize, emit: &mut impl FnMut(Unit<'_>)) {
        let entry = chars::entry(c);
        if entry.flags & chars::IGNORED != 0 {
            return;
        }
        if entry.flags & chars::MARK != 0 {
            self.mark(c, end);
            return;
        }
        if let Some(folded) = entry.folded {
            let flags = if folded == c {
                entry.flags
            } else {
                chars::flags(folded)
            };
            self.folded(folded, flags, at, end, emit);
        } else {
            for folded in chars::fold(c) {
                if chars::flags(folded) & chars::MARK != 0 {
                    self.mark(folded, end);
                } else {
                    self.folded(folded, chars::flags(folded), at, end, emit);
                }
            }
        }
    }

    fn mark(&mut self, mark: char, end: usize) {
        let keep = match self.open {
            Open::Word => !self.accented,
            Open::GramWithMarks => true,
            Open::Nothing | Open::Gram => false,
        };
        if self.open != Open::Nothing {
            self.end = end;
        }
        if keep && self.buffer.len() < MAX_WORD_BYTES {
            self.buffer.push(mark);
        }
    }

    fn folded(
        &mut self,
        c: char,
        flags: u8,
        at: usize,
        end: usize,
        emit: &mut impl FnMut(Unit<'_>),
    ) {
        if flags & chars::WORD == 0 {
            self.finish(emit);
            self.gap();
            return;
        }
        if flags & (chars::GRAM | chars::GRAM_WITH_MARKS) != 0 {
            self.finish(emit);
            let marks = flags & chars::GRAM_WITH_MARKS != 0;
            self.begin(
                if marks {
                    Open::GramWithMarks
                } else {
                    Open::Gram
                },
                at,
            );
        } else if self.open != Open::Word {
            self.finish(emit);
            self.begin(Open::Word, at);
        }
        self.accented = flags & chars::ACCENTED != 0;
        self.end = end;
        if self.buffer.len() < MAX_WORD_BYTES {
            self.buffer.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        standard_units(text, &mut |unit| {
            out.push(format!(
                "{}{}",
                if unit.joined { "+" } else { "" },
                unit.text
            ));
        });
        out
    }

    #[test]
    fn words_of_code_are_found_in_parts_and_whole() {
        let all = |text: &str| {
            let mut found = Vec::new();
            standard_units(text, &mut |unit| {
                extras(text, &unit, &mut |extra| found.push(extra.to_owned()));
            });
            found.join(" ")
        };
        for (text, extras) in [
            ("HttpClient", "http client"),
            ("HTTPServer getURLPath", "http server get url path"),
            ("iPhone", "phone"),
            ("HTTP Word plain max_bytes", ""),
            (
                "\u{C9}tat r\u{E9}sume\u{301} \u{43C}\u{438}\u{440}",
                "\u{E9}tat r\u{E9}sum\u{E9}",
            ),
            ("PDFs TEUs As Gas", "pdf teu"),
            ("500GB 2.5MW 3rd x86", "500 gb 2.5mw 2.5 mw 5 mw 3 rd"),
            ("life-jacket a-b-c -x sign-up.", "lifejacket signup"),
            ("C++, C# and F#.", "c++ c# f#"),
            ("i++x a+b #123 x#1", ""),
            ("v1.2.3 and 0.05. On 2.", "v1.2.3 1.2.3 0.05"),
            ("example.com 10.0.0.1:80", "10.0.0.1"),
        ] {
            assert_eq!(all(text), extras, "{text}");
        }
        assert!(all(&"1.".repeat(10_000)).len() < 20_000);
    }

    #[test]
    fn standard_keeps_marks_and_drops_accents() {
        assert_eq!(
            units("na\u{EF}ve cafe\u{301} Z\u{335}algo"),
            ["naive", "cafe", "zalgo"]
        );
        assert_eq!(units("\u{939}\u{93F}\u{928}\u{94D}\u{926}\u{940}").len(), 1);
        assert_eq!(
            units("D\u{130}YARBAKIR soft\u{AD}hyphen"),
            ["diyarbakir", "softhyphen"]
        );
        // The short i is a letter of its own, however it is stored.
        assert_eq!(units("\u{438}\u{306}"), units("\u{439}"));
        assert_ne!(units("\u{439}"), units("\u{438}"));
    }

    #[test]
    fn standard_cuts_where_scripts_meet() {
        assert_eq!(
            units("2026\u{5E74}3\u{6708}PDF\u{3092}\u{958B}\u{304F}"),
            [
                "2026",
                "\u{5E74}",
                "3",
                "\u{6708}",
                "pdf",
                "\u{3092}",
                "+\u{958B}",
                "+\u{304F}"
            ]
        );
        assert_eq!(
            units("\u{30C7}\u{30FC}\u{30BF}"),
            ["\u{30C7}", "+\u{30FC}", "+\u{30BF}"]
        );
        // Decomposed and half-width spellings are the same characters.
        assert_eq!(units("\u{FF83}\u{FF9E}"), units("\u{30C7}"));
        assert_eq!(units("\u{1100}\u{1161}"), ["\u{AC00}"]);
        assert_eq!(units("\u{4E2D}, \u{6587}"), ["\u{4E2D}", "\u{6587}"]);
        assert_eq!(
            units("\u{E2A}\u{E27}\u{E31}").last().unwrap(),
            "+\u{E27}\u{E31}"
        );
    }

    #[test]
    fn standard_reads_no_citation_targets() {
        let id = "0".repeat(64);
        let text = format!("so [it is](llmwiki://source/{id}#L1-L2) said");
        assert_eq!(units(&text), ["so", "it", "is", "said"]);
        assert_eq!(units("llmwiki source"), ["llmwiki", "source"]);
    }

    #[test]
    fn long_words_are_cut_and_grams_are_not_words() {
        let long = "x".repeat(10_000);
        assert_eq!(units(&long), ["x".repeat(MAX_WORD_BYTES)]);
        let long = "\u{E9}".repeat(10_000);
        assert_eq!(units(&long), ["e".repeat(MAX_WORD_BYTES)]);
    }

    proptest! {
        #[test]
        fn units_lie_in_order_on_character_borders(text in "\\PC{0,40}") {
            let mut last = 0;
            standard_units(&text, &mut |unit| {
                assert!(!unit.text.is_empty());
                assert!(unit.start < unit.end && unit.start >= last);
                assert!(text.is_char_boundary(unit.start) && text.is_char_boundary(unit.end));
                last = unit.start;
            });
        }

        #[test]
        fn segmented_nfkc_is_nfkc(text in "[\u{3131}\u{314F}\u{3133}\u{FFCA}a\u{301}\u{327}e\u{E9}\u{1100}\u{1161}\u{11A8} \u{FF76}\u{FF9E}\u{FB01}\u{BD}]{0,12}") {
            prop_assert_eq!(nfkc(&text), text.nfkc().collect::<String>());
            let mut pieces = String::new();
            for_each_cluster(&text, &mut |cluster, _| pieces.extend(cluster.nfkc()));
            prop_assert_eq!(pieces, text.nfkc().collect::<String>());
        }

        #[test]
        fn classic_places_name_the_same_tokens(text in "\\PC{0,30}") {
            let placed: Vec<_> = classic_spans(&text).into_iter().map(|token| token.text).collect();
            let plain: Vec<_> =
                classic(&text).iter().map(|token| same_sigma(token).into_owned()).collect();
            prop_assert_eq!(placed, plain);
        }
    }
}
