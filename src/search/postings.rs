//! Postings of one term: which sections hold it, and with which weight.
//!
//! Answers for the bytes of a posting row and for the form that queries read. Where rows are kept,
//! and the checksum around them, is the store's business.
//!
//! A row holds at most [`ROW_POSTINGS`] postings in sub-blocks of at most [`SUB_BLOCK`]. All
//! numbers are LEB128 unless said otherwise:
//!
//! ```text
//! row    := document frequency (0 in a closed row), number of sub-blocks,
//!           first section id (if there is a sub-block), head*, body*
//! head   := u8 postings - 1, u8 form, last section id - last id before (the first: - first id),
//!           packed: u8 bits of a weight; listed: bytes of the body,
//!           u8 pairs of the front, (weight, length)* each minus the pair before
//! body   := packed (form = bits of a gap, 0 to 32): 128 gaps, 128 weights - 1, as BitPacker4x
//!           listed (form = 255): (gap, weight)*, without the gap that the row's first id tells
//! ```
//!
//! The *front* of a sub-block bounds the score of each posting in it: for each posting some pair
//! has at least its weight and at most its section's length. It holds for every k1, b and average
//! length, so it survives changes of the corpus; it is kept small by merging neighbours, and loose
//! (never wrong) after removals. The maximum weight and minimum length are its outer corners.
//!
//! Invariant: section ids rise strictly within a term. Decoding answers an error for bytes that
//! break the layout, and never panics.

#![allow(
    clippy::cast_possible_truncation,
    reason = "counts in a row are at most 1024, and bits at most 32"
)]

use std::borrow::Cow;

use bitpacking::{BitPacker, BitPacker4x};

/// Postings of a full sub-block.
pub const SUB_BLOCK: usize = 128;
/// Most postings of one row.
pub const ROW_POSTINGS: usize = 1024;

/// Sub-blocks of at least this many postings are bit-packed; the gap to 128 costs no bits that
/// the postings do not use themselves.
const PACK_FROM: usize = 48;
const LISTED: u8 = 255;
/// In place of the weight width of a listed sub-block: its first id is the row's first id.
const OPENS_ROW: u8 = 1;
const FRONT_PAIRS: usize = 4;

/// One section that holds a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Posting {
    /// Id of the section.
    pub section: u32,
    /// Weighted term frequency in half units, at least 1.
    pub weight: u32,
}

/// Bytes that no encoder made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("posting row {0}")]
pub struct PostingsError(&'static str);

impl PostingsError {
    /// An error whose message goes on after "posting row".
    pub(crate) const fn new(what: &'static str) -> Self {
        Self(what)
    }
}

/// Pairs (weight, length) of which none is both lighter and longer than another, by rising
/// weight and rising length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Front(Vec<(u32, u32)>);

impl Front {
    /// Makes the front bound a posting of this weight in a section of this length.
    pub fn add(&mut self, weight: u32, length: u32) {
        if self.bounds(weight, length) {
            return;
        }
        self.0.retain(|&(w, l)| w > weight || l < length);
        let at = self.0.partition_point(|&(w, _)| w < weight);
        self.0.insert(at, (weight, length));
    }

    /// Whether the front bounds such a posting.
    pub fn bounds(&self, weight: u32, length: u32) -> bool {
        bounds(&self.0, weight, length)
    }

    /// The pairs.
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// Merges neighbours until the front is small enough to store. It bounds no less than before.
    fn shrink(&mut self) {
        while self.0.len() > FRONT_PAIRS {
            let loss = |pair: &[(u32, u32)]| {
                u64::from(pair[1].0 - pair[0].0) * u64::from(pair[1].1 - pair[0].1)
            };
            let cheapest = self
                .0
                .windows(2)
                .enumerate()
                .min_by_key(|(_, pair)| loss(pair));
            let Some((at, pair)) = cheapest else { return };
            let merged = (pair[1].0, pair[0].1);
            self.0[at] = merged;
            self.0.remove(at + 1);
        }
    }
}

/// Whether these pairs of a front bound such a posting.
pub fn bounds(front: &[(u32, u32)], weight: u32, length: u32) -> bool {
    front.iter().any(|&(w, l)| w >= weight && l <= length)
}

/// One sub-block, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubBlock {
    /// 1 to 128 postings by rising section id.
    pub postings: Vec<Posting>,
    /// Bounds their scores.
    pub front: Front,
}

