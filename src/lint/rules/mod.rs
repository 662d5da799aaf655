//! One file for each code, named as the code. The order of the report and of the documents is
//! `registry`'s.

pub(crate) mod broken_page_link;
pub(crate) mod duplicate_title;
pub(crate) mod index_incompatible;
pub(crate) mod index_malformed;
pub(crate) mod index_missing;
pub(crate) mod index_stale;
pub(crate) mod invalid_utf8;
pub(crate) mod link_escapes_pages;
pub(crate) mod orphan_page;
pub(crate) mod page_invalid_markdown;
pub(crate) mod page_invalid_path;
pub(crate) mod page_missing_source;
pub(crate) mod required_directory_missing;
pub(crate) mod required_path_not_directory;
pub(crate) mod root_missing;
pub(crate) mod root_not_directory;
pub(crate) mod schema_missing;
pub(crate) mod source_content_missing;
pub(crate) mod source_content_not_file;
pub(crate) mod source_hash_mismatch;
pub(crate) mod source_invalid_id;
pub(crate) mod source_metadata_byte_count_mismatch;
pub(crate) mod source_metadata_id_mismatch;
pub(crate) mod source_metadata_invalid;
pub(crate) mod source_metadata_malformed;
pub(crate) mod source_metadata_missing;
pub(crate) mod source_metadata_not_file;
pub(crate) mod source_metadata_unknown_key;
pub(crate) mod temp_file_abandoned;
pub(crate) mod unsafe_symlink;
