//! Building an index whole: rows are written once, in the order of their keys, without delta rows.
//!
//! A section's terms are scattered over the whole vocabulary, so what costs is waiting for memory.
//! Hence one table of hashes, entries of one cache line that hold the term and its first postings
//! themselves, chunks from an arena for more, and look-ups of a section done side by side.
//! Memory: about 80 bytes a term, 2.5 bytes for each of at most 1024 pending postings of a term,
//! 1.5 bytes for each posting in closed rows: below 1 GiB for 75 million postings.

use xxhash_rust::xxh3::xxh3_64;

use super::super::batch::Batch;
use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::terms::{self, term_key};
use super::{IndexSet, fold, lengths, postings};
use crate::search::AnalyzedSection;
use crate::search::lengths::Lengths;
use crate::search::postings::{Posting, ROW_POSTINGS, Row, put, take};

/// Collects sections by rising id, then replaces an index.
#[derive(Debug, Default)]
pub struct BulkIndexer {
    table: Table,
    entries: Vec<Entry>,
    /// Length (LEB128) and bytes of each term.
    texts: Vec<u8>,
    chunks: Chunks,
    /// Closed rows: entry, last section, encoded row.
    rows: Vec<(u32, u32, Box<[u8]>)>,
    lengths: Lengths,
    sections: u64,
    total_length: u64,
    next_section: u64,
    /// Room that is used again: the hashes of a section's terms, and what its slots held.
    found: Vec<(u32, u64)>,
    pending: Vec<u8>,
    row: Row,
}

/// One term.
#[derive(Debug)]
#[repr(align(64))]
struct Entry {
    /// The term and, last, its length; of a long one the place in `texts`.
    text: [u8; INLINE_TEXT + 1],
    /// Number of chunks; none while the pending postings stand in `head`.
    chunks: u8,
    pending: u16,
    /// Bytes used of the last chunk, or of `head`.
    used: u16,
    frequency: u32,
    /// Section before the first pending posting, and the last section.
    base: u32,
    last: u32,
    /// Pending (gap, weight)* themselves, or the first and the last chunk.
    head: [u8; INLINE],
}

const INLINE_TEXT: usize = 17;
const INLINE: usize = 28;
const _: () = assert!(size_of::<Entry>() == 64);
/// In place of a length: the text is elsewhere.
const LONG_TEXT: u8 = u8::MAX;

impl Entry {
    /// The term.
    fn text<'a>(&'a self, texts: &'a [u8]) -> &'a [u8] {
        match self.text[INLINE_TEXT] {
            LONG_TEXT => {
                let [a, b, c, d, ..] = self.text;
                long_text(texts, u32::from_le_bytes([a, b, c, d]))
            }
            length => &self.text[..usize::from(length)],
        }
    }

    fn ends(&self) -> (u32, u32) {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
        (number(&self.head[..4]), number(&self.head[4..8]))
    }

    fn set_ends(&mut self, first: u32, last: u32) {
        self.head[..4].copy_from_slice(&first.to_le_bytes());
        self.head[4..8].copy_from_slice(&last.to_le_bytes());
    }