impl SubBlock {
    /// Appends a posting; its section's length goes into the front.
    pub fn push(&mut self, posting: Posting, length: u32) {
        self.postings.push(posting);
        self.front.add(posting.weight, length);
    }
}

/// One row, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Sections that hold the term, over all its rows; kept in the open last row, 0 in others.
    pub document_frequency: u32,
    /// Sub-blocks by rising section id, none empty.
    pub blocks: Vec<SubBlock>,
}

impl Row {
    /// Number of postings.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.postings.len()).sum()
    }

    /// Whether the row holds no posting.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The first section id.
    pub fn first_section(&self) -> Option<u32> {
        self.blocks
            .first()?
            .postings
            .first()
            .map(|posting| posting.section)
    }

    /// The last section id.
    pub fn last_section(&self) -> Option<u32> {
        self.blocks
            .last()?
            .postings
            .last()
            .map(|posting| posting.section)
    }

    /// Takes all postings out.
    pub fn clear(&mut self) {
        self.document_frequency = 0;
        self.blocks.clear();
    }

    /// Appends a posting whose section id is above all others.
    pub fn push(&mut self, posting: Posting, length: u32) {
        match self.blocks.last_mut() {
            Some(block) if block.postings.len() < SUB_BLOCK => block.push(posting, length),
            _ => {
                let mut block = SubBlock::default();
                block.push(posting, length);
                self.blocks.push(block);
            }
        }
    }

    /// Takes out the postings of these sections (rising ids); answers how many were there.
    pub fn remove(&mut self, sections: &[u32]) -> usize {
        let before = self.len();
        for block in &mut self.blocks {
            let gone = |posting: &Posting| sections.binary_search(&posting.section).is_ok();
            if block.postings.iter().any(gone) {
                block.postings.retain(|posting| !gone(posting));
            }
        }
        let removed = before - self.len();
        if removed > 0 {
            self.join();
        }
        removed
    }

    /// Joins neighbours that fit into one sub-block.
    fn join(&mut self) {
        let mut joined: Vec<SubBlock> = Vec::with_capacity(self.blocks.len());
        for block in self.blocks.drain(..) {
            match joined.last_mut() {
                _ if block.postings.is_empty() => {}
                Some(last) if last.postings.len() + block.postings.len() <= SUB_BLOCK => {
                    last.postings.extend(block.postings);
                    for &(weight, length) in block.front.pairs() {
                        last.front.add(weight, length);
                    }
                }
                _ => joined.push(block),
            }
        }
        self.blocks = joined;
    }

    /// Appends the encoded row to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put(out, self.document_frequency);
        put(out, u32::try_from(self.blocks.len()).unwrap_or(u32::MAX));
        let Some(first) = self.blocks.first().and_then(|block| block.postings.first()) else {
            return;
        };
        put(out, first.section);
        let mut before = first.section.wrapping_sub(1);
        let mut bodies = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let origin = if at == 0 { first.section } else { before };
            before = encode_block(block, before, origin, at == 0, out, &mut bodies);
        }
        out.extend_from_slice(&bodies);
    }

    /// Decodes a row and checks all of it.
    ///
    /// # Errors
    /// For bytes that [`Row::encode`] did not make.
    pub fn decode(bytes: &[u8]) -> Result<Self, PostingsError> {
        let mut blocks: Vec<SubBlock> = Vec::new();
        let facts = RowReader::default().read(bytes, &mut |at, posting, front| {
            if at == blocks.len() {
                let front = Front(front.to_vec());
                let postings = Vec::new();
                blocks.push(SubBlock { postings, front });
            }
            if let Some(block) = blocks.last_mut() {
                block.postings.push(posting);
            }
        })?;
        Ok(Row {
            document_frequency: facts.document_frequency,
            blocks,
        })
    }
}

