//! Section lengths by section id, as scoring reads them: one array for all sections.
//!
//! Answers for the array and for the bytes of a block of [`LENGTH_BLOCK`] sections. Where blocks
//! are kept is the store's business. A section that is not indexed has no length; that is also how
//! postings of removed sections, which may linger in rows, are told from live ones.
//!
//! ```text
//! block := 8 x u8 bits, then for each run of 128 sections its numbers as BitPacker4x;
//!          a number is length + 1, or 0 where there is no section
//! ```

#![allow(
    clippy::cast_possible_truncation,
    reason = "section ids are u32 by construction, and numbers fit the bits they were measured for"
)]

use std::collections::BTreeMap;

use bitpacking::{BitPacker, BitPacker4x};

use super::postings::SUB_BLOCK;

/// Sections of one block.
pub const LENGTH_BLOCK: usize = 1024;
const RUNS: usize = LENGTH_BLOCK / SUB_BLOCK;
const LONG: u16 = u16::MAX;

/// Bytes that no encoder made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("block of lengths {0}")]
pub struct LengthsError(&'static str);

/// Encodes a block; `None` where there is no section.
pub fn encode_block(block: &[Option<u32>; LENGTH_BLOCK], out: &mut Vec<u8>) {
    let packer = BitPacker4x::new();
    let numbers: Vec<u32> = block
        .iter()
        .map(|length| length.map_or(0, |length| length.saturating_add(1)))
        .collect();
    let start = out.len();
    out.resize(start + RUNS, 0);
    for (at, run) in numbers.chunks(SUB_BLOCK).enumerate() {
        let bits = packer.num_bits(run);
        out[start + at] = bits;
        let body = out.len();
        out.resize(body + usize::from(bits) * SUB_BLOCK / 8, 0);
        packer.compress(run, &mut out[body..], bits);
    }
}

/// Decodes a block.
///
/// # Errors
/// For bytes of another length than their heads say.
pub fn decode_block(bytes: &[u8]) -> Result<Box<[Option<u32>; LENGTH_BLOCK]>, LengthsError> {
    let packer = BitPacker4x::new();
    let (bits, mut rest) = bytes
        .split_at_checked(RUNS)
        .ok_or(LengthsError("ends too early"))?;
    let mut block = Box::new([None; LENGTH_BLOCK]);
    let mut numbers = [0u32; SUB_BLOCK];
    for (&bits, run) in bits.iter().zip(block.chunks_mut(SUB_BLOCK)) {
        if bits > 32 {
            return Err(LengthsError("has an unknown width"));
        }
        let (body, tail) = rest
            .split_at_checked(usize::from(bits) * SUB_BLOCK / 8)
            .ok_or(LengthsError("ends too early"))?;
        packer.decompress(body, &mut numbers, bits);
        for (slot, &number) in run.iter_mut().zip(&numbers) {
            *slot = number.checked_sub(1);
        }
        rest = tail;
    }
    if rest.is_empty() {
        Ok(block)
    } else {
        Err(LengthsError("has a tail"))
    }
}

/// The lengths of all sections.
#[derive(Debug, Clone, Default)]
pub struct Lengths {
    /// Length + 1, 0 for no section, `LONG` for what stands in `long`. Whole blocks.
    codes: Vec<u16>,
    long: BTreeMap<u32, u32>,
}

impl Lengths {
    /// The length of a section, if it is indexed.
    pub fn get(&self, section: u32) -> Option<u32> {
        match self.codes.get(section as usize).copied().unwrap_or(0) {
            0 => None,
            LONG => self.long.get(&section).copied(),
            code => Some(u32::from(code) - 1),
        }
    }

    /// Sets or removes the length of a section.
    pub fn set(&mut self, section: u32, length: Option<u32>) {
        let at = section as usize;
        if at >= self.codes.len() {
            if length.is_none() {
                return;
            }
            self.codes.resize((at / LENGTH_BLOCK + 1) * LENGTH_BLOCK, 0);
        }
        if self.codes[at] == LONG {
            self.long.remove(&section);
        }
        self.codes[at] = match length {
            None => 0,
            Some(length) => match u16::try_from(length) {
                Ok(short) if short < LONG - 1 => short + 1,
                _ => {
                    self.long.insert(section, length);
                    LONG
                }
            },
        };
    }

    /// Takes in one decoded block.
    pub fn set_block(&mut self, block: u32, lengths: &[Option<u32>; LENGTH_BLOCK]) {
        let start = block as usize * LENGTH_BLOCK;
        if self.codes.len() < start + LENGTH_BLOCK {
            self.codes.resize(start + LENGTH_BLOCK, 0);
        }
        for (at, &length) in lengths.iter().enumerate() {
            match length {
                None => self.codes[start + at] = 0,
                Some(short @ 0..0xfffe) => self.codes[start + at] = short as u16 + 1,
                // The id fits: `block` counts blocks of ids below 2^32.
                Some(_) => self.set((start + at) as u32, length),
            }
        }
    }

    /// Ids from 0 to below this may have a length; a multiple of [`LENGTH_BLOCK`].
    pub fn id_end(&self) -> usize {
        self.codes.len()
    }

    /// For each id of a block: length + 1 (capped), 0 where there is no section.
    pub(crate) fn codes(&self, block: usize) -> &[u16; LENGTH_BLOCK] {
        const NONE: &[u16; LENGTH_BLOCK] = &[0; LENGTH_BLOCK];
        let start = block * LENGTH_BLOCK;
        self.codes
            .get(start..start + LENGTH_BLOCK)
            .and_then(|codes| codes.try_into().ok())
            .unwrap_or(NONE)
    }

    /// All sections with their lengths, by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.codes.len()).filter_map(|at| {
            let section = u32::try_from(at).ok()?;
            Some((section, self.get(section)?))
        })
    }

    /// About how much memory this takes.
    pub fn memory(&self) -> usize {
        self.codes.capacity() * size_of::<u16>() + self.long.len() * 32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn length() -> impl Strategy<Value = Option<u32>> {
        prop_oneof![
            Just(None),
            (0u32..300).prop_map(Some),
            (65_530u32..65_540).prop_map(Some),
            Just(Some(1 << 30)),
        ]
    }

    proptest! {
        #[test]
        fn a_block_reads_back(lengths in proptest::collection::vec(length(), LENGTH_BLOCK)) {
            let block: &[Option<u32>; LENGTH_BLOCK] = lengths.as_slice().try_into().unwrap();
            let mut bytes = Vec::new();
            encode_block(block, &mut bytes);
            prop_assert_eq!(&decode_block(&bytes).unwrap()[..], &lengths[..]);
            let mut all = Lengths::default();
            all.set_block(1, block);
            let mut one_by_one = Lengths::default();
            for (at, &length) in lengths.iter().enumerate() {
                prop_assert_eq!(all.get(1024 + at as u32), length);
                one_by_one.set(1024 + at as u32, Some(7));
                one_by_one.set(1024 + at as u32, length);
            }
            prop_assert!(all.iter().eq(one_by_one.iter()));
            prop_assert_eq!(all.get(3), None);
            for cut in 0..bytes.len() {
                prop_assert!(decode_block(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_decode_without_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let _ = decode_block(&bytes);
        }
    }
}
