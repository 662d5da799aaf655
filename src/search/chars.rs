//! Character properties that both analyses need, and the folding of the `standard` one.
//! ASCII is decided by callers; everything else is looked up in blocks of 256 characters that
//! are computed when first touched, so that a command which meets only English pays nothing.
//!
//! Letters and numbers are those of Unicode 17 (`char::is_alphanumeric` without marks and
//! circled letters is exactly `[\p{L}\p{N}]`); scripts are written out below.

use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// `[\p{L}\p{N}]`.
pub(super) const WORD: u8 = 1;
/// `\p{M}`.
pub(super) const MARK: u8 = 2;
/// Script Han, Hiragana, Katakana or Hangul.
pub(super) const CJK: u8 = 4;
/// Written without spaces between words and cut into grams by `standard`: [`CJK`], its
/// iteration and length marks, Bopomofo.
pub(super) const GRAM: u8 = 8;
/// The same for Thai, Lao, Khmer and Myanmar letters, whose marks stay with the letter.
pub(super) const GRAM_WITH_MARKS: u8 = 16;
/// Carries no meaning for `standard`: joiners, soft hyphens, vowel points, variation selectors.
pub(super) const IGNORED: u8 = 32;
/// Marks after this letter are accents, which `standard` drops: Latin, Greek, Cyrillic, digits.
pub(super) const ACCENTED: u8 = 64;

/// Under NFKC it may compose with what stands before it, or change places with it: marks, the
/// vowels and finals of decomposed Hangul, and what becomes one of these.
pub(super) const CONTINUES: u8 = 128;

/// What is known about one character.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Property bits.
    pub(super) flags: u8,
    /// Its `standard` folding when that is one character; otherwise see [`fold`].
    pub(super) folded: Option<char>,
}

type Block = [Entry; 256];

static BLOCKS: [OnceLock<Box<Block>>; 0x1100] = [const { OnceLock::new() }; 0x1100];

/// Properties of a character.
pub(super) fn entry(c: char) -> Entry {
    let code = c as u32;
    // Large uniform ranges need no table.
    if matches!(code, 0x4E00..=0x9FFF | 0xAC00..=0xD7A3) {
        return Entry {
            flags: WORD | CJK | GRAM,
            folded: Some(c),
        };
    }
    let block = BLOCKS[(code >> 8) as usize].get_or_init(|| make_block(code >> 8));
    block[(code & 0xFF) as usize]
}

/// Property bits of a character.
pub(super) fn flags(c: char) -> u8 {
    entry(c).flags
}

fn make_block(high: u32) -> Box<Block> {
    let mut block = Box::new(
        [Entry {
            flags: 0,
            folded: None,
        }; 256],
    );
    for (low, slot) in (0..).zip(block.iter_mut()) {
        let Some(c) = char::from_u32(high << 8 | low) else {
            continue;
        };
        let mut folding = fold(c);
        let first = folding.next();
        let folded = if folding.next().is_none() {
            first
        } else {
            None
        };
        *slot = Entry {
            flags: compute_flags(c),
            folded,
        };
    }
    block
}

fn compute_flags(c: char) -> u8 {
    let code = c as u32;
    let mark = is_combining_mark(c);
    let circled = matches!(
        code,
        0x24B6..=0x24E9 | 0x1_F130..=0x1_F149 | 0x1_F150..=0x1_F169 | 0x1_F170..=0x1_F189
    );
    let word = c.is_alphanumeric() && !mark && !circled;
    let cjk = within(code, HAN) || within(code, KANA) || within(code, HANGUL);
    let mut flags = 0;
    if word {
        flags |= WORD;
    }
    if mark {
        flags |= MARK;
    }
    if cjk {
        flags |= CJK;
    }
    if word && (cjk || within(code, GRAM_EXTRA)) {
        flags |= GRAM;
    }
    if word && !c.is_numeric() && within(code, SOUTH_EAST_ASIAN) {
        flags |= GRAM_WITH_MARKS;
    }
    if within(code, MEANINGLESS) {
        flags |= IGNORED;
    }
    let first = std::iter::once(c).nfkc().next();
    if first.is_some_and(|c| is_combining_mark(c) || matches!(c, '\u{1160}'..='\u{11FF}')) {
        flags |= CONTINUES;
    }
    if word && (c.is_numeric() || within(code, LATIN_GREEK) || within(code, CYRILLIC)) {
        flags |= ACCENTED;
    }
    flags
}