/// What a row holds, without its postings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFacts {
    /// As in [`Row`].
    pub document_frequency: u32,
    /// Number of postings.
    pub postings: usize,
    /// The first section id.
    pub first_section: Option<u32>,
    /// The last section id.
    pub last_section: Option<u32>,
}

/// Reads rows one after another, all in the same memory.
#[derive(Debug, Default)]
pub struct RowReader {
    term: TermPostings,
    buffer: BlockBuffer,
}

/// Takes the place of a sub-block in its row, a posting of it, and its front.
pub type VisitPosting<'a> = dyn FnMut(usize, Posting, &[(u32, u32)]) + 'a;

impl RowReader {
    /// Checks all of a row, showing each posting by rising section id.
    ///
    /// # Errors
    /// As [`Row::decode`]; what was shown of a row that breaks its layout later means nothing.
    pub fn read(
        &mut self,
        bytes: &[u8],
        visit: &mut VisitPosting<'_>,
    ) -> Result<RowFacts, PostingsError> {
        self.term.clear();
        self.term.push_row(bytes)?;
        let mut facts = RowFacts {
            document_frequency: self.term.document_frequency,
            postings: 0,
            first_section: None,
            last_section: None,
        };
        for at in 0..self.term.blocks.len() {
            self.term
                .check_block(at, &mut self.buffer, &mut |at, posting, front| {
                    facts.postings += 1;
                    facts.first_section.get_or_insert(posting.section);
                    facts.last_section = Some(posting.section);
                    visit(at, posting, front);
                })?;
        }
        if facts.postings > ROW_POSTINGS {
            return Err(PostingsError("holds too many postings"));
        }
        Ok(facts)
    }
}

/// Writes head and body of one sub-block; answers its last section id.
fn encode_block(
    block: &SubBlock,
    before: u32,
    origin: u32,
    opens_row: bool,
    heads: &mut Vec<u8>,
    bodies: &mut Vec<u8>,
) -> u32 {
    let postings = &block.postings;
    let last = postings.last().map_or(before, |posting| posting.section);
    heads.push(u8::try_from(postings.len().wrapping_sub(1)).unwrap_or(u8::MAX));
    if postings.len() >= PACK_FROM {
        let packer = BitPacker4x::new();
        let mut sections = [0u32; SUB_BLOCK];
        let mut weights = [0u32; SUB_BLOCK];
        let mut previous = before;
        // Gaps minus one are packed as plain numbers and summed up when decoded: the crate's own
        // sorted form refuses what lies beyond the last id, which the padding needs.
        for (at, posting) in postings.iter().enumerate() {
            sections[at] = posting.section.wrapping_sub(previous).wrapping_sub(1);
            weights[at] = posting.weight.wrapping_sub(1);
            previous = posting.section;
        }
        let gap_bits = packer.num_bits(&sections);
        let weight_bits = packer.num_bits(&weights);
        heads.push(gap_bits);
        put(heads, last - origin);
        heads.push(weight_bits);
        for (numbers, bits) in [(&sections, gap_bits), (&weights, weight_bits)] {
            let start = bodies.len();
            bodies.resize(start + packed_bytes(bits), 0);
            packer.compress(numbers, &mut bodies[start..], bits);
        }
    } else {
        let start = bodies.len();
        let mut previous = before;
        for (at, posting) in postings.iter().enumerate() {
            if at > 0 || !opens_row {
                put(bodies, posting.section.wrapping_sub(previous));
            }
            put(bodies, posting.weight);
            previous = posting.section;
        }
        heads.push(LISTED);
        put(heads, last - origin);
        put(
            heads,
            u32::try_from(bodies.len() - start).unwrap_or(u32::MAX),
        );
    }
    let mut front = Cow::Borrowed(&block.front);
    if front.0.len() > FRONT_PAIRS {
        front.to_mut().shrink();
    }
    heads.push(u8::try_from(front.0.len()).unwrap_or(u8::MAX));
    let mut previous = (0, 0);
    for &(weight, length) in &front.0 {
        put(heads, weight - previous.0);
        put(heads, length - previous.1);
        previous = (weight, length);
    }
    last
}

