//! A made-up wiki of any size, the same for the same size.
//!
//! Words follow Zipf's law over a vocabulary that grows with the wiki; one page in eight is in
//! Han or Hangul script; sections have headings, paragraphs, links, lists and code. Pages are made
//! one at a time and each from its own number alone, so a wiki of a million sections needs no
//! memory and any page can be made again.

use std::fmt::Write as _;

use llmwiki::id::SourceId;

const ONSETS: [&str; 24] = [
    "b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "bl", "dr",
    "fl", "gr", "pl", "sk", "tr", "th",
];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "io"];
const CODAS: [&str; 6] = ["", "", "n", "r", "l", "m"];

/// Pages beyond a million sections are never made, so this many revisions never meet.
const REVISION: u64 = 1 << 40;

/// `SplitMix64` (Steele, Lea, Flood 2014).
pub struct Rng(u64);

impl Rng {
    /// A stream of its own for each purpose and number.
    pub fn new(purpose: &str, number: u64) -> Self {
        let mut seed = number.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        for byte in purpose.bytes() {
            seed = (seed ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
        }
        let mut rng = Self(seed);
        rng.next();
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// A rank below `limit`; rank `r` comes about `1 / (r + 1)` as often as the first.
    fn rank(&mut self, limit: u64) -> u64 {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = ((limit + 1) as f64).powf(part) as u64 - 1;
        rank.min(limit - 1)
    }
}

/// One section: what stands in the page file, and what its parts are.
pub struct Section {
    /// Headings from the page's title down to this section's own.
    pub trail: Vec<String>,
    /// Heading line and text.
    pub markdown: String,
}

/// One page.
pub struct Page {
    pub id: String,
    pub title: String,
    pub summary: String,
    pub sources: Vec<SourceId>,
    pub sections: Vec<Section>,
}

impl Page {
    /// The body of the page file.
    pub fn body(&self) -> String {
        let parts: Vec<&str> = self.sections.iter().map(|part| &*part.markdown).collect();
        parts.join("\n")
    }

    /// Title, summary, headings and text of a section in one field, for the peers.
    pub fn merged(&self, section: usize) -> String {
        let part = &self.sections[section];
        let mut text = format!("{}\n", self.title);
        if section == 0 {
            let _ = writeln!(text, "{}\n{}", self.summary, self.id);
        }
        // The last heading opens the text.
        for heading in &part.trail[..part.trail.len() - 1] {
            let _ = writeln!(text, "{heading}");
        }
        text.push_str(&part.markdown);
        text
    }
}

/// A wiki that holds exactly so many sections.
pub struct Corpus {
    vocabulary: u64,
    head: Vec<String>,
    /// Number of sections of each page.
    sizes: Vec<u8>,
    sources: u64,
    /// A source is made of paragraphs until it has so many bytes.
    source_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Han,
    Hangul,
}

impl Corpus {
    pub fn new(sections: u64) -> Self {
        let mut rng = Rng::new("sizes", 0);
        let mut sizes = Vec::new();
        let mut left = sections;
        while left > 0 {
            let size = page_size(&mut rng).min(left);
            left -= size;
            sizes.push(size as u8);
        }
        let sources = (sizes.len() as u64 / 4).max(1);
        Self::with(sizes, sources, 0)
    }

    /// A wiki of so many pages and as many sources, each of at least so many bytes.
    pub fn of_pages(pages: u64, source_bytes: usize) -> Self {
        let mut rng = Rng::new("sizes", 0);
        let sizes = (0..pages).map(|_| page_size(&mut rng) as u8).collect();
        Self::with(sizes, pages, source_bytes)
    }

    fn with(sizes: Vec<u8>, sources: u64, source_bytes: usize) -> Self {
        let sections: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
        Self {
            vocabulary: 20_000 + sections / 4,
            head: (0..8192).map(spell).collect(),
            sizes,
            sources,
            source_bytes,
        }
    }

    pub fn pages(&self) -> u64 {
        self.sizes.len() as u64
    }

    pub fn sources(&self) -> u64 {
        self.sources
    }

    /// Number of Latin words; [`Corpus::word`] spells each, the commonest first.
    pub fn words(&self) -> u64 {
        self.vocabulary
    }

    pub fn word(&self, rank: u64) -> String {
        self.head
            .get(rank as usize)
            .map_or_else(|| spell(rank), String::clone)
    }

    /// Text of a source.
    pub fn source(&self, number: u64) -> String {
        let mut rng = Rng::new("source", number);
        let mut text = format!("Record {number}\n\n");
        let mut paragraphs = rng.between(3, 10);
        while paragraphs > 0 || text.len() < self.source_bytes {
            self.paragraph(&mut text, Script::Latin, None, &mut rng);
            text.push('\n');
            paragraphs = paragraphs.saturating_sub(1);
        }
        text
    }

    pub fn page_id(number: u64) -> String {
        let (area, topic) = (number % 37, number / 37 % 211);
        format!("area-{area:02}/topic-{topic:03}/page-{number:07}")
    }

    fn title(&self, number: u64) -> String {
        let mut rng = Rng::new("title", number);
        let mut title = self.phrase(script_of(number), &mut rng);
        let _ = write!(title, " {number}");
        title
    }

    /// A page as it was first written.
    pub fn page(&self, number: u64) -> Page {
        self.page_at(number, 0, usize::MAX)
    }

    /// A page of which one section, or with `usize::MAX` all, is in its nth text.
    pub fn page_at(&self, number: u64, revision: u64, changed: usize) -> Page {
        let script = script_of(number);
        let title = self.title(number);
        let mut rng = Rng::new("page", number);
        let mut sources: Vec<SourceId> = (0..rng.between(1, 3))
            // Sources come before the pages that cite them.
            .map(|_| rng.below((number / 4 + 1).min(self.sources())))
            .map(|source| SourceId::of(self.source(source).as_bytes()))
            .collect();
        sources.sort_unstable();
        sources.dedup();
        let mut summary = String::new();
        self.sentence(&mut summary, script, &mut rng);
        let size = usize::from(self.sizes.get(number as usize).copied().unwrap_or(1));
        let mut trail: Vec<(u64, String)> = Vec::new();
        let mut sections = Vec::with_capacity(size);
        for place in 0..size {
            let level = match trail.last() {
                None => 1,
                Some((1, _)) => 2,
                Some((level, _)) => rng.between(2, (level + 1).min(4)),
            };
            let heading = if place == 0 {
                title.clone()
            } else {
                self.phrase(script, &mut rng)
            };
            trail.retain(|(above, _)| *above < level);
            trail.push((level, heading.clone()));
            let text_of = if changed == usize::MAX || changed == place {
                revision
            } else {
                0
            };
            let own = number * 64 + place as u64 + text_of * REVISION;
            let hashes = "#".repeat(level as usize);
            let mut markdown = format!("{hashes} {heading}\n\n");
            self.text(&mut markdown, script, number, &mut Rng::new("text", own));
            sections.push(Section {
                trail: trail.iter().map(|(_, heading)| heading.clone()).collect(),
                markdown,
            });
        }
        Page {
            id: Self::page_id(number),
            title,
            summary,
            sources,
            sections,
        }
    }

    fn text(&self, out: &mut String, script: Script, page: u64, rng: &mut Rng) {
        for _ in 0..rng.between(1, 2) {
            self.paragraph(out, script, Some(page), rng);
            out.push('\n');
        }
        match rng.below(12) {
            0 => {
                for _ in 0..rng.between(2, 5) {
                    let phrase = self.phrase(script, rng);
                    let _ = write!(out, "- {phrase}: ");
                    self.link(out, rng);
                    out.push('\n');
                }
            }
            1 => {
                let (name, number) = (self.latin(rng), rng.below(1000));
                let _ = writeln!(out, "```sh\n# no heading\nrun --{name} {number}\n```");
            }
            _ => {}
        }
    }

    fn paragraph(&self, out: &mut String, script: Script, page: Option<u64>, rng: &mut Rng) {
        for place in 0..rng.between(2, 5) {
            if place > 0 {
                out.push(' ');
            }
            self.sentence(out, script, rng);
            if page.is_some() && rng.below(5) == 0 {
                out.push(' ');
                self.link(out, rng);
            }
        }
        out.push('\n');
    }

    fn sentence(&self, out: &mut String, script: Script, rng: &mut Rng) {
        match script {
            Script::Latin => {
                for place in 0..rng.between(8, 18) {
                    if place > 0 {
                        out.push(' ');
                    }
                    if rng.below(80) == 0 {
                        let _ = write!(out, "{}", rng.between(1900, 2099));
                    } else {
                        out.push_str(&self.latin(rng));
                    }
                }
                out.push('.');
            }
            Script::Han => {
                for _ in 0..rng.between(10, 30) {
                    out.push(han(rng));
                }
                out.push('\u{3002}');
            }
            Script::Hangul => {
                for place in 0..rng.between(4, 9) {
                    if place > 0 {
                        out.push(' ');
                    }
                    for _ in 0..rng.between(2, 4) {
                        out.push(hangul(rng));
                    }
                }
                out.push('.');
            }
        }
    }

    fn phrase(&self, script: Script, rng: &mut Rng) -> String {
        match script {
            Script::Latin => {
                let words: Vec<String> = (0..rng.between(2, 4)).map(|_| self.latin(rng)).collect();
                words.join(" ")
            }
            Script::Han => (0..rng.between(3, 6)).map(|_| han(rng)).collect(),
            Script::Hangul => (0..rng.between(2, 4)).map(|_| hangul(rng)).collect(),
        }
    }

    fn link(&self, out: &mut String, rng: &mut Rng) {
        // Low numbers are popular.
        let target = rng.rank(self.pages());
        let id = Self::page_id(target);
        if rng.below(10) < 6 {
            let title = self.title(target);
            let _ = write!(out, "[{title}](../../{id}.md)");
        } else {
            let _ = write!(out, "[[../../{id}]]");
        }
    }

    fn latin(&self, rng: &mut Rng) -> String {
        self.word(rng.rank(self.vocabulary))
    }
}

/// Number of sections of the next page.
fn page_size(rng: &mut Rng) -> u64 {
    let long = if rng.below(25) == 0 { rng.below(40) } else { 0 };
    1 + rng.below(4) + rng.below(4) + long
}

fn script_of(page: u64) -> Script {
    match Rng::new("script", page).below(24) {
        0 | 1 => Script::Han,
        2 => Script::Hangul,
        _ => Script::Latin,
    }
}

/// The word of a rank: syllables, as few as tell it from all others.
fn spell(rank: u64) -> String {
    let mut word = String::new();
    let mut left = rank;
    loop {
        let onset = left % ONSETS.len() as u64;
        let vowel = left / ONSETS.len() as u64 % VOWELS.len() as u64;
        word.push_str(ONSETS[onset as usize]);
        word.push_str(VOWELS[vowel as usize]);
        left /= (ONSETS.len() * VOWELS.len()) as u64;
        if left == 0 {
            break;
        }
        left -= 1;
    }
    word.push_str(CODAS[(rank % CODAS.len() as u64) as usize]);
    word
}

fn han(rng: &mut Rng) -> char {
    character(0x4E00, 7, 6763, rng.rank(3000))
}

fn hangul(rng: &mut Rng) -> char {
    character(0xAC00, 29, 11_172, rng.rank(2350))
}

fn character(first: u32, step: u64, count: u64, rank: u64) -> char {
    let offset = (rank * step % count) as u32;
    char::from_u32(first + offset).unwrap_or('?')
}
