//! From bytes to text and lines, and which files are no use: binaries, minified and generated ones.
//! Decoding never moves a line: what cannot be decoded becomes U+FFFD and ends no line.

use super::language::{Content, Language};

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without a byte order mark.
    pub text: String,
    /// Whether bytes had to be replaced.
    pub lossy: bool,
}

/// Why a file is not indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsuitable {
    /// No text.
    Binary,
    /// Text for machines: lines too long to cite.
    Minified,
    /// Made by a program, as its name or first lines say.
    Generated,
    /// Data larger than `MAX_DATA_BYTES`.
    Data,
}

impl Unsuitable {
    /// The reason as reports spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Minified => "minified",
            Self::Generated => "generated",
            Self::Data => "data",
        }
    }
}

/// How much of a file is searched for a NUL.
const HEAD_BYTES: usize = 8192;
/// Data files above this size are tables and fixtures, not settings.
const MAX_DATA_BYTES: usize = 128 << 10;
/// A line longer than this was not written by a person.
const LONG_LINE_BYTES: usize = 5_000;

/// Decodes a file.
///
/// # Errors
/// `Binary` when no text encoding explains the bytes.
pub fn decode(bytes: &[u8]) -> Result<Decoded, Unsuitable> {
    if let Some(units) = utf16(bytes) {
        let mut lossy = bytes.len() % 2 == 1;
        let text = char::decode_utf16(units)
            .map(|unit| {
                unit.unwrap_or_else(|_| {
                    lossy = true;
                    char::REPLACEMENT_CHARACTER
                })
            })
            .collect();
        return Ok(Decoded { text, lossy });
    }
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    if head.contains(&0) {
        return Err(Unsuitable::Binary);
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Decoded {
            text: text.to_owned(),
            lossy: false,
        }),
        Err(_) => {
            // Text in an eight-bit encoding has few control characters; compressed data has many.
            let odd = head
                .iter()
                .filter(|&&byte| {
                    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B)
                })
                .count();
            if odd * 50 > head.len() {
                return Err(Unsuitable::Binary);
            }
            Ok(Decoded {
                text: String::from_utf8_lossy(bytes).into_owned(),
                lossy: true,
            })
        }
    }
}

/// The code units of UTF-16 text with a byte order mark.
fn utf16(bytes: &[u8]) -> Option<impl Iterator<Item = u16> + '_> {
    let little = match bytes.get(..2)? {
        [0xFF, 0xFE] => true,
        [0xFE, 0xFF] => false,
        _ => return None,
    };
    let (pairs, _) = bytes[2..].as_chunks::<2>();
    Some(pairs.iter().map(move |pair| {
        if little {
            u16::from_le_bytes(*pair)
        } else {
            u16::from_be_bytes(*pair)
        }
    }))
}

/// File names of what package managers write.
const LOCK_FILES: &[&str] = &[
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "composer.lock",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// Whether a file is worth indexing.
///
/// # Errors
/// Why it is not.
pub fn suitable(path: &str, language: &Language, text: &str) -> Result<(), Unsuitable> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if LOCK_FILES.contains(&name) || name.rsplit('.').next() == Some("map") {
        return Err(Unsuitable::Generated);
    }
    if name.contains(".min.") {
        return Err(Unsuitable::Minified);
    }
    if language.content != Content::Docs {
        let (mut longest, mut count) = (0, 0);
        for line in text.split(['\n', '\r']) {
            longest = longest.max(line.len());
            count += usize::from(!line.is_empty());
        }
        let average = text.len() / count.max(1);
        let dense = language.content == Content::Code && text.len() > 2_000 && average > 300;
        if dense || longest > LONG_LINE_BYTES && longest * 2 > text.len() {
            return Err(Unsuitable::Minified);
        }
    }
    if language.content == Content::Code && says_generated(text) {
        return Err(Unsuitable::Generated);
    }
    if language.content == Content::Data && text.len() > MAX_DATA_BYTES {
        return Err(Unsuitable::Data);
    }
    Ok(())
}

/// Whether a comment among the first lines says that a program wrote the file.
fn says_generated(text: &str) -> bool {
    text.lines().take(12).any(|line| {
        let line = line.trim_start();
        let is_comment = ["//", "#", "/*", "*", "--", ";", "<!--", "\"\"\""]
            .iter()
            .any(|mark| line.starts_with(mark));
        if !is_comment {
            return false;
        }
        let line = line.to_ascii_lowercase();
        line.contains("@generated")
            || line.contains("do not edit")
                && (line.contains("generated") || text[..text.len().min(1000)].contains("enerated"))
            || line.contains("autogenerated by")
            || line.contains("automatically generated by")
    })
}

/// Where the lines of a text are.
#[derive(Debug, Clone)]
pub struct Lines<'t> {
    text: &'t str,
    /// Where each line begins.
    starts: Vec<u32>,
}