    fn append(&mut self, mut bytes: &[u8], chunks: &mut Chunks) {
        if self.chunks == 0 {
            let used = usize::from(self.used);
            if used + bytes.len() <= INLINE {
                self.head[used..used + bytes.len()].copy_from_slice(bytes);
                self.used += bytes.len() as u16;
                return;
            }
            let inline = self.head;
            let first = chunks.take(0);
            self.set_ends(first, first);
            self.chunks = 1;
            self.used = 0;
            self.append(&inline[..used], chunks);
        }
        while !bytes.is_empty() {
            let (first, mut last) = self.ends();
            let mut room = Chunks::size(self.chunks - 1) - Chunks::LINK - usize::from(self.used);
            if room == 0 {
                let next = chunks.take(self.chunks);
                chunks
                    .at(last, Chunks::LINK)
                    .copy_from_slice(&next.to_le_bytes());
                self.set_ends(first, next);
                self.chunks += 1;
                self.used = 0;
                last = next;
                room = Chunks::size(self.chunks - 1) - Chunks::LINK;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            let from = Chunks::LINK + usize::from(self.used);
            chunks.at(last, from + now.len())[from..].copy_from_slice(now);
            self.used += now.len() as u16;
            bytes = later;
        }
    }

    /// Moves the pending bytes out and gives the chunks back.
    fn drain(&mut self, chunks: &mut Chunks, out: &mut Vec<u8>) {
        out.clear();
        if self.chunks == 0 {
            out.extend_from_slice(&self.head[..usize::from(self.used)]);
        } else {
            let mut at = self.ends().0;
            for number in 0..self.chunks {
                let size = Chunks::size(number);
                let chunk = chunks.at(at, size);
                let (link, body) = chunk.split_at(Chunks::LINK);
                let last = number + 1 == self.chunks;
                let used = if last {
                    usize::from(self.used)
                } else {
                    body.len()
                };
                out.extend_from_slice(&body[..used]);
                let next = link.try_into().map_or(0, u32::from_le_bytes);
                chunks.give(at, number);
                at = next;
            }
        }
        self.chunks = 0;
        self.used = 0;
        self.pending = 0;
        self.base = self.last;
    }
}

/// An arena of chunks that begin with the address of the next one. Addresses count units of 8
/// bytes. The n-th chunk of a list is twice as large as the one before, up to 512 bytes.
#[derive(Debug, Default)]
struct Chunks {
    segments: Vec<Box<[u8]>>,
    /// Bytes used of the last segment.
    used: usize,
    /// Chunks to use again, by size.
    free: [Vec<u32>; 6],
}

impl Chunks {
    const LINK: usize = 4;
    const UNIT: usize = 8;
    const SEGMENT: usize = 1 << 20;

    fn class(number: u8) -> usize {
        usize::from(number.min(5))
    }

    fn size(number: u8) -> usize {
        16 << Self::class(number)
    }

    fn take(&mut self, number: u8) -> u32 {
        if let Some(address) = self.free[Self::class(number)].pop() {
            return address;
        }
        let size = Self::size(number);
        if self.segments.is_empty() || self.used + size > Self::SEGMENT {
            self.segments
                .push(vec![0; Self::SEGMENT].into_boxed_slice());
            self.used = 0;
        }
        let start = (self.segments.len() - 1) * Self::SEGMENT + self.used;
        self.used += size;
        // 32 GiB of chunks would not fit; the dictionary limit is met long before.
        (start / Self::UNIT) as u32
    }

    fn give(&mut self, address: u32, number: u8) {
        self.free[Self::class(number)].push(address);
    }

    /// The first bytes of a chunk.
    fn at(&mut self, address: u32, length: usize) -> &mut [u8] {
        let start = address as usize * Self::UNIT;
        let offset = start % Self::SEGMENT;
        &mut self.segments[start / Self::SEGMENT][offset..offset + length]
    }
}

/// Open addressing from the hash of a term to its entry. A slot holds the hash in its high half
/// and entry + 1 in its low half.
#[derive(Debug)]
struct Table {
    slots: Vec<u64>,
    used: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            slots: vec![0; 1 << 12],
            used: 0,
        }
    }
}

