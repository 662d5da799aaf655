//! From each schema to the next. One folder of `migrations/` holds all of one version: `up.rs`
//! with its own frozen definitions, `schema.toml` that says what the tables are, and a golden
//! database with its dump. A released folder never changes.
//!
//! A migration runs inside the write transaction of the operation that needs it, so a crash leaves
//! the old store. Durable tables are migrated row by row, derived ones are emptied and rebuilt.

use redb::WriteTransaction;

use super::error::StoreError;
use super::schema::SCHEMA_VERSION;

#[path = "../../migrations/0001_initial/up.rs"]
mod m0001_initial;

/// One step up: the schema it makes, and how.
type Step = (u32, fn(&WriteTransaction) -> Result<(), StoreError>);

/// All steps, oldest first. Step n turns schema n - 1 into schema n; the first makes the tables.
const STEPS: &[Step] = &[(1, m0001_initial::up)];

/// Makes the tables of a new store.
pub(crate) fn create_tables(txn: &WriteTransaction) -> Result<(), StoreError> {
    up(txn, 0)
}

/// Brings the tables from schema `from` to the present one. The schema row is the caller's.
pub(crate) fn up(txn: &WriteTransaction, from: u32) -> Result<(), StoreError> {
    for (version, step) in STEPS {
        if *version > from && *version <= SCHEMA_VERSION {
            step(txn)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_step_for_each_schema() {
        let versions: Vec<u32> = STEPS.iter().map(|(version, _)| *version).collect();
        assert_eq!(versions, (1..=SCHEMA_VERSION).collect::<Vec<_>>());
    }
}