const fn packed_bytes(bits: u8) -> usize {
    bits as usize * SUB_BLOCK / 8
}

/// What a query knows of a sub-block without decoding it.
#[derive(Debug, Clone, Copy)]
pub struct BlockHead {
    /// Last section id before the sub-block; `u32::MAX` stands for "none".
    before: u32,
    /// Last section id in it.
    pub last: u32,
    body: u32,
    front: u32,
    front_pairs: u8,
    postings: u8,
    form: u8,
    weight_bits: u8,
}

impl BlockHead {
    /// Smallest section id that the sub-block may hold.
    pub fn lowest(&self) -> u32 {
        self.before.wrapping_add(1)
    }

    /// Number of postings.
    pub fn len(&self) -> usize {
        usize::from(self.postings)
    }

    /// Never true; a sub-block holds at least one posting.
    pub fn is_empty(&self) -> bool {
        self.postings == 0
    }
}

/// Room for one decoded sub-block.
#[derive(Debug, Clone)]
pub struct BlockBuffer {
    /// Section ids; those from the length on are padding.
    pub sections: [u32; SUB_BLOCK],
    /// Weights, beside the ids.
    pub weights: [u32; SUB_BLOCK],
}

impl Default for BlockBuffer {
    fn default() -> Self {
        Self {
            sections: [0; SUB_BLOCK],
            weights: [0; SUB_BLOCK],
        }
    }
}

/// All rows of one term as queries read them: heads parsed, bodies still encoded.
#[derive(Debug, Clone, Default)]
pub struct TermPostings {
    /// From the open row; the number of postings once every row was pushed.
    pub document_frequency: u32,
    blocks: Vec<BlockHead>,
    fronts: Vec<(u32, u32)>,
    bodies: Vec<u8>,
}

impl TermPostings {
    /// Adds the next row, by rising section id.
    ///
    /// # Errors
    /// For bytes that break the layout, or a row that does not come after the one before. Section
    /// ids inside a packed body are not looked at; [`Row::decode`] checks them.
    pub fn push_row(&mut self, bytes: &[u8]) -> Result<(), PostingsError> {
        let mut rest = bytes;
        self.document_frequency = take(&mut rest)?;
        let count = take(&mut rest)? as usize;
        if count == 0 {
            return if rest.is_empty() {
                Ok(())
            } else {
                Err(PostingsError("has a tail"))
            };
        }
        if count > ROW_POSTINGS {
            return Err(PostingsError("holds too many sub-blocks"));
        }
        let first = take(&mut rest)?;
        if self.blocks.last().is_some_and(|block| first <= block.last) {
            return Err(PostingsError("overlaps the row before"));
        }
        let mut before = first.wrapping_sub(1);
        let body_error = PostingsError("is longer than a term may be");
        let start = self.blocks.len();
        let mut body = self.bodies.len();
        for at in 0..count {
            let origin = if at == 0 { first } else { before };
            let postings = take_byte(&mut rest)?;
            if usize::from(postings) >= SUB_BLOCK {
                return Err(PostingsError("has an oversized sub-block"));
            }
            let form = take_byte(&mut rest)?;
            let span = take(&mut rest)?;
            let last = origin
                .checked_add(span)
                .ok_or(PostingsError("exceeds the ids"))?;
            if span < u32::from(postings) + u32::from(at != 0) || last == u32::MAX {
                return Err(PostingsError("has more postings than ids"));
            }
            let (weight_bits, length) = match form {
                0..=32 => match take_byte(&mut rest)? {
                    bits @ 0..=32 => (bits, packed_bytes(form) + packed_bytes(bits)),
                    _ => return Err(PostingsError("has an unknown weight width")),
                },
                LISTED => (u8::from(at == 0) * OPENS_ROW, take(&mut rest)? as usize),
                _ => return Err(PostingsError("has an unknown form")),
            };
            let front = u32::try_from(self.fronts.len()).map_err(|_| body_error)?;
            let front_pairs = take_byte(&mut rest)?;
            if front_pairs == 0 {
                return Err(PostingsError("has no front"));
            }
            let mut pair = (0u32, 0u32);
            for _ in 0..front_pairs {
                pair.0 = pair
                    .0
                    .checked_add(take(&mut rest)?)
                    .ok_or(PostingsError("front"))?;
                pair.1 = pair
                    .1
                    .checked_add(take(&mut rest)?)
                    .ok_or(PostingsError("front"))?;
                self.fronts.push(pair);
            }
            self.blocks.push(BlockHead {
                before,
                last,
                body: u32::try_from(body).map_err(|_| body_error)?,
                front,
                front_pairs,
                postings: postings + 1,
                form,
                weight_bits,
            });
            body = body.checked_add(length).ok_or(body_error)?;
            before = last;
        }
        if body - self.bodies.len() != rest.len() {
            return Err(PostingsError("has another length than its heads say"));
        }
        self.bodies.extend_from_slice(rest);
        for at in start..self.blocks.len() {
            self.check_listed(at)?;
        }
        Ok(())
    }