impl Table {
    fn place(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn reserve(&mut self, more: usize) {
        while (self.used + more) * 5 > self.slots.len() * 3 {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![0; old.len() * 2];
            for slot in old.into_iter().filter(|&slot| slot != 0) {
                let mut place = self.place((slot >> 32) as u32);
                while self.slots[place] != 0 {
                    place = (place + 1) & (self.slots.len() - 1);
                }
                self.slots[place] = slot;
            }
        }
    }
}

/// The term whose length and bytes begin at `start`.
fn long_text(texts: &[u8], start: u32) -> &[u8] {
    let mut rest = texts.get(start as usize..).unwrap_or_default();
    let length = take(&mut rest).unwrap_or(0) as usize;
    rest.get(..length).unwrap_or_default()
}

fn too_large() -> StoreError {
    StoreError::TooLarge {
        what: "the dictionary",
        limit: 1 << 32,
    }
}

impl BulkIndexer {
    /// An indexer that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a section. Ids must rise.
    ///
    /// # Errors
    /// `Misuse` for an id that does not rise, `TooLarge` beyond 4 GiB of terms.
    pub fn push(&mut self, section: u32, analyzed: &AnalyzedSection) -> Result<(), StoreError> {
        if u64::from(section) < self.next_section || section == u32::MAX {
            let what = format!("section id {section} does not rise");
            return Err(StoreError::Misuse { what });
        }
        self.next_section = u64::from(section) + 1;
        self.sections += 1;
        self.total_length += u64::from(analyzed.length);
        self.lengths.set(section, Some(analyzed.length));
        self.table.reserve(analyzed.terms.len());
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        // Short loops, so that the processor waits for many slots and entries at once.
        for (term, _) in &analyzed.terms {
            found.push((xxh3_64(&term_key(term.as_bytes())) as u32, 0));
        }
        for (hash, slot) in &mut found {
            *slot = self.table.slots[self.table.place(*hash)];
        }
        let entries = found.iter().filter_map(|(_, slot)| {
            let entry = (*slot as u32).checked_sub(1)?;
            self.entries.get(entry as usize)
        });
        std::hint::black_box(entries.fold(0, |sum: u32, entry| sum.wrapping_add(entry.last)));
        for ((term, weight), &(hash, slot)) in analyzed.terms.iter().zip(&found) {
            if *weight > 0 {
                let entry = self.entry(&term_key(term.as_bytes()), hash, slot)?;
                self.push_posting(entry, section, *weight)?;
            }
        }
        self.found = found;
        Ok(())
    }

    /// The entry of a term; `slot` is what its first slot held a moment ago.
    fn entry(&mut self, term: &[u8], hash: u32, slot: u64) -> Result<usize, StoreError> {
        let mut place = self.table.place(hash);
        let mut slot = if slot == 0 {
            self.table.slots[place]
        } else {
            slot
        };
        while slot != 0 {
            if (slot >> 32) as u32 == hash {
                let entry = (slot as u32 - 1) as usize;
                if self.entries[entry].text(&self.texts) == term {
                    return Ok(entry);
                }
            }
            place = (place + 1) & (self.table.slots.len() - 1);
            slot = self.table.slots[place];
        }
        let entry = self.entries.len();
        let number = u32::try_from(entry + 1).map_err(|_| too_large())?;
        self.table.slots[place] = (u64::from(hash) << 32) | u64::from(number);
        self.table.used += 1;
        let mut text = [0; INLINE_TEXT + 1];
        if term.len() <= INLINE_TEXT {
            text[..term.len()].copy_from_slice(term);
            text[INLINE_TEXT] = term.len() as u8;
        } else {
            let place = u32::try_from(self.texts.len()).map_err(|_| too_large())?;
            put(&mut self.texts, term.len() as u32);
            self.texts.extend_from_slice(term);
            text[..4].copy_from_slice(&place.to_le_bytes());
            text[INLINE_TEXT] = LONG_TEXT;
        }
        self.entries.push(Entry {
            text,
            chunks: 0,
            pending: 0,
            used: 0,
            frequency: 0,
            base: u32::MAX,
            last: u32::MAX,
            head: [0; INLINE],
        });
        Ok(entry)
    }