impl<'t> Lines<'t> {
    /// Finds the lines of a text of less than 4 GiB.
    pub fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = Vec::with_capacity(bytes.len() / 32 + 1);
        let mut at = 0;
        while at < bytes.len() {
            starts.push(u32::try_from(at).unwrap_or(u32::MAX));
            let rest = &bytes[at..];
            let Some(end) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
                break;
            };
            let pair = rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n');
            at += end + 1 + usize::from(pair);
        }
        Self { text, starts }
    }

    /// Number of lines; none in an empty text. A final line needs no line end.
    pub fn count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// The line that holds a byte offset, 1-based.
    pub fn line_of(&self, offset: usize) -> u32 {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        u32::try_from(self.starts.partition_point(|&start| start <= offset)).unwrap_or(u32::MAX)
    }

    /// The lines from `first` to `last`, both included, with their line ends; cut to those that
    /// there are.
    pub fn slice(&self, first: u32, last: u32) -> &'t str {
        let start = |line: u32| match self.starts.get(line as usize) {
            Some(&start) => start as usize,
            None => self.text.len(),
        };
        if first == 0 || last < first {
            return "";
        }
        self.text.get(start(first - 1)..start(last)).unwrap_or("")
    }

    /// One line, without its line end.
    pub fn line(&self, line: u32) -> &'t str {
        self.slice(line, line).trim_end_matches(['\n', '\r'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let lines = Lines::new(text);
        (1..=lines.count())
            .map(|at| lines.line(at).to_owned())
            .collect()
    }

    #[test]
    fn lines_end_where_editors_end_them() {
        assert_eq!(lines("a\nb\n"), ["a", "b"]);
        assert_eq!(lines("a\r\nb\r\n"), ["a", "b"]);
        assert_eq!(lines("a\rb\r\rc"), ["a", "b", "", "c"]);
        assert_eq!(
            lines("a\u{c}b\u{2028}c\u{b}d\u{85}e\n"),
            ["a\u{c}b\u{2028}c\u{b}d\u{85}e"]
        );
        assert_eq!(lines("a"), ["a"]);
        assert_eq!(lines("\n"), [""]);
        assert!(lines("").is_empty());
    }

    #[test]
    fn offsets_and_slices_agree_with_lines() {
        let text = "one\r\ntwo\rthree\n";
        let lines = Lines::new(text);
        assert_eq!(lines.line_of(0), 1);
        assert_eq!(lines.line_of(text.find("two").unwrap()), 2);
        assert_eq!(lines.line_of(text.len() - 1), 3);
        assert_eq!(lines.slice(2, 3), "two\rthree\n");
        assert_eq!(lines.slice(3, 9), "three\n");
        assert_eq!(lines.slice(4, 9), "");
        assert_eq!(lines.slice(0, 1), "");
    }

    #[test]
    fn a_bad_byte_loses_no_line() {
        let bytes = b"// gr\xf6\xdfe in mm\nint width_mm(void) {\n";
        let decoded = decode(bytes).unwrap();
        assert!(decoded.lossy);
        assert_eq!(Lines::new(&decoded.text).line(2), "int width_mm(void) {");
        // A cut sequence right before a line end must not swallow it.
        assert_eq!(lines(&decode(b"a\xe2\x82\nb\n").unwrap().text).len(), 2);
    }

    #[test]
    fn utf16_and_byte_order_marks_are_understood() {
        let utf16: Vec<u8> = [0xFF, 0xFE]
            .into_iter()
            .chain("int x;\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(decode(&utf16).unwrap().text, "int x;\n");
        assert_eq!(decode(b"\xEF\xBB\xBFx\n").unwrap().text, "x\n");
        assert_eq!(decode(b"ab\0cd"), Err(Unsuitable::Binary));
        assert_eq!(
            decode(b"\x89\x01\x02\x03\xff\x04\x05").unwrap_err(),
            Unsuitable::Binary
        );
    }

    #[test]
    fn files_for_machines_are_left_out_with_their_reason() {
        let rust = Language::named("rust");
        let js = Language::named("javascript");
        let json = Language::named("json");
        let why =
            |path: &str, language: &Language, text: &str| suitable(path, language, text).err();
        assert_eq!(why("a.rs", rust, "fn main() {}\n"), None);
        assert_eq!(why("Cargo.lock", rust, ""), Some(Unsuitable::Generated));
        assert_eq!(why("a.min.js", js, "x"), Some(Unsuitable::Minified));
        assert_eq!(
            why("a.js", js, &"x=1;".repeat(1000)),
            Some(Unsuitable::Minified)
        );
        assert_eq!(
            why(
                "a.rs",
                rust,
                "// Code generated by x. DO NOT EDIT.\nfn a() {}\n"
            ),
            Some(Unsuitable::Generated)
        );
        // Talking about generated files is not being one.
        assert_eq!(
            why("a.rs", rust, "fn a() { print(\"@generated\"); }\n"),
            None
        );
        assert_eq!(
            why("a.json", json, &"[1,\n2]\n".repeat(30_000)),
            Some(Unsuitable::Data)
        );
    }
}