    /// Walks a listed body: it holds as many numbers as its head says and no more.
    fn check_listed(&self, at: usize) -> Result<(), PostingsError> {
        let block = &self.blocks[at];
        if block.form != LISTED {
            return Ok(());
        }
        let mut rest = self.body(at);
        let numbers = 2 * block.len() - usize::from(block.weight_bits == OPENS_ROW);
        for _ in 0..numbers {
            take(&mut rest)?;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(PostingsError("has a tail in a sub-block"))
        }
    }

    /// Forgets all rows, and keeps the memory.
    fn clear(&mut self) {
        self.document_frequency = 0;
        self.blocks.clear();
        self.fronts.clear();
        self.bodies.clear();
    }

    /// The sub-blocks, by rising section id.
    pub fn blocks(&self) -> &[BlockHead] {
        &self.blocks
    }

    /// The front of a sub-block: pairs (weight, length).
    pub fn front(&self, block: &BlockHead) -> &[(u32, u32)] {
        let start = block.front as usize;
        self.fronts
            .get(start..start + usize::from(block.front_pairs))
            .unwrap_or_default()
    }

    /// About how much memory this takes.
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.blocks.capacity() * size_of::<BlockHead>()
            + self.fronts.capacity() * size_of::<(u32, u32)>()
            + self.bodies.capacity()
    }

    /// Gives back memory that was reserved for more rows.
    pub fn shrink(&mut self) {
        self.blocks.shrink_to_fit();
        self.fronts.shrink_to_fit();
        self.bodies.shrink_to_fit();
    }

    fn body(&self, at: usize) -> &[u8] {
        let start = self.blocks[at].body as usize;
        let end = self
            .blocks
            .get(at + 1)
            .map_or(self.bodies.len(), |next| next.body as usize);
        self.bodies.get(start..end).unwrap_or_default()
    }

    /// Decodes the section ids and weights of a sub-block; answers the number of postings.
    pub fn decode_block(&self, at: usize, buffer: &mut BlockBuffer) -> usize {
        let count = self.decode_sections(at, &mut buffer.sections);
        self.decode_weights(at, &mut buffer.weights);
        count
    }

    /// Decodes the section ids of a sub-block only; answers the number of postings.
    pub fn decode_sections(&self, at: usize, sections: &mut [u32; SUB_BLOCK]) -> usize {
        let block = &self.blocks[at];
        let body = self.body(at);
        if block.form == LISTED {
            let mut rest = body;
            let mut section = block.before;
            for (at, slot) in sections[..block.len()].iter_mut().enumerate() {
                let gap = if at == 0 && block.weight_bits == OPENS_ROW {
                    1
                } else {
                    take(&mut rest).unwrap_or(1)
                };
                let _ = take(&mut rest);
                section = section.wrapping_add(gap);
                *slot = section;
            }
        } else if let Some(gaps) = body.get(..packed_bytes(block.form)) {
            let packer = BitPacker4x::new();
            packer.decompress_strictly_sorted(Some(block.before), gaps, sections, block.form);
        }
        block.len()
    }

    /// Decodes the weights of a sub-block only.
    pub fn decode_weights(&self, at: usize, weights: &mut [u32; SUB_BLOCK]) {
        let block = &self.blocks[at];
        let body = self.body(at);
        if block.form == LISTED {
            let mut rest = body;
            for (at, slot) in weights[..block.len()].iter_mut().enumerate() {
                if at > 0 || block.weight_bits != OPENS_ROW {
                    let _ = take(&mut rest);
                }
                *slot = take(&mut rest).unwrap_or(1);
            }
        } else if let Some(packed) = body.get(packed_bytes(block.form)..)
            && packed.len() >= packed_bytes(block.weight_bits)
        {
            BitPacker4x::new().decompress(packed, weights, block.weight_bits);
            for weight in weights {
                *weight = weight.wrapping_add(1);
            }
        }
    }

    /// Decodes a sub-block and checks what [`TermPostings::push_row`] left unchecked.
    fn check_block(
        &self,
        at: usize,
        buffer: &mut BlockBuffer,
        visit: &mut VisitPosting<'_>,
    ) -> Result<(), PostingsError> {
        let head = &self.blocks[at];
        let count = self.decode_block(at, buffer);
        let front = self.front(head);
        if front
            .windows(2)
            .any(|pair| pair[0].0 >= pair[1].0 || pair[0].1 >= pair[1].1)
        {
            return Err(PostingsError("has a front that is none"));
        }
        let mut before = None;
        let heaviest = front.last().map_or(0, |pair| pair.0);
        for (&section, &weight) in buffer.sections.iter().zip(&buffer.weights).take(count) {
            let rises = before.is_none_or(|before| before < section);
            if !rises || section < head.lowest() || section > head.last {
                return Err(PostingsError("has ids out of order"));
            }
            if weight == 0 || weight > heaviest {
                return Err(PostingsError("has a weight beyond its front"));
            }
            before = Some(section);
            visit(at, Posting { section, weight }, front);
        }
        if before != Some(head.last) {
            return Err(PostingsError("ends at another id than its head says"));
        }
        Ok(())
    }
}