    fn push_posting(&mut self, at: usize, section: u32, weight: u32) -> Result<(), StoreError> {
        let entry = &mut self.entries[at];
        if entry.frequency > 0 && entry.last == section {
            // A term named twice counts once, as in `apply`.
            return Ok(());
        }
        self.pending.clear();
        put(&mut self.pending, section.wrapping_sub(entry.last));
        put(&mut self.pending, weight);
        entry.append(&self.pending, &mut self.chunks);
        entry.last = section;
        entry.pending += 1;
        entry.frequency += 1;
        if usize::from(entry.pending) == ROW_POSTINGS {
            let room = &mut self.pending;
            pending_row(entry, &mut self.chunks, room, &self.lengths, &mut self.row)?;
            self.row.document_frequency = 0;
            let mut bytes = Vec::new();
            self.row.encode(&mut bytes);
            self.rows
                .push((at as u32, section, bytes.into_boxed_slice()));
        }
        Ok(())
    }

    /// Number of sections so far.
    pub fn len(&self) -> u64 {
        self.sections
    }

    /// Whether there is no section yet.
    pub fn is_empty(&self) -> bool {
        self.sections == 0
    }

    /// Puts what was collected in the place of the index.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish(mut self, batch: &mut Batch, set: IndexSet) -> Result<(), StoreError> {
        batch.touch_index();
        let view: &View = batch;
        guard(|| {
            self.table = Table::default();
            let mut state = fold::reset(view, set)?;
            state.sections = self.sections;
            state.total_length = self.total_length;
            state.next_section = state.next_section.max(self.next_section);
            lengths::store(set, &mut view.rows_mut(set.lengths())?, &self.lengths)?;
            let ids = self.write_closed(view, set)?;
            state.next_term = ids.len() as u64;
            self.write_terms(view, set, &ids)?;
            state.write(set, &mut view.rows_mut(set.delta())?)
        })
    }

    /// Writes the closed rows; answers the entries that have some, whose places are the term ids.
    fn write_closed(&mut self, view: &View, set: IndexSet) -> Result<Vec<u32>, StoreError> {
        let mut closed = std::mem::take(&mut self.rows);
        closed.sort_unstable_by_key(|&(entry, last, _)| (entry, last));
        let mut rows = view.rows_mut(set.postings())?;
        let mut ids: Vec<u32> = Vec::new();
        for (entry, last, bytes) in closed {
            if ids.last() != Some(&entry) {
                ids.push(entry);
            }
            let id = (ids.len() - 1) as u32;
            postings::put(set, &mut rows, postings::key(id, last), &bytes)?;
        }
        Ok(ids)
    }

    fn write_terms(&mut self, view: &View, set: IndexSet, ids: &[u32]) -> Result<(), StoreError> {
        let mut order: Vec<u32> = (0u32..).take(self.entries.len()).collect();
        let (entries, texts) = (&self.entries, &self.texts);
        order.sort_unstable_by_key(|&at| entries[at as usize].text(texts));
        let mut rows = view.rows_mut(set.terms())?;
        let mut term = Vec::new();
        for at in order {
            let entry = &mut self.entries[at as usize];
            term.clear();
            term.extend_from_slice(entry.text(&self.texts));
            let room = &mut self.pending;
            pending_row(entry, &mut self.chunks, room, &self.lengths, &mut self.row)?;
            self.row.document_frequency = entry.frequency;
            let id = ids.binary_search(&at).ok().map(|id| id as u32);
            terms::write(set, &mut rows, &term, id, &self.row)?;
        }
        Ok(())
    }
}

/// Moves the pending postings of an entry into a row, in place of what that held.
fn pending_row(
    entry: &mut Entry,
    chunks: &mut Chunks,
    room: &mut Vec<u8>,
    lengths: &Lengths,
    row: &mut Row,
) -> Result<(), StoreError> {
    let lost = |_| StoreError::damaged("postings that were just collected");
    let (count, mut section) = (entry.pending, entry.base);
    entry.drain(chunks, room);
    let mut rest = room.as_slice();
    row.clear();
    for _ in 0..count {
        section = section.wrapping_add(take(&mut rest).map_err(lost)?);
        let weight = take(&mut rest).map_err(lost)?;
        let length = lengths.get(section).unwrap_or(0);
        row.push(Posting { section, weight }, length);
    }
    Ok(())
}
