//! Tables `lengths` and `code_lengths`: length of each section in tokens, since schema 1.
//! Key: section id / 1024. Value: a block of `search::lengths`, sealed; no row where no section is.
//! Written by every write. Invariant: a section is indexed exactly if it has a length; the state
//! holds their number and sum.

use std::collections::BTreeMap;

use super::super::codec;
use super::super::error::StoreError;
use super::{BlockRows, IndexSet, ROW_VERSION};
use crate::search::lengths::{LENGTH_BLOCK, Lengths, decode_block, encode_block};

type Block = Box<[Option<u32>; LENGTH_BLOCK]>;

fn read(set: IndexSet, block: u32, value: &[u8]) -> Result<Block, StoreError> {
    let name = set.names()[2];
    let payload = codec::unseal(name, &block.to_be_bytes(), ROW_VERSION, value)?;
    decode_block(payload)
        .map_err(|error| StoreError::damaged(format!("row {block} of {name}: {error}")))
}

fn write(
    set: IndexSet,
    lengths: &mut BlockRows<'_>,
    block: u32,
    values: &[Option<u32>; LENGTH_BLOCK],
) -> Result<(), StoreError> {
    if values.iter().all(Option::is_none) {
        lengths.remove(block)?;
        return Ok(());
    }
    let mut payload = Vec::new();
    encode_block(values, &mut payload);
    let value = codec::seal(set.names()[2], &block.to_be_bytes(), ROW_VERSION, &payload);
    lengths.insert(block, value.as_slice())?;
    Ok(())
}

/// Sets lengths, or takes them away; answers the length of each section before, in the order of
/// `changes` by block and then as given.
pub(crate) fn change(
    set: IndexSet,
    lengths: &mut BlockRows<'_>,
    changes: impl IntoIterator<Item = (u32, Option<u32>)>,
) -> Result<Vec<(u32, Option<u32>)>, StoreError> {
    let mut blocks: BTreeMap<u32, Vec<(u32, Option<u32>)>> = BTreeMap::new();
    for (section, length) in changes {
        blocks
            .entry(section / LENGTH_BLOCK as u32)
            .or_default()
            .push((section, length));
    }
    let mut before = Vec::new();
    for (block, changes) in blocks {
        let mut values = match lengths.get(block)? {
            Some(value) => read(set, block, value.value())?,
            None => Box::new([None; LENGTH_BLOCK]),
        };
        for (section, length) in changes {
            let slot = &mut values[section as usize % LENGTH_BLOCK];
            before.push((section, *slot));
            *slot = length;
        }
        write(set, lengths, block, &values)?;
    }
    Ok(before)
}

/// Reads all lengths.
pub(crate) fn load(set: IndexSet, lengths: &BlockRows<'_>) -> Result<Lengths, StoreError> {
    let mut all = Lengths::default();
    for entry in lengths.range::<u32>(..)? {
        let (block, value) = entry?;
        let block = block.value();
        if block as usize > u32::MAX as usize / LENGTH_BLOCK {
            return Err(StoreError::damaged(format!(
                "row {block} of {}",
                set.names()[2]
            )));
        }
        all.set_block(block, &*read(set, block, value.value())?);
    }
    Ok(all)
}

/// Writes all lengths into an empty table.
pub(crate) fn store(
    set: IndexSet,
    lengths: &mut BlockRows<'_>,
    all: &Lengths,
) -> Result<(), StoreError> {
    for block in 0..all.id_end() / LENGTH_BLOCK {
        let start = block * LENGTH_BLOCK;
        let values: [Option<u32>; LENGTH_BLOCK] =
            std::array::from_fn(|at| u32::try_from(start + at).ok().and_then(|id| all.get(id)));
        write(set, lengths, block as u32, &values)?;
    }
    Ok(())
}