fn within(code: u32, ranges: &[(u32, u32)]) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= code);
    after > 0 && code <= ranges[after - 1].1
}

/// The `standard` folding of one character: NFKC, full case folding, accents of Latin and Greek
/// letters removed, a few letters spelled out. Full case folding is lower case of upper case
/// without regard to context, which also makes the two lower-case sigmas one.
pub(super) fn fold(c: char) -> impl Iterator<Item = char> {
    std::iter::once(c)
        .nfkc()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .flat_map(without_accent)
}

fn without_accent(c: char) -> impl Iterator<Item = char> {
    let code = c as u32;
    let spelled = spelled_out(c);
    let strip = spelled.is_empty() && code > 0x7F && within(code, LATIN_GREEK);
    let kept = if spelled.is_empty() && !strip {
        Some(c)
    } else {
        None
    };
    let stripped = strip.then(|| std::iter::once(c).nfkd().filter(|&d| !is_combining_mark(d)));
    // Lower-casing a dotted capital I leaves its dot behind as a mark of its own.
    let kept = kept.filter(|&c| c != '\u{307}');
    kept.into_iter()
        .chain(spelled.chars())
        .chain(stripped.into_iter().flatten())
}

/// Letters with no decomposition that readers of other languages type without their stroke,
/// and the Cyrillic io, written as ie in most texts.
fn spelled_out(c: char) -> &'static str {
    match c {
        '\u{E6}' => "ae",
        '\u{F0}' | '\u{111}' => "d",
        '\u{F8}' => "o",
        '\u{FE}' => "th",
        '\u{127}' => "h",
        '\u{131}' => "i",
        '\u{142}' => "l",
        '\u{153}' => "oe",
        '\u{167}' => "t",
        '\u{451}' => "\u{435}",
        _ => "",
    }
}

const HAN: &[(u32, u32)] = &[
    (0x2E80, 0x2E99),
    (0x2E9B, 0x2EF3),
    (0x2F00, 0x2FD5),
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFA6D),
    (0xFA70, 0xFAD9),
    (0x16FE2, 0x16FE3),
    (0x16FF0, 0x16FF6),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81D),
    (0x2B820, 0x2CEAD),
    (0x2CEB0, 0x2EBE0),
    (0x2EBF0, 0x2EE5D),
    (0x2F800, 0x2FA1D),
    (0x30000, 0x3134A),
    (0x31350, 0x33479),
];

/// Hiragana and Katakana.
const KANA: &[(u32, u32)] = &[
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FD, 0x30FF),
    (0x31F0, 0x31FF),
    (0x32D0, 0x32FE),
    (0x3300, 0x3357),
    (0xFF66, 0xFF6F),
    (0xFF71, 0xFF9D),
    (0x1AFF0, 0x1AFF3),
    (0x1AFF5, 0x1AFFB),
    (0x1AFFD, 0x1AFFE),
    (0x1B000, 0x1B122),
    (0x1B132, 0x1B132),
    (0x1B150, 0x1B152),
    (0x1B155, 0x1B155),
    (0x1B164, 0x1B167),
    (0x1F200, 0x1F200),
];

const HANGUL: &[(u32, u32)] = &[
    (0x1100, 0x11FF),
    (0x302E, 0x302F),
    (0x3131, 0x318E),
    (0x3200, 0x321E),
    (0x3260, 0x327E),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7A3),
    (0xD7B0, 0xD7C6),
    (0xD7CB, 0xD7FB),
    (0xFFA0, 0xFFBE),
    (0xFFC2, 0xFFC7),
    (0xFFCA, 0xFFCF),
    (0xFFD2, 0xFFD7),
    (0xFFDA, 0xFFDC),
];

