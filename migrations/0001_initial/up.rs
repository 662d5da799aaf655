//! Schema 1: the first. Makes the tables; there is nothing to migrate from.
//! Frozen: nothing here may follow later changes of `store`.

use redb::{TableDefinition, WriteTransaction};

use super::StoreError;

/// Tables from bytes to bytes whose rows are sealed by the codec. The posting tables of the index
/// are made when they are first written.
const TABLES: [&str; 13] = [
    "meta",
    "blobs",
    "sources",
    "source_events",
    "pages",
    "revisions",
    "intents",
    "stamps",
    "skipped",
    "citations",
    "links",
    "titles",
    "sections",
];

/// Makes the tables, empty.
pub(super) fn up(txn: &WriteTransaction) -> Result<(), StoreError> {
    for name in TABLES {
        txn.open_table(TableDefinition::<&[u8], &[u8]>::new(name))?;
    }
    Ok(())
}