/// Appends a number as LEB128.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, PostingsError> {
    let (&byte, tail) = rest.split_first().ok_or(PostingsError("ends too early"))?;
    *rest = tail;
    Ok(byte)
}

/// Takes a LEB128 number off the front.
///
/// # Errors
/// When the bytes end too early or the number exceeds 32 bits.
pub(crate) fn take(rest: &mut &[u8]) -> Result<u32, PostingsError> {
    let mut number = 0u32;
    for shift in [0, 7, 14, 21, 28] {
        let byte = take_byte(rest)?;
        let part = u32::from(byte & 0x7f);
        if shift == 28 && part > 0xf {
            break;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(PostingsError("has an oversized number"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row_of(pairs: &[(u32, u32, u32)]) -> Row {
        let mut row = Row {
            document_frequency: 7,
            blocks: Vec::new(),
        };
        for &(section, weight, length) in pairs {
            row.push(Posting { section, weight }, length);
        }
        row
    }

    fn postings() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
        let gaps = prop_oneof![3 => 1u32..4, 2 => 1u32..400, 1 => 1u32..4_000_000];
        let weights = prop_oneof![6 => 1u32..6, 1 => 1u32..3000, 1 => Just(u32::MAX)];
        let one = (
            gaps,
            weights,
            prop_oneof![4 => 1u32..90, 1 => 0u32..u32::MAX],
        );
        (0u32..3, proptest::collection::vec(one, 0..600)).prop_map(|(start, steps)| {
            let mut section = start;
            steps
                .into_iter()
                .map(|(gap, weight, length)| {
                    let here = section;
                    section += gap;
                    (here, weight, length)
                })
                .collect()
        })
    }

    fn encoded(row: &Row) -> Vec<u8> {
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn a_row_reads_back_and_its_fronts_bound_every_posting(pairs in postings()) {
            let row = row_of(&pairs);
            let decoded = Row::decode(&encoded(&row)).unwrap();
            prop_assert_eq!(decoded.document_frequency, 7);
            let flat: Vec<Posting> =
                decoded.blocks.iter().flat_map(|block| block.postings.clone()).collect();
            let expected: Vec<Posting> = pairs
                .iter()
                .map(|&(section, weight, _)| Posting { section, weight })
                .collect();
            prop_assert_eq!(flat, expected);
            for (block, part) in decoded.blocks.iter().zip(pairs.chunks(SUB_BLOCK)) {
                prop_assert!(block.front.pairs().len() <= FRONT_PAIRS);
                for &(_, weight, length) in part {
                    prop_assert!(block.front.bounds(weight, length));
                }
            }
        }

        #[test]
        fn rows_pushed_in_turn_read_as_one_list(pairs in postings(), cut in 0usize..600) {
            let (left, right) = pairs.split_at(cut.min(pairs.len()));
            let mut term = TermPostings::default();
            term.push_row(&encoded(&row_of(left))).unwrap();
            term.push_row(&encoded(&row_of(right))).unwrap();
            let mut buffer = BlockBuffer::default();
            let mut read = Vec::new();
            for at in 0..term.blocks().len() {
                let count = term.decode_block(at, &mut buffer);
                for (section, weight) in buffer.sections.iter().zip(&buffer.weights).take(count) {
                    read.push((*section, *weight));
                }
                prop_assert_eq!(term.blocks()[at].last, buffer.sections[count - 1]);
                prop_assert!(term.blocks()[at].lowest() <= buffer.sections[0]);
            }
            let expected: Vec<(u32, u32)> =
                pairs.iter().map(|&(section, weight, _)| (section, weight)).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn removing_leaves_the_others(pairs in postings(), keep in any::<u64>()) {
            let mut row = row_of(&pairs);
            let gone = |at: usize| keep >> (at % 61) & 1 == 1;
            let removed: Vec<u32> = pairs
                .iter()
                .enumerate()
                .filter(|(at, _)| gone(*at))
                .map(|(_, pair)| pair.0)
                .collect();
            prop_assert_eq!(row.remove(&removed), removed.len());
            let decoded = Row::decode(&encoded(&row)).unwrap();
            let left: Vec<u32> = decoded
                .blocks
                .iter()
                .flat_map(|block| block.postings.iter().map(|posting| posting.section))
                .collect();
            let expected: Vec<u32> = pairs
                .iter()
                .enumerate()
                .filter(|(at, _)| !gone(*at))
                .map(|(_, pair)| pair.0)
                .collect();
            prop_assert_eq!(left, expected);
        }

        #[test]
        fn damaged_rows_are_errors_or_other_rows_and_never_a_panic(
            pairs in postings(),
            at in any::<prop::sample::Index>(),
            value in any::<u8>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = encoded(&row_of(&pairs));
            let place = at.index(bytes.len());
            bytes[place] = value;
            let _ = Row::decode(&bytes);
            let short = &bytes[..cut.index(bytes.len())];
            let _ = Row::decode(short);
            let mut term = TermPostings::default();
            if term.push_row(&bytes).is_ok() {
                let mut buffer = BlockBuffer::default();
                for at in 0..term.blocks().len() {
                    term.decode_block(at, &mut buffer);
                }
            }
        }

        #[test]
        fn any_bytes_decode_without_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let _ = Row::decode(&bytes);
        }
    }

    #[test]
    fn every_shorter_row_is_an_error() {
        let pairs: Vec<(u32, u32, u32)> = (0..300).map(|at| (at * 3, at % 5 + 1, 40)).collect();
        let bytes = encoded(&row_of(&pairs));
        for length in 0..bytes.len() {
            assert!(Row::decode(&bytes[..length]).is_err(), "length {length}");
        }
    }

    #[test]
    fn a_rare_term_takes_few_bytes() {
        assert_eq!(encoded(&row_of(&[(70_000, 2, 60)])).len(), 13);
    }
}