/// Vertical and horizontal repeat and length marks of Script Common, and Bopomofo.
const GRAM_EXTRA: &[(u32, u32)] = &[
    (0x3005, 0x3006),
    (0x3031, 0x3035),
    (0x303B, 0x303C),
    (0x30FC, 0x30FC),
    (0x3105, 0x312F),
    (0x31A0, 0x31BF),
    (0xFF70, 0xFF70),
];

const SOUTH_EAST_ASIAN: &[(u32, u32)] = &[
    (0xE01, 0xE3A),
    (0xE40, 0xE5B),
    (0xE81, 0xEDF),
    (0x1000, 0x109F),
    (0x1780, 0x17F9),
    (0x19E0, 0x19FF),
    (0xA9E0, 0xA9FE),
    (0xAA60, 0xAA7F),
    (0x116D0, 0x116E3),
];

const LATIN_GREEK: &[(u32, u32)] = &[
    (0x41, 0x5A),
    (0x61, 0x7A),
    (0xAA, 0xAA),
    (0xBA, 0xBA),
    (0xC0, 0xD6),
    (0xD8, 0xF6),
    (0xF8, 0x2B8),
    (0x370, 0x373),
    (0x376, 0x377),
    (0x37B, 0x37D),
    (0x37F, 0x37F),
    (0x386, 0x386),
    (0x388, 0x3E1),
    (0x3F0, 0x3FF),
    (0x1D00, 0x1D2A),
    (0x1E00, 0x1EFF),
    (0x1F00, 0x1FFE),
    (0x212A, 0x212B),
    (0x2C60, 0x2C7F),
    (0xA722, 0xA787),
    (0xA78B, 0xA7FF),
    (0xAB30, 0xAB69),
];

const CYRILLIC: &[(u32, u32)] = &[
    (0x400, 0x482),
    (0x48A, 0x52F),
    (0x1C80, 0x1C8A),
    (0xA640, 0xA66E),
    (0xA680, 0xA69D),
];

/// Soft hyphen, grapheme joiner, Hebrew points, Arabic vowel signs and tatweel, joiners and
/// direction marks, variation selectors.
const MEANINGLESS: &[(u32, u32)] = &[
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x591, 0x5BD),
    (0x5BF, 0x5BF),
    (0x5C1, 0x5C2),
    (0x5C4, 0x5C5),
    (0x5C7, 0x5C7),
    (0x610, 0x61A),
    (0x640, 0x640),
    (0x64B, 0x652),
    (0x656, 0x65F),
    (0x670, 0x670),
    (0x180B, 0x180F),
    (0x200C, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2060),
    (0x2066, 0x2069),
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        text.chars().flat_map(fold).collect()
    }

    #[test]
    fn folding_joins_spellings_of_one_word() {
        for (a, b) in [
            ("Stra\u{DF}e", "STRASSE"),
            ("caf\u{E9}", "CAFE"),
            (
                "\u{39F}\u{394}\u{39F}\u{3A3}",
                "\u{3BF}\u{3B4}\u{3BF}\u{3C2}",
            ),
            ("\u{130}stanbul", "istanbul"),
            ("\u{141}\u{D3}D\u{179}", "lodz"),
            ("\u{FB01}le", "file"),
            ("\u{B5}", "\u{3BC}"),
        ] {
            assert_eq!(folded(a), folded(b));
        }
    }

    #[test]
    fn tables_agree_with_the_regular_expression_crate() {
        // The crate's tables are of Unicode 16; characters that were assigned later are left out.
        let tests = [
            (r"^[\p{L}\p{N}]$", WORD),
            (r"^\p{M}$", MARK),
            (
                r"^[\p{scx=Zzzz}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]$",
                CJK,
            ),
        ];
        let assigned = regex::Regex::new(r"^\P{Cn}$").unwrap();
        for (pattern, bit) in tests {
            let pattern = regex::Regex::new(&pattern.replace(r"\p{scx=Zzzz}", "")).unwrap();
            for c in (0..=0x3_FFFF).filter_map(char::from_u32) {
                let mut buffer = [0; 4];
                let text = c.encode_utf8(&mut buffer);
                if assigned.is_match(text) {
                    let ours = flags(c) & bit != 0;
                    assert_eq!(ours, pattern.is_match(text), "{:x} {pattern}", c as u32);
                }
            }
        }
    }
}
